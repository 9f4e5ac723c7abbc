"""The watch over all tests sees what it should."""

from __future__ import annotations

import pickle
import socket
from fractions import Fraction

import pytest

from watch import SOURCE, Forbidden


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
