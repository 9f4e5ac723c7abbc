"""The house rules a machine can check: who may import whom, and what is never used."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "classic"
LAYERS: tuple[set[str], ...] = (
    {"_version", "types", "config", "seeding", "errors", "files", "cluster"},
    {"data", "losses", "modules", "runtime"},
    {"backbones", "batching", "model", "methods"},
    {"training", "evaluation", "finding"},
    {"systems", "store", "learning", "prediction"},
    {"audit", "benchmark", "export", "report", "summary", "estimator"},
    {"cli", "serving", "__main__"},
)
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    """Every module a file imports, wherever the import stands; what `if TYPE_CHECKING` guards counts, too."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            module = str(node.module)
            found += [f"classic.{alias.name}" for alias in node.names] if module == "classic" else [module]
    return found


def test_there_is_something_to_check() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    own = name_of(path)
    assert own in LAYER, f"{own} has no layer: put it into LAYERS"
    for module in imported(path):
        package, _, rest = module.partition(".")
        if package == "transformers":
            assert own == "backbones", f"{path.name} imports transformers, which only backbones may"
        if package == "classic" and rest:
            other = rest.split(".")[0]
            assert LAYER.get(other, 99) <= LAYER[own], f"{own} imports {other}, which lies above it"


def test_the_picture_of_the_house_shows_every_room() -> None:
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^ (\d)  ((?:\w+/?  ?)+)", page, re.MULTILINE)
    floors = {int(number): {word.rstrip("/") for word in words.split()} for number, words in drawn}
    for number, names in enumerate(LAYERS):
        assert {name for name in names if not name.startswith("_")} <= floors[number], f"floor {number}"
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms <= set(LAYER), "a room without a floor"


FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
FORBIDDEN_CALLS = {"eval", "exec", "torch.load", "torch.save", "numpy.load", "np.load"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_unpickles_or_runs_foreign_code(path: Path) -> None:
    assert not {module.split(".")[0] for module in imported(path)} & FORBIDDEN_MODULES
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in FORBIDDEN_CALLS, f"{path}:{node.lineno}"
            assert "trust_remote_code" not in {keyword.arg for keyword in node.keywords}, f"{path}:{node.lineno}"
    assert "trust_remote_code" not in path.read_text(encoding="utf-8")
