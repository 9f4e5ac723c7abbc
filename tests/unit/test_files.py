"""Writing files whole."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from classic.files import json_bytes, sha256, write_bytes, write_json


def test_write_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    write_bytes(target, b"old and long")
    write_bytes(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    write_json(target, {"version": 1})
    before = target.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(target, {"version": float("nan")})
    with pytest.raises(TypeError):
        write_bytes(target, "text")
    assert target.read_bytes() == before


def test_leftovers_of_a_killed_write_do_no_harm(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    (tmp_path / ".a.bin.tmp").write_bytes(b"half of something very long")
    write_bytes(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_equal_values_are_equal_bytes() -> None:
    assert json_bytes({"b": 1, "a": [0.1, "é"]}) == json_bytes({"a": [0.1, "é"], "b": 1})
    assert json.loads(json_bytes({"a": 0.1 + 0.2})) == {"a": 0.1 + 0.2}
    assert "é".encode() in json_bytes("é")


def test_sha256(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"x" * 100_000)
    assert sha256(target) == hashlib.sha256(b"x" * 100_000).hexdigest()
