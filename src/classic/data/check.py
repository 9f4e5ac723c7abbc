"""Looks for what makes a data set misleading: leaks, duplicates, contradictions, missing classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from classic.data.domains import DOMAINS, Domain
from classic.data.readers import AS_KNOWN, Columns, Note, Row
from classic.data.splits import normalise
from classic.data.tasks import SPLITS, read_split_rows
from classic.types import POLARITIES, Polarity, Task

Severity = Literal["error", "warning", "info"]
_Rows = Mapping[str, Sequence[tuple[Row, int | None]]]
"""Rows by split, each with the line to report; None where the data are not from a file."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth knowing. ``message`` has no review text; ``text`` has it only if it was asked for."""

    kind: str
    severity: Severity
    domain: str
    split: str
    line: int | None
    message: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class SplitCount:
    """How many examples and different sentences a split has."""

    domain: str
    split: str
    positive: int
    negative: int
    neutral: int
    sentences: int

    @property
    def examples(self) -> int:
        """All of them."""
        return self.positive + self.negative + self.neutral


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found."""

    name: str
    counts: tuple[SplitCount, ...]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        """How many findings make the data unusable."""
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many findings make results doubtful."""
        return sum(finding.severity == "warning" for finding in self.findings)


def check(path_or_task: str | Path | Task, *, show_text: bool = False, columns: Columns = AS_KNOWN) -> Report:
    """Checks a task, a file, a folder with splits, or the root of the paper's 19 domains.

    Args:
        path_or_task: What to check. For the asc19 root all 57 splits are compared with the paper's counts.
        show_text: Whether findings may repeat review text.
        columns: What the columns of a table are, where their names are not the known ones.

    Raises:
        DataError: A file cannot be read.
    """
    if isinstance(path_or_task, Task):
        task = path_or_task
        parts = zip(SPLITS, (task.train, task.valid, task.test), strict=True)
        rows = {split: [(Row(example, 0), None) for example in examples] for split, examples in parts}
        return _report(task.name, rows, {}, show_text)
    path = Path(path_or_task)
    if is_benchmark_root(path):
        return _check_benchmark(path, show_text)
    return _check_path(path.name, path, show_text, columns)


def check_rows(name: str, rows: Iterable[Row]) -> Report:
    """Checks the rows of a file that was read already."""
    return _report(name, {"all": [(row, row.line) for row in rows]}, {}, show_text=False)


def is_benchmark_root(path: Path) -> bool:
    """Whether a folder looks like the root of the paper's data."""
    return path.is_dir() and any((path / entry.folder).is_dir() for entry in DOMAINS)


def _check_benchmark(root: Path, show_text: bool) -> Report:
    counts: list[SplitCount] = []
    findings: list[Finding] = []
    for entry in DOMAINS:
        folder = root / entry.folder
        if not folder.is_dir():
            findings.append(
                Finding("missing-domain", "error", entry.name, "", None, f"the folder {entry.folder} is missing")
            )
            continue
        part = _check_path(entry.name, folder, show_text)
        counts.extend(part.counts)
        findings.extend(part.findings)
        findings.extend(_compare_with_paper(entry, part.counts))
    return Report("asc19", tuple(counts), tuple(findings))


def _compare_with_paper(entry: Domain, counts: Sequence[SplitCount]) -> Iterator[Finding]:
    found = {count.split: (count.positive, count.negative, count.neutral) for count in counts}
    for split, expected in entry.counts.items():
        actual = found.get(split, (0, 0, 0))
        if actual != expected:
            message = f"{actual} positive, negative, neutral examples; the paper has {expected}"
            yield Finding("differs-from-paper", "error", entry.name, split, None, message)


def _check_path(name: str, path: Path, show_text: bool, columns: Columns = AS_KNOWN) -> Report:
    notes: dict[str, list[Note]] = {}
    read = read_split_rows(path, notes, columns)
    return _report(name, {split: [(row, row.line) for row in rows] for split, rows in read.items()}, notes, show_text)


def _report(name: str, rows: _Rows, notes: Mapping[str, Sequence[Note]], show_text: bool) -> Report:
    counts = tuple(_count(name, split, part) for split, part in rows.items())
    checker = _Checker(name, rows, show_text)
    left_out = (
        Finding(note.kind, "info", name, split, note.line, note.message)
        for split, part in notes.items()
        for note in part
    )
    return Report(name, counts, (*_class_findings(name, counts), *checker.run(), *left_out))


def _count(name: str, split: str, part: Sequence[tuple[Row, int | None]]) -> SplitCount:
    polarity = Counter(row.example.polarity for row, _ in part)
    positive, negative, neutral = (polarity[each] for each in POLARITIES)
    sentences = len({row.example.sentence for row, _ in part})
    return SplitCount(name, split, positive, negative, neutral, sentences)


