"""From files to tasks: a folder with splits, a single file, or one of the paper's 19 domains."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from classic.data.domains import DOMAINS, domain
from classic.data.memory import to_examples
from classic.data.readers import AS_KNOWN, Columns, Note, Row, read_rows
from classic.data.splits import split_examples
from classic.errors import DataError, InputError, unknown_name
from classic.types import Example, Task

SPLITS = ("train", "valid", "test")
_STEMS = {"train": ("train",), "valid": ("valid", "dev", "validation", "val"), "test": ("test",)}
_ENVIRONMENT = "CLASSIC_DATA"
_LONGEST_NAME = 80
_NAME = re.compile(rf"[\w.\- ]{{1,{_LONGEST_NAME}}}")


def check_name(name: str) -> str:
    """The name of a domain, refused if it is not one: it stands in files, addresses and tables."""
    if not _NAME.fullmatch(name) or name != name.strip() or set(name) <= {".", " "}:
        shown = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"
        raise InputError(
            f"{shown!r} cannot be the name of a domain",
            fix=f"use letters, digits, spaces and _ - . only, at most {_LONGEST_NAME} of them, and no space at either end",
        )
    return name


def load_task(name: str, path: str | Path, *, seed: int = 0, columns: Columns = AS_KNOWN) -> Task:
    """Loads a task.

    Args:
        name: What the task is to be called.
        path: A folder with files called train, dev (or valid, validation, val) and test in any known format,
            or one file, which is then split 80/10/10 by sentence.
        seed: Chooses the split of a single file.
        columns: What the columns of its tables are, where their names are not the known ones.
    """
    if Path(path).is_dir():
        rows = {split: read_rows(file, columns=columns) for split, file in split_files(path).items()}
        return Task(name, *(_examples(rows.get(split, [])) for split in SPLITS))
    return split_task(name, _examples(read_rows(path, columns=columns)), seed=seed)


def split_task(name: str, examples: Iterable[Example], *, seed: int = 0) -> Task:
    """A task of examples without splits: 80/10/10 by sentence."""
    parts = split_examples(examples, seed=seed)
    return Task(name, parts.train, parts.valid, parts.test)


def make_task(name: str, data: object, *, seed: int = 0) -> Task:
    """A task of whatever its data is in: a file or folder, splits by name, or rows.

    >>> rows = [("Soft bed.", "bed", "positive"), ("Noisy lift.", "lift", "negative")]
    >>> make_task("hotel", {"train": rows, "test": rows}).classes
    (<Polarity.POSITIVE: 'positive'>, <Polarity.NEGATIVE: 'negative'>)

    Args:
        name: What the task is to be called.
        data: A task; a path, see `load_task`; a mapping from train, valid (or dev, validation, val) and test to rows; or
            rows, which are then split 80/10/10 by sentence. Rows are what `classic.data.to_examples` takes.
        seed: Chooses the split.
    """
    if isinstance(data, Task):
        return data
    check_name(name)
    if isinstance(data, str | Path):
        return load_task(name, data, seed=seed)
    if not isinstance(data, Mapping):
        return split_task(name, to_examples(data), seed=seed)
    found: dict[str, tuple[Example, ...]] = {}
    for part, rows in data.items():
        split = next((split for split, stems in _STEMS.items() if str(part).casefold() in stems), None)
        if split is None:
            raise unknown_name("split", str(part), [stem for stems in _STEMS.values() for stem in stems])
        found[split] = tuple(to_examples(rows))
    return Task(name, *(found.get(split, ()) for split in SPLITS))


def split_files(folder: str | Path) -> dict[str, Path]:
    """Finds the files of the splits in a folder, by their names; train must be there."""
    found = _files_of(folder)
    if "train" not in found:
        raise DataError(
            "no training file in this folder",
            path=folder,
            expected="files called train, dev (or valid) and test, with any ending",
            fix="name the file train.csv, or give a single file instead of a folder",
        )
    return {split: found[split] for split in SPLITS if split in found}


def scored_file(path: str | Path) -> Path:
    """The file that a path to labelled data means: of a folder its test file, which need not have others beside it."""
    if not Path(path).is_dir():
        return Path(path)
    found = _files_of(path)
    if "test" not in found:
        raise DataError(
            "no test file in this folder",
            path=path,
            expected="a file called test, with any ending",
            fix="name the file test.csv, or give the file itself",
        )
    return found["test"]


def _files_of(folder: str | Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in sorted(Path(folder).iterdir()):
        if not file.is_file() or file.name.startswith("."):
            continue
        for split, stems in _STEMS.items():
            if file.stem.casefold() in stems:
                if split in found:
                    raise DataError(
                        f"two files for the split {split}: {found[split].name} and {file.name}",
                        path=folder,
                        expected="one file per split",
                        fix="rename or remove one of them",
                    )
                found[split] = file
    return found


def read_split_rows(
    path: str | Path, notes: dict[str, list[Note]], columns: Columns = AS_KNOWN
) -> dict[str, list[Row]]:
    """The rows of a folder by split, or of a single file as "all"; for checks that need the lines."""
    files = split_files(path) if Path(path).is_dir() else {"all": Path(path)}
    return {split: read_rows(file, notes=notes.setdefault(split, []), columns=columns) for split, file in files.items()}


def task_hash(task: Task) -> str:
    """One sha256 over all rows of a task in their order, for the record of a run. Its name does not enter.

    It is one number for the whole task: hashes of single sentences would let anyone test for one.
    """
    digest = sha256()
    for split, examples in zip(SPLITS, (task.train, task.valid, task.test), strict=True):
        for example in examples:
            row = [split, example.sentence, example.aspect, example.polarity, example.span]
            digest.update(json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n")
    return digest.hexdigest()


def data_root() -> Path:
    """The folder with the paper's 19 domains, named by the environment variable ``CLASSIC_DATA``.

    Raises:
        InputError: It is not there; the message tells how to set it.
    """
    fix = f"set the environment variable {_ENVIRONMENT} to the folder that holds Bing3Domains, ..., asc_random"
    given = os.environ.get(_ENVIRONMENT)
    if not given:
        raise InputError("the data of the paper's 19 domains were not found", fix=fix)
    if not Path(given).is_dir():
        raise InputError(f"{_ENVIRONMENT} names {given!r}, which is not a folder", fix=fix)
    _refuse_other_folders(Path(given), fix)
    return Path(given)


def _refuse_other_folders(folder: Path, fix: str) -> None:
    """A folder one level too high or too low is the likely slip."""
    if _holds_domains(folder):
        return
    near = [folder.parent, *sorted(entry for entry in folder.iterdir() if entry.is_dir())]
    meant = next((entry for entry in near if _holds_domains(entry)), None)
    raise InputError(
        f"{_ENVIRONMENT} names {str(folder)!r}, which holds none of the paper's domains",
        fix=f"did you mean {str(meant)!r}?" if meant else fix,
    )


def _holds_domains(folder: Path) -> bool:
    return (folder / "asc_random").is_file() or any((folder / entry.folder).is_dir() for entry in DOMAINS)


def load_domain(name: str) -> Task:
    """Loads one of the paper's domains, under the paper's name; its dev.json is the validation split."""
    entry = domain(name)
    folder = data_root() / entry.folder
    if not folder.is_dir():
        raise InputError(
            f"the domain {entry.name} is not in {data_root()}",
            fix=f"the folder {entry.folder} must lie there; see: classic data check asc19",
        )
    return load_task(entry.name, folder)


def _examples(rows: list[Row]) -> tuple[Example, ...]:
    return tuple(row.example for row in rows)
