"""The orders in which the tasks are learned. The paper used the first five of the authors' twenty."""

from __future__ import annotations

from pathlib import Path

from classic.data.domains import domain
from classic.data.tasks import data_root
from classic.errors import DataError, InputError

ORDER_FILE = "asc_random"


def read_orders(path: str | Path | None = None) -> list[list[str]]:
    """Reads one order per line, keys separated by tabs or spaces, as the paper's names.

    Args:
        path: The file; None means ``asc_random`` in the data root.

    Raises:
        DataError: A name is unknown or comes twice in an order.
    """
    file = data_root() / ORDER_FILE if path is None else Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "the file of task orders cannot be read",
            path=file,
            expected="one order per line, as in asc_random",
        ) from error
    orders: list[list[str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        order: list[str] = []
        for key in line.split():
            column = line.index(key) + 1
            try:
                name = domain(key).name
            except InputError as error:
                raise DataError(
                    f"unknown domain {key[:60]!r}", path=file, line=number, column=column, fix=error.fix
                ) from None
            if name in order:
                raise DataError(
                    f"the domain {name} twice in one order",
                    path=file,
                    line=number,
                    column=line.rindex(key) + 1,
                    expected="every domain at most once",
                )
            order.append(name)
        if order:
            orders.append(order)
    if not orders:
        raise DataError("no task order in this file", path=file, expected="one order per line")
    return orders


def order(index: int) -> list[str]:
    """One of the twenty orders, counted from 0."""
    orders = read_orders()
    if not 0 <= index < len(orders):
        raise InputError(f"there is no task order {index}", fix=f"choose one from 0 to {len(orders) - 1}")
    return orders[index]
