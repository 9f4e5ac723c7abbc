"""What a person sees while a domain is learned, and when it is done."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from classic.store.store import Version
from classic.types import Step


class TrainingProgress:
    """A progress bar with the terms of the loss and the time left; on standard error, so that pipes stay clean."""

    def __init__(self, quiet: bool = False) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[terms]}", style="dim"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True, quiet=quiet),
            transient=True,
        )
        self._bar = self._progress.add_task("reading", total=None, terms="")
        self._batches = 1

    def __enter__(self) -> TrainingProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
        """Begins a bar of all steps of the phase."""
        self._batches = batches
        name = task if phase == "train" else f"{task} ({phase})"
        self._progress.reset(
            self._bar, total=epochs * batches, completed=done * batches, description=f"learning {name}", terms=""
        )

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        """Moves the bar."""
        shown = " ".join(f"{name} {value:.2f}" for name, value in terms.items())
        self._progress.update(self._bar, completed=step.epoch * self._batches + step.batch + 1, terms=shown)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Nothing: the bar says enough."""


class RowProgress:
    """A bar over examples, on standard error: how many are answered, how fast, and the time left."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar = self._progress.add_task("", total=None, rate="")

    def __enter__(self) -> RowProgress:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def begin(self, what: str, total: int | None, done: int = 0) -> None:
        """Begins a new bar."""
        self._progress.reset(self._bar, total=total, completed=done, description=what, rate="")

    def at(self, done: int) -> None:
        """Moves the bar."""
        speed = self._progress.tasks[0].speed
        self._progress.update(self._bar, completed=done, rate=f"{speed:,.0f} rows/s" if speed else "")

    def advance(self) -> None:
        """Moves the bar by one."""
        self.at(int(self._progress.tasks[0].completed) + 1)


def describe_version(version: Version, console: Console | None = None) -> None:
    """Prints what a version learned."""
    console = console or Console()
    record, run = version.record, version.run
    table = Table(title=f"version {version.number}: {version.domain}", show_header=False, title_justify="left")
    for part, scores in record["scores"].items():
        table.add_row(
            f"{part} ({scores['examples']} examples)",
            f"accuracy {scores['accuracy']:.3f}   macro-F1 {scores['macro_f1']:.3f}   own F1 {scores['own_f1']:.3f}",
        )
    if capacity := record.get("capacity"):
        table.add_row(
            "adapter units",
            f"{capacity['new']:.1%} new, {capacity['shared']:.1%} shared with earlier domains, {capacity['free']:.1%} free",
        )
    if transfer := record.get("transfer"):
        ranked = sorted(zip(transfer[:-1], record["domains"], strict=False), reverse=True)[:3]
        table.add_row("looked most at", ", ".join(f"{name} ({share:.0%})" for share, name in ranked))
    if run:
        table.add_row("time", f"{run['seconds']:.0f} s, {run['peak_memory_bytes'] / 2**20:.0f} MiB at most")
    table.add_row("domains so far", ", ".join(record["domains"]))
    console.print(table)
