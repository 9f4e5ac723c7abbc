"""What a run was run with: versions, threads, machine type, peak memory. Nothing that names a person or a host."""

from __future__ import annotations

import platform
import resource
import sys
from importlib.metadata import version
from typing import Any

from classic._version import __version__


def surroundings() -> dict[str, Any]:
    """Everything besides configuration, seed and data that can change a bit of the result."""
    import torch

    return {
        "classic": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "tokenizers": version("tokenizers"),
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
    }


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
