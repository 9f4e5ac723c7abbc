"""What no test may do: unpickle inside the package, or reach beyond this machine. An audit hook that cannot be taken off."""

from __future__ import annotations

import ipaddress
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = str(Path(__file__).resolve().parents[1] / "src" / "classic")
_RAY = ("cluster.py", "on_ray.py", "bulk.py", "lost_node.py")  # Ray carries its own objects about, on loopback


class Forbidden(BaseException):
    """Not an Exception: nobody shall catch it by accident."""


def install() -> None:
    """From now on, in this process."""
    sys.addaudithook(_look)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        # A datagram socket sends nothing when it is connected: it is how Ray finds the name of its own interface.
        silent = event == "socket.connect" and arguments[0].type & socket.SOCK_DGRAM == socket.SOCK_DGRAM
        if isinstance(address, tuple) and not silent and not _local(str(address[0])):
            raise Forbidden(f"{event} to {address[0]}")
    elif event == "socket.getaddrinfo" and arguments[0] and not _local(str(arguments[0])):
        raise Forbidden(f"the name {arguments[0]} is looked up")
    elif event == "pickle.find_class" and _ours(sys._getframe()):
        raise Forbidden(f"{arguments[0]}.{arguments[1]} is unpickled by the package")


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
