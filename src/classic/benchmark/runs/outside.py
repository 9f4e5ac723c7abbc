"""Methods from a user's own file: ``my_method.py:MyMethod`` joins the table without touching the package.

Only what a person names on the command line is ever loaded; a store that was taught with such a method names a method
nobody knows until its file is loaded by hand, so opening somebody's store runs nobody's code.
"""

from __future__ import annotations

import importlib.util
import sys
import typing
from collections.abc import Iterable
from pathlib import Path

from classic.errors import InputError


def split(text: str) -> tuple[str, str | None]:
    """A system's name and the file its method is in, if it names one.

    ``folder/my_method.py:MyMethod@bert_adapter/dil`` is the system ``mymethod@bert_adapter/dil``.
    """
    if ".py:" not in text:
        return text, None
    source, at, rest = text.rpartition("@")
    if not at:
        raise InputError(
            f"{text!r} names no backbone", fix="write FILE.py:CLASS@BACKBONE, e.g. my.py:Mine@bert_adapter"
        )
    path, _, name = source.rpartition(":")
    return f"{name.lower()}@{rest}", f"{path}:{name}"


def load(sources: Iterable[str | None]) -> None:
    """Makes the methods of the given files known by the names of their classes."""
    from classic.methods.base import Method
    from classic.systems.system import METHODS, Part

    for source in sources:
        if source is None:
            continue
        path, _, name = source.rpartition(":")
        file = Path(path).expanduser()
        if not file.is_file():
            raise InputError(f"there is no file {path!r}", fix="give the path of the file your method is in")
        module_name = f"classic_outside_{file.stem}"
        spec = importlib.util.spec_from_file_location(module_name, file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        found = vars(module).get(name)
        if not isinstance(found, type) or not issubclass(found, Method):
            raise InputError(f"{path!r} has no method {name!r}", fix="name a class that derives from classic's Method")
        known = METHODS.get(name.lower())
        if known is not None and known.build.__module__ != module_name:
            raise InputError(f"there is a method {name.lower()!r} already", fix="call your class something else")
        config = typing.get_type_hints(found.__init__).get("config")
        if config is None:
            raise InputError(
                f"{name}.__init__ does not say what its config is",
                fix="annotate it: def __init__(self, model: Model, config: MyConfig)",
            )
        METHODS[name.lower()] = Part(found, config)
