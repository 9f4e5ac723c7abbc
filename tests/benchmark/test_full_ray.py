"""R2: Ray's memory for objects is full, and so is the disk it would write them to."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest
from test_runs import data, spec

from classic.benchmark.runs.spec import Spec

__all__ = ["data", "spec"]  # fixtures

LARGE = """
import json, sys, time
from pathlib import Path
from classic.benchmark.runs.engines.on_ray import OnRay
from classic.benchmark.runs.runner import carry_out, plan
from classic.benchmark.runs.spec import Spec
from classic.errors import ClassicError
from classic.prediction.bulk import ray_engine
from classic.types import Example
text = "canary" * 20_000_000
folder = Path(sys.argv[1])
wanted = plan([Spec(**json.loads(sys.argv[2]))], folder / "r", folder / "w", 1)
Spec.tasks = lambda self: [text]
for work in (
    lambda: ray_engine(lambda: None, None, 8, 1)([[Example(text, "lens", None)]]),
    lambda: carry_out(wanted, OnRay(), folder / "r", lambda event: None),
):
    began = time.monotonic()
    try:
        list(work())
    except ClassicError as error:
        print(json.dumps([type(error).__name__, str(error), time.monotonic() - began]))
"""


def test_a_full_disk_under_ray_is_told_in_one_sentence_and_no_text_stays(spec: Spec, tmp_path: Path) -> None:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs Ray: pip install 'classic-asc[bench]'")
    with tempfile.TemporaryDirectory(prefix="r") as folder:  # the name of a socket must be short
        full = {"RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES": str(80 * 2**20), "RAY_local_fs_capacity_threshold": "1e-9"}
        done = subprocess.run(
            [sys.executable, "-c", LARGE, str(tmp_path), json.dumps(asdict(spec))],
            env=os.environ | full | {"RAY_TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told = [json.loads(line) for line in done.stdout.splitlines()]
        assert [name for name, _, _ in told] == ["DiskError", "DiskError"]
        assert all("no room left" in text and "RAY_TMPDIR" in text and seconds < 60 for _, text, seconds in told), told
        files = [file for file in Path(folder).rglob("*") if file.is_file()]
        assert files and not [file for file in files if b"canarycanary" in file.read_bytes()]
