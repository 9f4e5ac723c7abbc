"""Python imports this at the start of every process that a test starts: the watch is set there too."""

import importlib.util
import sys
from pathlib import Path

# By its path: no other part of the tests shall become importable in the process that is watched.
_spec = importlib.util.spec_from_file_location("watch", Path(__file__).resolve().parents[1] / "watch.py")
assert _spec is not None and _spec.loader is not None
_watch = importlib.util.module_from_spec(_spec)
# A worker of pytest-xdist is such a process, too. Its tests must meet this watch, not a second one beside it.
sys.modules["watch"] = _watch
_spec.loader.exec_module(_watch)
_watch.install()
