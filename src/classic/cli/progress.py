"""What a person sees while a domain is learned, and when it is done."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from classic.store.versions import Version
from classic.types import Step

_BAR, _LONGEST_NAME = 18, 20  # so that everything fits 80 columns


class TrainingProgress:
    """One line of at most 80 columns: domain, epoch, step, time left; on standard error, so that pipes stay clean.

    Args:
        quiet: Whether to show nothing.
        verbose: Whether every epoch is printed, with the terms of the loss.
        console: Where to show it; standard error if none is given.
    """

    def __init__(self, quiet: bool = False, verbose: bool = False, console: Console | None = None) -> None:
        self._verbose = verbose
        self._progress = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            TimeRemainingColumn(),
            BarColumn(bar_width=_BAR),
            console=console or Console(stderr=True, quiet=quiet),
            transient=True,
        )
        self._bar = self._progress.add_task("starting", total=None)
        self._name = ""
        self._epochs = self._batches = 1

    def __enter__(self) -> TrainingProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_stage(self, task: str, what: str) -> None:
        """Says what is happening while no domain is trained."""
        description = f"{_short(task)}: {what}" if task else what
        self._progress.reset(self._bar, total=None, description=description)

    def on_count(self, done: int, total: int) -> None:
        """Moves the bar of a stage whose parts are counted."""
        self._progress.update(self._bar, total=total, completed=done)

    def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
        """Begins a bar of all steps of the phase."""
        self._epochs, self._batches = epochs, batches
        self._name = _short(task if phase == "train" else f"{task} ({phase})")
        self._progress.reset(self._bar, total=epochs * batches, completed=done * batches)
        self._describe(min(done, epochs - 1), 0)

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        """Moves the bar."""
        self._progress.update(self._bar, completed=step.epoch * self._batches + step.batch + 1)
        self._describe(step.epoch, step.batch + 1)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Prints an epoch, if it is wanted; else the bar says enough."""
        if self._verbose:
            self._progress.console.print(describe_epoch(record), highlight=False)

    def _describe(self, epoch: int, step: int) -> None:
        place = f"epoch {epoch + 1}/{self._epochs}  step {step}/{self._batches}"
        self._progress.update(self._bar, description=f"{self._name}  {place}  left")


def describe_epoch(record: dict[str, Any]) -> str:
    """An epoch in one line: the terms of the loss, how hard each pulls beside the cross-entropy, validation."""
    parts = ["losses " + ", ".join(f"{name} {value:.3f}" for name, value in record["terms"].items())]
    if shares := record.get("shares"):
        parts.append("pull beside ce " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    if "valid_loss" in record:
        parts.append(f"validation loss {record['valid_loss']:.3f}, macro-F1 {record['valid_f1']:.3f}")
    return f"epoch {record['epoch'] + 1}: " + "; ".join(parts)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


class RowProgress:
    """A bar over examples, on standard error: how many are answered, how fast, and the time left.

    Args:
        console: Where to show it; standard error if none is given.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
            console=console or Console(stderr=True),
            transient=True,
        )
        self._bar = self._progress.add_task("", total=None, pace="")
        self._before, self._began = 0, 0.0

    def __enter__(self) -> RowProgress:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def begin(self, what: str, total: int | None, done: int = 0) -> None:
        """Begins a new bar."""
        self._before, self._began = done, self._progress.get_time()
        self._progress.reset(self._bar, total=total, completed=done, description=what, pace="")

    def at(self, done: int) -> None:
        """Moves the bar.

        The pace is that of all rows since the bar began: answers come a window at a time, so that the pace of the last
        few, which rich would show, is hundreds of times too fast.
        """
        task = self._progress.tasks[0]
        passed, rows = self._progress.get_time() - self._began, done - self._before
        pace = ""
        if passed > 0 and rows > 0:
            pace = f"{rows / passed:,.0f} rows/s"
            if task.total is not None:
                pace += f" {timedelta(seconds=round((task.total - done) * passed / rows))}"
        self._progress.update(self._bar, completed=done, pace=pace)

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
            f"accuracy {scores['accuracy']:.3f}  macro-F1 {scores['macro_f1']:.3f}  own F1 {scores['own_f1']:.3f}",
        )
    if (finder := record.get("finder")) and finder["true"]:  # without either part nothing was looked for
        part = "test" if "test" in record["scores"] else "valid"
        table.add_row(
            f"aspects found ({finder['true']} in {part})",
            f"precision {finder['precision']:.3f}  recall {finder['recall']:.3f}  F1 {finder['f1']:.3f}",
        )
    if capacity := record.get("capacity"):
        table.add_row(
            "units",
            f"{capacity['new']:.1%} new, {capacity['shared']:.1%} shared, {capacity['free']:.1%} free",
        )
    if masks := record.get("masks"):
        table.add_row(
            "masks",
            f"{masks['opened']} units opened, {masks['closed']} closed, {masks['reused']} reused",
        )
    if transfer := record.get("transfer"):
        ranked = sorted(zip(transfer[:-1], record["domains"], strict=False), reverse=True)[:3]
        if looked := ", ".join(f"{name} ({share:.0%})" for share, name in ranked if round(100 * share)):
            table.add_row("looked most at", looked)
    if "seconds" in run and "peak_memory_bytes" in run:
        table.add_row("time", f"{run['seconds']:.0f} s, {run['peak_memory_bytes'] / 2**20:.0f} MiB at most")
    table.add_row("domains so far", ", ".join(record["domains"]))
    console.print(table)
