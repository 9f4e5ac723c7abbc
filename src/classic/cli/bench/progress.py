"""What a person sees while runs of the benchmark get on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


class RunProgress:
    """A bar for every run on a terminal, a line per task elsewhere."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.console = console
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.bars: dict[str, Any] = {}

    def __enter__(self) -> RunProgress:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def say(self, line: str) -> None:
        """Prints a line that stays."""
        from rich.text import Text

        self.console.print(Text(line), soft_wrap=True)

    def tell(self, event: dict[str, Any]) -> None:
        """Takes an event of a job."""
        run = event["run"]
        if "note" in event:
            self.say(f"{run}: {event['note']}")
            return
        if not self.console.is_terminal:
            self.say(
                f"{run}  {event['done']}/{event['of']} {event['task']}: "
                f"accuracy {event['accuracy']:.4f}, own F1 {event['own_f1']:.4f}"
            )
        if run not in self.bars:
            self.bars[run] = self.progress.add_task(run, total=event["of"])
        self.progress.update(self.bars[run], completed=event["done"])
        if event["done"] == event["of"]:
            self.progress.remove_task(self.bars.pop(run))
