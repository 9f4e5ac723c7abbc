"""A store as one page: what it learned, how well, and what it cost. One file, no requests, no script, no torch."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from classic._version import __version__
from classic.data.starter import STARTER
from classic.errors import InputError, StoreError
from classic.evaluation.details import detail
from classic.evaluation.matrix import METRICS, ResultMatrix
from classic.evaluation.scores import expand, own_columns
from classic.files import write_bytes
from classic.report import parts
from classic.report.charts import duration, heat_range, percent, points
from classic.store.store import Store
from classic.store.versions import Version
from classic.types import POLARITIES

NAMES = {"accuracy": "Accuracy", "macro_f1": "Macro-F1", "own_f1": "Own F1"}
_MOST_EXAMPLES = 10_000_000  # a scores file that claims more is damaged; it must not fill the memory
_FEW = 8  # so many domains leave room for two charts side by side


def write_report(store: Store, path: Path, title: str | None = None) -> None:
    """Writes a store's report as one self-contained HTML file.

    Args:
        store: A store that has learned at least one domain.
        path: The file; replaced if it is there.
        title: Heading of the page; the name of the store's folder if not given.
    """
    page = render_report(store, title)
    if path.is_dir() or not path.parent.is_dir():
        wrong = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InputError(f"the report cannot be written: {wrong}", fix="name a file in a folder that exists")
    try:
        write_bytes(path, page.encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", fix="choose another place") from None


def render_report(store: Store, title: str | None = None) -> str:
    """The report as HTML. Equal stores give equal pages."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    # Every name in a store came from outside: nothing reaches the page unescaped.
    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "points": points, "duration": duration}
    chain = _learned(store)
    everything = scores_matrix(store)
    domains = list(everything.tasks)
    matrix = _of_their_own(everything)
    numbers = report_numbers(store)
    return environment.get_template("report.html.j2").render(
        title=title or store.path.resolve().name,
        program=__version__,
        domains=domains,
        averaged=list(matrix.tasks),
        few=len(domains) <= _FEW,
        names=NAMES,
        numbers=_with_nan(numbers),
        tested={metric: _tested(matrix, metric) for metric in METRICS},
        coverage=parts.coverage(matrix),
        heat={metric: parts.result_heat(matrix, metric) for metric in METRICS},
        heat_ends={metric: heat_range(parts.cells(matrix, metric)) for metric in METRICS},
        curve={metric: parts.curve_chart(matrix, metric, _curve(matrix, metric), NAMES[metric]) for metric in METRICS},
        change={metric: parts.change_bars(matrix, metric) for metric in METRICS},
        capacity=parts.capacity_bars(domains, [version.record.get("capacity") for version in chain]),
        transfer=parts.share_map(domains, [version.record.get("transfer") for version in chain]),
        overlap=parts.share_map(domains, [version.record.get("overlap") for version in chain]),
        training=parts.training_panels(domains, [version.record.get("epochs", []) for version in chain]),
        versions=[_version_row(store, version, everything) for version in chain],
        polarities=[str(polarity) for polarity in POLARITIES],
        settings=_flatten(store.settings),
        surroundings=_flatten(chain[-1].run.get("surroundings", {})),
    )


def scores_matrix(store: Store) -> ResultMatrix:
    """The result matrix of the version in use, as far as its versions were tested.

    Cells come from the scores files; on the diagonal, where a scores file has nothing, from the test that every version
    is put to when it is learned. Cells that were never tested are NaN.
    """
    chain = _learned(store)
    matrix = ResultMatrix([version.domain for version in chain])
    for t, version in enumerate(chain):
        scores = store.read_scores(version.number)
        for u, tested in enumerate(chain[: t + 1]):
            pairs = _pairs(scores.get(tested.domain), f"scores of version {version.number} on {tested.domain!r}")
            if not pairs:
                continue
            counted = {"pairs": pairs}
            matrix.record(t, u, *expand(counted), own_columns(tested.record.get("classes", []), counted))
    plain: dict[str, Any] = matrix.to_dict()
    for t, version in enumerate(chain):
        test = version.record.get("scores", {}).get("test")
        if test and plain["accuracy"][t][t] is None:
            for metric in METRICS:
                plain[metric][t][t] = float(test[metric])
    return ResultMatrix.from_dict(plain)


def _of_their_own(matrix: ResultMatrix) -> ResultMatrix:
    """The results on the domains that a store was taught. The starter it began with is in no average.

    It came with the package: whoever has the store has no texts to test it again with, and every average would be missing.
    """
    return matrix.without(STARTER) if matrix.tasks[0] == STARTER and len(matrix.tasks) > 1 else matrix


