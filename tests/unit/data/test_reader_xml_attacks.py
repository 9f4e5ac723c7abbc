"""Hostile XML is refused at once, without opening anything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from classic.data import read_examples
from classic.errors import DataError

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BODY = "<sentences><sentence><text>%s</text></sentence></sentences>"

ATTACKS = {
    "billion laughs": f'<!DOCTYPE s [<!ENTITY l0 "lol">{LAUGHS}]>' + BODY % "&l9;",
    "quadratic": f'<!DOCTYPE s [<!ENTITY a "{"a" * 50_000}">]>' + BODY % ("&a;" * 50_000),
    "external entity": '<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + BODY % "&x;",
    "external http": '<!DOCTYPE s [<!ENTITY x SYSTEM "http://127.0.0.1:9/">]>' + BODY % "&x;",
    "parameter entity": '<!DOCTYPE s [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]>' + BODY % "",
    "external dtd": '<!DOCTYPE s SYSTEM "file:///etc/passwd">' + BODY % "",
    "public dtd": '<!DOCTYPE s PUBLIC "-//a//b" "http://127.0.0.1:9/a.dtd">' + BODY % "",
    "undeclared entity": BODY % "&lid;",
    "lower case doctype": "<!doctype s>" + BODY % "",
    "depth": "<sentences>" + "<a>" * 300_000,
    "giant attribute": f'<sentences a="{"x" * 1_000_000}"',
    "many attributes": "<sentences " + " ".join(f'a{n}="1"' for n in range(20_000)),
    "odd encoding": '<?xml version="1.0" encoding="UTF-7"?>+ADw-sentences+AD4-',
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "attack.xml"
    file.write_text(ATTACKS[name])
    opened: list[str] = []
    watching = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and (event.startswith("socket.") or (event == "open" and str(arguments[0]) != str(file))):
            opened.append(f"{event} {arguments[0]}")

    sys.addaudithook(hook)
    with pytest.raises(DataError) as caught:
        read_examples(file)
    watching = False
    assert opened == []
    assert caught.value.line == 1
    if "DOCTYPE" in ATTACKS[name]:
        assert "DOCTYPE" in str(caught.value)


def test_utf_16_cannot_hide_a_doctype(tmp_path: Path) -> None:
    file = tmp_path / "attack.xml"
    file.write_bytes(ATTACKS["external entity"].encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        read_examples(file)


def test_size_cap(tmp_path: Path) -> None:
    file = tmp_path / "attack.xml"
    file.write_text("<sentences>" + " " * (17 << 20))
    with pytest.raises(DataError, match="larger than 16 MiB"):
        read_examples(file)


def test_xinclude_is_inert(tmp_path: Path) -> None:
    file = tmp_path / "data.xml"
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>'
    file.write_text(BODY % include)
    assert read_examples(file) == []
