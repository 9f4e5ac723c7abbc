"""Mutants made by rule: one operator, number or statement of the source changed, drawn by a seed.

    python -m reliability mutants [--number 200] [--minutes 60] [--only WORD]   # with a word: survivors again

Each mutant is tried on the few test files of its module, in a process forked from one that has imported torch: first
on the tests that run its line, then, if they let it pass, on all. They must pass without a change, and their time then
sets the time they get with one. A test that fails or takes too long has caught it. What is known is kept in
`reports/mutants.json`: the command goes on where it stopped, and a mutant whose line has changed is forgotten.
Survivors that no test could or should catch are explained in `explained.json`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classic.files import write_json
from reliability.mutation_map import TESTS
from reliability.reached import Notes, Watcher

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = Path(__file__).with_name("explained.json")  # name of a mutant, and why it may survive
RESULTS = Path(__file__).with_name("reports") / "mutants.json"
ROOMS = ("losses", "modules", "store", "serving", "evaluation")
SEED = 23
LIKELY = 12  # tests that run the line of a mutant, tried first
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """Bytes `start` to `end` of a file become `new`."""

    file: str
    line: int
    column: int
    text: str
    start: int
    end: int
    old: str
    new: str

    @property
    def name(self) -> str:
        """Where, by the text of the line, and what is changed into what. Without the line's number, which moves."""
        change = f"{' '.join(self.old.split())} -> {' '.join(self.new.split())}"
        return f"{self.module} | {self.text} | {self.column}: {change}"

    @property
    def module(self) -> str:
        return self.file.removeprefix("src/classic/").removesuffix(".py")