def report_numbers(store: Store) -> dict[str, Any]:
    """The numbers of the report as strict JSON; null where a test is missing."""
    chain, everything = _learned(store), scores_matrix(store)
    matrix = _of_their_own(everything)
    left_out = len(everything.tasks) - len(matrix.tasks)
    whole = matrix.learned == len(matrix.tasks)  # else its last row is that of an older version
    runs = [version.run for version in chain]
    capacities = [version.record.get("capacity") for version in chain]
    numbers: dict[str, Any] = {
        "domains": list(everything.tasks),
        "averaged": list(matrix.tasks),
        "final": {metric: matrix.final(metric) if whole else math.nan for metric in METRICS},
        "forward": {metric: matrix.forward(metric) if whole else math.nan for metric in METRICS},
        "forgetting": matrix.forgetting if whole else math.nan,
        "backward_transfer": matrix.backward_transfer if whole else math.nan,
        "curve": {metric: [math.nan] * left_out + _curve(matrix, metric) for metric in METRICS},
        "forgetting_by_domain": {metric: parts.forgetting(matrix, metric) for metric in METRICS},
        "backward_transfer_by_domain": {metric: parts.backward(matrix, metric) for metric in METRICS},
        "matrix": everything.to_dict(),
        "details": _details(store, chain),
        "capacity": capacities,
        "free_units": capacities[-1]["free"] if capacities[-1] else None,
        "transfer": [version.record.get("transfer") for version in chain],
        "overlap": [version.record.get("overlap") for version in chain],
        "seconds": math.fsum(run.get("seconds", 0.0) for run in runs),
        "peak_memory_bytes": max(run.get("peak_memory_bytes", 0) for run in runs),
        "versions": [version.number for version in chain],
        "sha256": store.digest(),
    }
    return _without_nan(numbers)  # type: ignore[no-any-return]


def _details(store: Store, chain: Sequence[Version]) -> dict[str, Any]:
    """What stands behind the newest known result on each domain: classes, confusions, intervals, and the version."""
    found: dict[str, Any] = {}
    for tested in chain:
        for version in reversed(chain[chain.index(tested) :]):
            where = f"scores of version {version.number} on {tested.domain!r}"
            pairs = _pairs(store.read_scores(version.number).get(tested.domain), where)
            if not pairs and version is tested:
                pairs = _pairs(tested.record.get("scores", {}).get("test"), where) if _has_pairs(tested) else []
            if pairs:
                counted = {"pairs": [list(pair) for pair in pairs]}
                found[tested.domain] = detail(counted, tested.record.get("classes", [])) | {"version": version.number}
                break
    return found


def _has_pairs(version: Version) -> bool:
    return "pairs" in version.record.get("scores", {}).get("test", {})


def _learned(store: Store) -> list[Version]:
    chain = store.chain()
    if not chain:
        raise InputError(
            f"{store.path} has learned no domain yet, so there is nothing to report",
            fix="teach it one with `classic learn`",
        )
    return chain


def _pairs(entry: Any, where: str) -> list[tuple[int, int, int]]:
    """Checks an entry of a scores file: [true, answered, count] each."""
    if entry is None:
        return []
    rows = entry.get("pairs") if isinstance(entry, dict) else None
    good = isinstance(rows, list) and all(
        isinstance(row, list)
        and len(row) == 3
        and all(type(value) is int for value in row)
        and all(0 <= label < len(POLARITIES) for label in row[:2])
        and row[2] >= 0
        for row in rows
    )
    if not isinstance(rows, list) or not good or sum(row[2] for row in rows) > _MOST_EXAMPLES:
        raise StoreError(
            f"{where} cannot be read", fix="delete that file in the store's folder 'scores' and test again"
        )
    return [(row[0], row[1], row[2]) for row in rows if row[2]]


def _curve(matrix: ResultMatrix, metric: str) -> list[float]:
    """The averages after every domain, up to the last one even where it was not tested."""
    found = matrix.curve(metric)
    return found + [math.nan] * (len(matrix.tasks) - len(found))


def _version_row(store: Store, version: Version, matrix: ResultMatrix) -> dict[str, Any]:
    place = matrix.tasks.index(version.domain)
    record, run = version.record, version.run
    return {
        "number": version.number,
        "domain": version.domain,
        "counts": record.get("counts", {}),
        "scores": {metric: matrix.value(metric, place, place) for metric in METRICS},
        "temperature": (record.get("temperature") or [math.nan])[0],
        "seconds": run.get("seconds"),
        "memory": run.get("peak_memory_bytes"),
        "sha256": store.digest(version.number),
    }


def _flatten(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as dotted names and plain text."""
    if isinstance(value, dict) and value:
        return [row for key in value for row in _flatten(value[key], f"{prefix}.{key}".lstrip("."))]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if re.fullmatch("[0-9a-f]{64}", text):
        text = f"{text[:16]}…"
    return [(prefix, text)] if prefix else []


def _tested(matrix: ResultMatrix, metric: str) -> tuple[float, int]:
    """The mean over the domains that were tested on the newest version, and their number.

    Of one domain alone it would be the score of that domain, and called final it would say too much: then it is missing.
    """
    known = [value for value in matrix.row(metric, len(matrix.tasks) - 1) if not math.isnan(value)]
    enough = len(known) > 1 or len(known) == len(matrix.tasks)
    return (math.fsum(known) / len(known) if enough else math.nan), len(known)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _with_nan(numbers: dict[str, Any]) -> dict[str, Any]:
    """The head figures for the page, whose filters know NaN as 'missing'."""
    head = {key: numbers[key] for key in ("forgetting", "backward_transfer", "free_units")}
    shown = {key: math.nan if value is None else value for key, value in head.items()}
    for key in ("final", "forward"):
        shown[key] = {metric: math.nan if value is None else value for metric, value in numbers[key].items()}
    return numbers | shown


def _template(name: str) -> str:
    return files("classic.report").joinpath("templates", name).read_text(encoding="utf-8")
