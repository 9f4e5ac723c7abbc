"""`classic learn` and `classic evaluate` on a table whose columns have names of their own, and stars for polarities."""

from __future__ import annotations

from pathlib import Path

from test_cli import ok, refused

from classic.types import Polarity, Task

STARS = {Polarity.POSITIVE: 5, Polarity.NEGATIVE: 1, Polarity.NEUTRAL: 3}
TOLD = ("--column", "sentence=Comment", "--column", "aspect=feature", "--column", "polarity=Score", "--stars", "2:4")


def test_a_table_is_learned_and_scored_under_its_own_names(
    taught_store: Path, tmp_path: Path, toy_tasks: tuple[Task, ...]
) -> None:
    task, file = toy_tasks[3], tmp_path / "shop.csv"
    rows = [f"{e.sentence};{e.aspect};{STARS[e.polarity]}" for e in task.train + task.valid if e.polarity]
    file.write_text("\n".join(["Comment;feature;Score", *rows]) + "\n")
    assert "--column" in refused("learn", taught_store, file, "--domain", "shop")
    counts = ok("learn", taught_store, file, "--domain", "shop", *TOLD, "--json", "--threads", 1).json["record"][
        "counts"
    ]
    learned = {p: sum(part[str(p)] for part in counts.values()) for p in STARS}
    assert learned == {p: sum(row.endswith(f";{star}") for row in rows) for p, star in STARS.items()}
    (scores,) = ok("evaluate", taught_store, f"shop={file}", *TOLD, "--json", "--threads", 1).json.values()
    assert scores["shop"]["examples"] == len(rows)