def mutants_of(file: str) -> Iterator[Mutant]:
    """All mutants of a source file."""
    source = (ROOT / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, new in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        old = source[start:end].decode()
        text = f"({ast.unparse(new)})" if isinstance(new, ast.expr) else ast.unparse(new)
        line = source.splitlines()[node.lineno - 1].decode().strip()
        yield Mutant(file, node.lineno, node.col_offset, line, start, end, old, text)


def _changes(tree: ast.Module) -> Iterator[tuple[Any, ast.AST]]:
    """Nodes and what each becomes. Annotations, messages of errors, and named numbers are left alone."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        waiting += _looked_into(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node, ast.Compare(node.left, [_COMPARED[type(node.ops[0])]()], node.comparators)
        elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED and not _is_type(node):
            yield node, ast.BinOp(node.left, _COMPUTED[type(node.op)](), node.right)
        elif isinstance(node, ast.BoolOp):
            yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            yield node, node.operand
        elif isinstance(node, ast.IfExp):
            yield node, ast.IfExp(node.test, node.orelse, node.body)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, ast.Constant(not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            yield node, ast.Constant(node.value + 1)
        elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            yield node, ast.Return(ast.Constant(None))
        elif isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            yield node, ast.Pass()


def _looked_into(node: ast.AST) -> list[ast.AST]:
    """The children that may change."""
    if isinstance(node, ast.Raise):
        return []
    if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id.isupper() for t in node.targets):
        return []  # a named number is a choice
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _called(node.value) == "TypeVar":
        return []
    left_out = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
    return [child for child in ast.iter_child_nodes(node) if id(child) not in left_out]


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _is_type(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right))


def drawn(number: int, seed: int = SEED) -> list[Mutant]:
    """So many mutants, as many of each room; the same ones every time, and mostly the same when the source changes."""
    found: list[list[Mutant]] = []
    for room in ROOMS:
        every = [mutant for mutant in _every() if mutant.module.startswith(f"{room}/")]
        every.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
        found.append(every)
    rows = range(-(-number // len(ROOMS)))
    return [mutants[row] for row in rows for mutants in found if row < len(mutants)][:number]


def _every() -> list[Mutant]:
    files = [file for room in ROOMS for file in sorted((ROOT / "src" / "classic" / room).glob("*.py"))]
    found = [mutant for file in files for mutant in mutants_of(str(file.relative_to(ROOT)))]
    return list({mutant.name: mutant for mutant in found}.values())  # the same line twice in a file: one of them


def run(number: int = 200, minutes: float = 1e9, only: str = "") -> dict[str, Any]:
    """Tries the mutants that are not known yet; returns what is known of all of them."""
    wanted, until = sorted(drawn(number), key=_cost), time.monotonic() + 60 * minutes
    known = _known()
    with tempfile.TemporaryDirectory() as name:
        _preload()
        trier = Trier(Path(name))
        for place, mutant in enumerate(wanted, 1):
            again = bool(only) and only in mutant.name and known.get(mutant.name) == "survived"
            if (mutant.name in known and not again) or only not in mutant.name:
                continue
            if time.monotonic() > until:
                break
            end = trier.run(mutant)
            known = _known() | {mutant.name: end}
            print(f"{place}/{len(wanted)} {known[mutant.name]:8} {mutant.name} (line {mutant.line})", flush=True)
            write_json(RESULTS, summary(known, wanted) | {"mutants": known})
    return summary(known, wanted)


def _known() -> dict[str, str]:
    """What is known of those that still are what they were, drawn now or before."""
    found: dict[str, str] = json.loads(RESULTS.read_text())["mutants"] if RESULTS.is_file() else {}
    there = {mutant.name for mutant in _every()}
    return {name: end for name, end in found.items() if name in there}


def _cost(mutant: Mutant) -> int:
    """Those with quick tests first."""
    return ("evaluation", "losses", "modules", "store", "serving").index(mutant.module.partition("/")[0])


def summary(known: dict[str, str], wanted: list[Mutant]) -> dict[str, Any]:
    """Counts and survivors of those that are drawn now."""
    known = {mutant.name: known[mutant.name] for mutant in wanted if mutant.name in known}
    survivors = [name for name, end in known.items() if end == "survived"]
    why: dict[str, str] = json.loads(EXPLAINED.read_text())
    explained = {name: why[name] for name in survivors if name in why}
    open_ones = [name for name in survivors if name not in why]
    caught = len(known) - len(survivors)
    counts = {"seed": SEED, "wanted": len(wanted), "tried": len(known), "caught": caught}
    return {**counts, "survivors": open_ones, "explained": explained}


def _preload() -> None:
    """What every test imports, and nothing of the package: a fork has it at once, and imports the changed package."""
    import fastapi.testclient  # noqa: F401
    import hypothesis.strategies  # noqa: F401
    import pytest  # noqa: F401
    import pytest_timeout  # noqa: F401
    import safetensors.torch  # noqa: F401
    import sklearn.metrics  # noqa: F401
    import torch
    import transformers.models.bert.modeling_bert  # noqa: F401

    torch.set_num_threads(1)
    for name in [name for name in sys.modules if name == "classic" or name.startswith("classic.")]:
        del sys.modules[name]


class Trier:
    """Tries mutants on a copy of the source."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copy = Path(shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__")))
        self._notes: dict[str, Notes] = {}

    def run(self, mutant: Mutant) -> str:
        """How the mutant ended: caught, too slow, survived."""
        target = self._copy / Path(mutant.file).relative_to("src")
        noted = [self._noted(tests) for tests in TESTS[mutant.module]]
        last = mutant.line + mutant.old.count("\n")
        likely = [test for notes in noted for test in notes.tests(target, mutant.line, last)][:LIKELY]
        seconds = {test: took for notes in noted for test, took in notes.seconds.items()}
        tries = [(likely, sum(seconds[test] for test in likely))] if likely else []
        tries += [
            ([tests], sum(notes.seconds.values())) for tests, notes in zip(TESTS[mutant.module], noted, strict=True)
        ]
        whole = (ROOT / mutant.file).read_bytes()
        target.write_bytes(whole[: mutant.start] + mutant.new.encode() + whole[mutant.end :])
        try:
            ends = (_tested(tests, self._copy, 60 + 4 * took) for tests, took in tries)
            return next((end for end in ends if end != "survived"), "survived")
        finally:
            target.write_bytes(whole)

    def _noted(self, tests: str) -> Notes:
        """Runs tests without a change, once: they must pass, and tell which lines they run."""
        if tests not in self._notes:
            notes = self._folder / f"notes{len(self._notes)}.json"
            files = {str(file) for room in ROOMS for file in (self._copy / "classic" / room).glob("*.py")}
            began = time.monotonic()
            if _tested([tests], self._copy, 900, Watcher(files, notes)) != "survived":
                raise SystemExit(f"{tests} fails without any change")
            self._notes[tests] = Notes(notes)
            print(f"{tests} passes without a change ({time.monotonic() - began:.0f} s)", flush=True)
        return self._notes[tests]


def _tested(tests: list[str], copy: Path, seconds: float, *plugins: Watcher) -> str:
    """Runs some tests over the copy, in a fork."""
    pid = os.fork()
    if pid == 0:
        _in_the_fork(tests, copy, seconds, plugins)
    until = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > until:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "too slow"
        time.sleep(0.05)
    code = os.waitstatus_to_exitcode(status)
    if code == 5:
        raise SystemExit(f"no tests in {tests}")
    return "survived" if code == 0 else "caught"


def _in_the_fork(tests: list[str], copy: Path, seconds: float, plugins: tuple[Watcher, ...]) -> None:
    import pytest

    os.setpgid(0, 0)
    os.chdir(ROOT)
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    os.environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.environ.pop("CLASSIC_DATA", None)  # what needs the paper's data is slow, and skipped
    sys.dont_write_bytecode = True
    sys.path[:] = [str(copy), *(path for path in sys.path if path != str(ROOT / "src"))]
    command = ["-x", "-q", "-p", "no:cacheprovider", "-p", "pytest_timeout", "--timeout", str(seconds)]
    paths, _, selected = " ".join(test if test.startswith("tests/") else f"tests/{test}" for test in tests).partition(
        " -k "
    )
    code = 1
    try:
        code = int(pytest.main([*command, *paths.split(), *(["-k", selected] if selected else [])], list(plugins)))
    finally:
        os._exit(code)
