"""Which code made a result: a hash over the modules a run depends on, without their comments and docstrings."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
# What learns and tests, whatever the system; the system adds its method's and its backbone's own modules.
_ALWAYS = ("classic.training.loop", "classic.evaluation.answers", "classic.evaluation.metrics", "classic.seeding")
# Not followed: what imports every method, so that every change would matter to all, and what can change no result.
_LEFT_OUT = {"classic", "classic.systems.system", "classic.errors", "classic.files"}


def code_version(modules: Iterable[str], files: Iterable[Path] = ()) -> str:
    """A hash that changes when a run may come out differently, and not when a comment does.

    Args:
        modules: The modules of the method and the backbone; what they import from this package is followed.
        files: Modules outside the package, such as a user's own method.
    """
    known: dict[str, Path] = {}
    waiting = [*_ALWAYS, *modules]
    while waiting:
        name = waiting.pop()
        if name in known or name in _LEFT_OUT or (path := _source(name)) is None:
            continue
        known[name] = path
        waiting += _imports(path)
    digest = hashlib.sha256()
    for name in sorted(known):
        digest.update(f"{name}={_essence(known[name])};".encode())
    for file in files:
        digest.update(f"{file.name}={_essence(file)};".encode())
    return digest.hexdigest()


def _source(module: str) -> Path | None:
    parts = module.split(".")
    if parts[0] != "classic":
        return None
    stem = _PACKAGE.joinpath(*parts[1:])
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


@cache
def _imports(path: Path) -> tuple[str, ...]:
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return tuple(found)


@cache
def _essence(path: Path) -> str:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
