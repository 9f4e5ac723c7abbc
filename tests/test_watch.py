"""The watch over all tests sees what it should, in this process and in those it starts."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from watch import HOOKS, ROOT, SOURCE, Forbidden


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("8.8.8.8", 53)])
def test_nothing_reaches_beyond_this_machine(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream, pytest.raises(Forbidden):
        stream.connect(address)


def test_no_name_is_looked_up() -> None:
    with pytest.raises(Forbidden):
        socket.getaddrinfo("example.invalid", 80)
    assert socket.getaddrinfo("127.0.0.1", 80)


def test_the_package_unpickles_nothing() -> None:
    data = pickle.dumps(Fraction(1, 3))
    assert pickle.loads(data) == Fraction(1, 3)  # a test may, the package may not
    code = compile("import pickle; pickle.loads(data)", f"{SOURCE}/somewhere.py", "exec")
    with pytest.raises(Forbidden, match="unpickled"):
        exec(code, {"data": data})


def by_the_package(line: str, **names: Any) -> None:
    """Runs a line as if it stood in the package."""
    exec(compile(f"import os; {line}", f"{SOURCE}/somewhere.py", "exec"), names)


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path in the home of whoever runs the tests. Nothing is there, and nothing must be made."""
    return Path.home() / ".classic-watch-test"


@pytest.mark.parametrize(
    "line",
    [
        "open(path)",
        "open(path, 'w')",
        "os.open(path, os.O_RDONLY)",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "os.mkdir(path)",
        "os.remove(path)",
        "os.symlink('/', path)",
        "os.rename(inside, path)",
        "os.link(inside, path)",
    ],
)
def test_the_package_opens_nothing_outside_stores_and_work_folders(line: str, outside: Path, tmp_path: Path) -> None:
    inside = tmp_path / "file"
    inside.write_text("x")
    with pytest.raises(Forbidden, match="classic-watch-test"):
        by_the_package(line, path=str(outside), inside=str(inside))
    assert not outside.exists() and not outside.is_symlink() and inside.exists()


def test_a_link_out_of_a_work_folder_is_followed(outside: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(outside)
    with pytest.raises(Forbidden, match="classic-watch-test"):
        by_the_package("open(path)", path=str(tmp_path / "link"))


def test_the_package_writes_nothing_into_its_own_folder() -> None:
    with pytest.raises(Forbidden, match="to be written"):
        by_the_package("open(path, 'a')", path=f"{SOURCE}/somewhere.py")
    assert not Path(f"{SOURCE}/somewhere.py").exists()
    by_the_package("open(path).close()", path=str(ROOT / "pyproject.toml"))


def test_what_is_inside_is_let_through(tmp_path: Path) -> None:
    line = "os.mkdir(path); open(path + '/a', 'w').close(); os.rename(path + '/a', path + '/b'); os.remove(path + '/b')"
    by_the_package(line, path=str(tmp_path / "store"))
    assert (tmp_path / "store").is_dir()


@pytest.mark.parametrize(
    "line",
    ["open(path)", "__import__('socket').create_connection(('192.0.2.1', 9))"],
)
def test_processes_of_tests_are_watched_too(line: str, outside: Path) -> None:
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(HOOKS)
    code = f"exec(compile({line!r}, {SOURCE + '/somewhere.py'!r}, 'exec'), {{'path': {str(outside)!r}}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Forbidden" in done.stderr
