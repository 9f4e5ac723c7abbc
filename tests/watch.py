"""What no test may do: unpickle inside the package, reach beyond this machine, open files it has no business with.

An audit hook that cannot be taken off. Processes that tests start have it too: `tests/hooks/sitecustomize.py`.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HOOKS = ROOT / "tests" / "hooks"
SOURCE = str(ROOT / "src" / "classic")
_RAY = ("cluster.py", "on_ray.py", "bulk.py", "lost_node.py")  # Ray carries its own objects about, on loopback
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _real(paths: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(os.path.realpath(path) + os.sep for path in paths if path)


# Where the package may write: stores and work folders of tests are all made under the system's temporary folder.
WORK = _real((tempfile.gettempdir(), "/dev/shm"))
# The paper's data, and what lies beside it: some of it in its original formats.
_DATA = (str(Path(os.environ["CLASSIC_DATA"]).resolve().parent),) if os.environ.get("CLASSIC_DATA") else ()
# Where it may read besides: itself, the tests' data, what is installed, and what the system tells about itself.
READ = (
    *WORK,
    *_real((str(ROOT), SOURCE, sys.prefix, sys.base_prefix, *_DATA, *sys.path)),
    # No user's files: what the system is made of, and its fonts, types and time zones.
    *("/proc/", "/sys/", "/usr/", "/lib/", "/lib64/", "/opt/", "/etc/", "/var/cache/", "/var/lib/"),
)
DEVICES = ("/dev/null", "/dev/urandom", "/dev/full", "/dev/tty")

# Events that change folders: where their arguments have a path, and the descriptor of the folder it is relative to.
_CHANGES = {
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, 2),),
    "os.chmod": ((0, 2),),
}


class Forbidden(BaseException):
    """Not an Exception: nobody shall catch it by accident."""


_installed = False


def install() -> None:
    """From now on, in this process and in every one it starts. Once is enough: a hook cannot be taken off."""
    global _installed  # noqa: PLW0603
    if _installed:
        return
    _installed = True
    for variable in ("MPLCONFIGDIR", "XDG_CACHE_HOME"):  # matplotlib's list of fonts, say: into a work folder, too
        os.environ.setdefault(variable, str(Path(tempfile.gettempdir()) / "classic-tests-cache"))
    sys.addaudithook(_look)
    given = os.environ.get("PYTHONPATH", "")
    if str(HOOKS) not in given.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HOOKS), given)))


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        _look_at_file(*arguments)
    elif event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        # A datagram socket sends nothing when it is connected: it is how Ray finds the name of its own interface.
        silent = event == "socket.connect" and arguments[0].type & socket.SOCK_DGRAM == socket.SOCK_DGRAM
        if isinstance(address, tuple) and not silent and not _local(str(address[0])):
            raise Forbidden(f"{event} to {address[0]}")
    elif event == "socket.getaddrinfo" and arguments[0] and not _local(str(arguments[0])):
        raise Forbidden(f"the name {arguments[0]} is looked up")
    elif event == "pickle.find_class" and _ours(sys._getframe()):
        raise Forbidden(f"{arguments[0]}.{arguments[1]} is unpickled by the package")
    for place, folder in _CHANGES.get(event, ()):
        _look_at_change(event, arguments[place], arguments[folder] if folder < len(arguments) else -1)


def _look_at_file(path: Any, mode: str | None, flags: int | None) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return  # a descriptor: it was opened before
    writes = bool((flags or 0) & _WRITES) or any(letter in (mode or "") for letter in "wax+")
    real = os.path.realpath(os.fsdecode(path))  # links are followed: it matters where one ends
    if (_may_change(real) if writes else real.startswith(READ)) or real in DEVICES:
        return
    if real + os.sep in READ and not writes:  # a folder is opened to be synced or listed
        return
    if f"{os.sep}__pycache__{os.sep}" in real and real.startswith(READ):
        return  # written by the import of what is installed
    if _ours(sys._getframe()):
        raise Forbidden(f"{real} is opened {'to be written' if writes else 'to be read'} by the package")


def _may_change(real: str) -> bool:
    """Whether a path lies in a work folder; the package itself is none, even where it was cloned into one."""
    return real.startswith(WORK) and not real.startswith(SOURCE + os.sep)


def _look_at_change(event: str, path: Any, folder: Any) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    name = Path(os.fsdecode(path))
    if isinstance(folder, int) and folder >= 0:
        name = Path(f"/proc/self/fd/{folder}").readlink() / name
    real = str(name.absolute().parent.resolve() / name.name)  # not what a link leads to: it is changed itself
    inside = _may_change(real) or (f"{os.sep}__pycache__" in real and real.startswith(READ))
    made = event == "os.mkdir" and Path(real).is_dir()  # asked for, and there already
    if not inside and not made and _ours(sys._getframe()):
        raise Forbidden(f"{real} is changed by the package")


def _local(host: str) -> bool:
    host = host.removeprefix("b'").removesuffix("'")
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _ours(frame: FrameType | None) -> bool:
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(SOURCE):
            return not name.endswith(_RAY)
        frame = frame.f_back
    return False
