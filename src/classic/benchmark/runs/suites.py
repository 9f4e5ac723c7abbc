"""Which runs each table of the paper asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from classic.benchmark.runs.outside import split
from classic.benchmark.runs.spec import Budget, Spec
from classic.benchmark.tables.paper import ABLATIONS, ROWS
from classic.errors import InputError, unknown_name
from classic.systems.names import parse

TableName = Literal["main", "til", "ablation", "std", "cost", "search"]
TABLES: tuple[TableName, ...] = ("main", "til", "ablation", "std", "cost", "search")
UPPER_BOUNDS = ("joint@bert_adapter/dil", "retrain@bert_adapter/dil")
ORDERS = 20  # of the authors' file; the paper used the first five
RELATED = ("bcl@bert_adapter/til",)
ADDITIONS = (  # CLASSIC without what we added to the paper's
    "classic-absent@bert_adapter/dil",
    "classic-masks@bert_adapter/dil",
    "classic-joined@bert_adapter/dil",
    "ncl+reader+average@bert_adapter/dil",
    "classic-shares@bert_adapter/dil",
    "classic-domains@bert_adapter/dil",
    "classic-faded@bert_adapter/dil",
    "classic-average@bert_adapter/dil",
    "classic-shares-domains-average@bert_adapter/dil",
)


@dataclass(frozen=True)
class Selection:
    """Which part of a table is wanted; what is not given is the table's own choice."""

    systems: tuple[str, ...] = ()
    orders: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()
    budget: Budget = "quick"
    backbone: str | None = None
    first: int | None = None
    encoder: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    valid: bool = False


def systems_of(table: TableName) -> list[str]:
    """The systems of a table, by full name, in the paper's order.

    The paper prints the same numbers for ONE under DIL and TIL: a network per task, told which. So do we.
    """
    if table in ("main", "cost"):
        rows = [f"{row.system}/{'til' if row.system.startswith('one') else 'dil'}" for row in ROWS if row.dil]
        return [*rows, *(UPPER_BOUNDS[:1] if table == "main" else UPPER_BOUNDS)]
    if table == "til":
        return [*(f"{row.system}/til" for row in ROWS if row.til), *RELATED]
    if table == "ablation":
        return [*(f"{row.system}/dil" for row in ABLATIONS), *ADDITIONS]
    return ["classic@bert_adapter/dil"]


def specs_of(table: TableName, chosen: Selection) -> list[Spec]:
    """The runs of a table, those of one order together, so that the first order is complete first."""
    if table not in TABLES:
        raise unknown_name("table", table, list(TABLES))
    systems = [_complete(name, table) for name in chosen.systems] or systems_of(table)
    if chosen.backbone is not None:
        systems = [name for name in systems if name.partition("@")[2].partition("/")[0] == chosen.backbone]
        if not systems:
            raise InputError(
                f"no system of {table!r} is on backbone {chosen.backbone!r}", fix="see `classic systems list`"
            )
    if unknown := [order for order in chosen.orders if not 0 <= order < ORDERS]:
        raise InputError(f"there is no task order {unknown[0]}", fix=f"choose from 0 to {ORDERS - 1}")
    orders = chosen.orders or ((0, 1) if table == "ablation" else (0,))
    seeds = chosen.seeds or (tuple(range(5)) if table == "std" else (0,))
    found: list[Spec] = []
    for order in orders:
        for seed in seeds:
            for written in systems:
                name, outside = split(written)
                if outside is None and chosen.systems:
                    parse(name)  # a name that says nothing is refused, and not shown as a row without runs
                asked = Spec(
                    name,
                    order,
                    seed,
                    chosen.budget,
                    chosen.first,
                    chosen.valid,
                    chosen.encoder,
                    chosen.changes,
                    outside,
                )
                found.append(asked)
    return found


def _complete(name: str, table: TableName) -> str:
    """A system's name with its scenario: the table's, where it says none."""
    if name.endswith(("/dil", "/til")):
        return name
    alone = name.startswith(("one@", "one+"))
    return f"{name}/{'til' if table == 'til' or alone else 'dil'}"


def grid() -> dict[str, Sequence[Any]]:
    """What the paper searched over (Sec. 4.3), by our settings' names."""
    return {
        "method.temperature": (0.03, 0.5, 0.8, 1.0),
        "train.batch_size": (32, 64, 128),
        "method.gates.s_max": (140.0, 200.0, 300.0, 400.0),
        "method.normalised": (True, False),
        "method.contrast": ("features", "logits"),
    }