def _class_findings(name: str, counts: Sequence[SplitCount]) -> Iterator[Finding]:
    by_split = {count.split: count for count in counts}
    learned = _classes(by_split.get("train") or by_split.get("all"))
    for split in ("all",) if "all" in by_split else SPLITS:
        count = by_split.get(split)
        classes = _classes(count)
        if not classes:
            severity: Severity = "warning" if split in ("valid", "test") else "error"
            yield Finding("empty-split", severity, name, split, None, "the split has no examples")
            continue
        if len(classes) == 1:
            learns = split in ("train", "all")  # `check_task` will refuse it
            useless = "a domain is learned from two polarities at least" if learns else "accuracy says nothing here"
            message = f"all examples are {classes[0]}; {useless}"
            yield Finding("one-class", "warning", name, split, None, message)
        if unlearned := [each for each in classes if each not in learned]:
            message = f"{', '.join(unlearned)} never occurs in training"
            yield Finding("unlearned-class", "warning", name, split, None, message)
        if missing := [each for each in learned if each not in classes]:
            message = f"no {' and no '.join(missing)} example, though training has some"
            yield Finding("missing-class", "warning", name, split, None, message)
        if split in ("train", "all") and (absent := [each for each in POLARITIES if each not in classes]):
            yield Finding("missing-class", "info", name, split, None, absent_note(absent))


def absent_note(absent: Sequence[Polarity]) -> str:
    """What it means to learn from examples that lack a polarity; there is no error in it, but one wants to know before.

    >>> absent_note([Polarity.NEUTRAL])
    'no neutral example: a store that learns this will hardly say neutral about such texts; give some if they occur'
    """
    names = " or ".join(absent)
    means = f"a store that learns this will hardly say {names} about such texts; give some if they occur"
    return f"no {' and no '.join(absent)} example: {means}"


def _classes(count: SplitCount | None) -> list[Polarity]:
    if count is None:
        return []
    numbers = (count.positive, count.negative, count.neutral)
    return [polarity for polarity, number in zip(POLARITIES, numbers, strict=True) if number]


class _Checker:
    """Looks at the rows themselves."""

    def __init__(self, name: str, rows: _Rows, show_text: bool) -> None:
        self._name = name
        self._rows = rows
        self._show_text = show_text

    def run(self) -> Iterator[Finding]:
        yield from self._leaks()
        for split, part in self._rows.items():
            yield from self._repeats(split, part)
            for row, line in part:
                if row.example.aspect.casefold() not in row.example.sentence.casefold():
                    message = "the aspect does not occur in the sentence"
                    yield self._finding("aspect-not-in-sentence", "warning", split, (row, line), message)

    def _leaks(self) -> Iterator[Finding]:
        """One finding per sentence and pair of splits, at its first place in the later split."""
        seen: dict[str, dict[str, int | None]] = {}
        for split, part in self._rows.items():
            here: dict[str, int | None] = {}
            for row, line in part:
                key = normalise(row.example.sentence)
                if key in here:
                    continue
                here[key] = line
                for earlier, sentences in seen.items():
                    if key in sentences:
                        message = f"the same sentence is in {earlier}{_at(sentences[key])}"
                        yield self._finding("leak", "warning", split, (row, line), message)
            seen[split] = here

    def _repeats(self, split: str, part: Sequence[tuple[Row, int | None]]) -> Iterator[Finding]:
        first: dict[object, tuple[Row, int | None]] = {}
        for row, line in part:
            example = row.example
            if example.span is None and example.sentence.casefold().count(example.aspect.casefold()) > 1:
                # Without offsets two rows may well mean two occurrences.
                continue
            key = (normalise(example.sentence), example.aspect.casefold(), example.span)
            if key not in first:
                first[key] = (row, line)
                continue
            earlier, earlier_line = first[key]
            if earlier.example.polarity != example.polarity:
                message = f"the same aspect has another polarity{_at(earlier_line)}"
                yield self._finding("conflict", "warning", split, (row, line), message)
            elif earlier.example == example:
                message = f"the same example stands{_at(earlier_line) or ' there before'}"
                yield self._finding("duplicate", "warning", split, (row, line), message)

    def _finding(self, kind: str, severity: Severity, split: str, at: tuple[Row, int | None], message: str) -> Finding:
        row, line = at
        text = f"{row.example.aspect}: {row.example.sentence}" if self._show_text else None
        return Finding(kind, severity, self._name, split, line, message, text)


def _at(line: int | None) -> str:
    return "" if line is None else f" in line {line}"
