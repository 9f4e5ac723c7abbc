"""The errors a user can meet. Every message says what was wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path


class ClassicError(Exception):
    """Base of all errors that are the fault of the input, the store or the surroundings, never of the code.

    Args:
        what: What was found, in one sentence.
        fix: What the user can do about it.
        exit_code: What the command line exits with: 2 for bad input, 1 for everything else.
    """

    exit_code = 1

    def __init__(self, what: str, *, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(what if not fix else f"{what}\n  How to mend it: {fix}")


class InputError(ClassicError):
    """A value the user gave (an option, a name, a configuration key) cannot be used."""

    exit_code = 2


class DataError(InputError):
    """A data file cannot be read. Knows the place, so that an editor can jump there.

    The message never repeats the text of a review unless the reader passes it in ``what``.
    """

    def __init__(
        self,
        what: str,
        *,
        path: Path | str,
        line: int | None = None,
        column: int | None = None,
        expected: str = "",
        fix: str = "",
    ) -> None:
        self.problem = what
        self.path = str(path)
        self.line = line
        self.column = column
        self.expected = expected
        self.told = f"line {line}: {what}" if line is not None else what
        place = self.path
        if line is not None:
            place += f":{line}"
            if column is not None:
                place += f":{column}"
        text = f"{place}: {what}"
        if expected:
            text += f"\n  Expected: {expected}"
        super().__init__(text, fix=fix)


MOST_SHOWN = 20


def several(errors: Sequence[DataError], count: int) -> DataError:
    """One error for all bad rows of a file: at the place of the first, with the first twenty named and the rest counted.

    Args:
        errors: The first of them, at least one.
        count: How many there are.
    """
    first = errors[0]
    if count == 1:
        return first
    listed = [f"\n  {_place(error)}: {error.problem}" for error in errors[:MOST_SHOWN]]
    rest = count - len(listed)
    what = f"{count:,} rows cannot be used{''.join(listed)}" + (f"\n  and {rest:,} more" if rest else "")
    return DataError(
        what, path=first.path, line=first.line, column=first.column, expected=first.expected, fix=first.fix
    )


def _place(error: DataError) -> str:
    return "line " + ":".join(str(part) for part in (error.line, error.column) if part is not None)


class StoreError(ClassicError):
    """A store is missing, busy, damaged or of another kind than expected."""


class BusyError(StoreError):
    """Another process is changing the store."""


class StaleError(StoreError):
    """A version was learned from another one than the store now uses."""


class DiskError(StoreError):
    """A file cannot be written: the disk is full, or may not be written to.

    Args:
        what: As for every error.
        fix: As for every error.
        reason: What the system said and how much room there is, without the path.
    """

    def __init__(self, what: str, *, fix: str = "", reason: str = "") -> None:
        super().__init__(what, fix=fix)
        self.reason = reason


class TrainingError(ClassicError):
    """Training went wrong in a way that more training cannot mend."""


class IncompatibleError(InputError):
    """Two parts that cannot work together were asked to (a method and a backbone, a scenario and a rule)."""


NEEDED_TO_LEARN = {"accelerate", "huggingface_hub", "numpy", "safetensors", "tokenizers", "torch", "transformers"}
"""What the extra `learn` brings and a light installation lacks."""


class MissingExtraError(InputError, ModuleNotFoundError):
    """A part was asked for whose extra is not installed."""


def unknown_name(kind: str, name: str, known: list[str], *, where: str = "") -> InputError:
    """Builds the error for a name that is not in a fixed list, with the nearest one as a suggestion."""
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    place = f" in {where}" if where else ""
    return InputError(f"unknown {kind} {name!r}{place}", fix=f"{hint}known: {', '.join(sorted(known))}")
