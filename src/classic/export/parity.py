"""The gate before an export is published: does the exported model answer as the store does?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from classic.errors import ClassicError
from classic.evaluation.metrics import macro_f1
from classic.types import Example

Array = np.ndarray[Any, np.dtype[np.float32]]
Logits = Callable[[Sequence[Example]], Array]


class ParityError(ClassicError):
    """An exported model does not answer as the store does, so it was not published."""


@dataclass(frozen=True)
class Limits:
    """How far an exported model may be from the store.

    Attributes:
        gap: Largest difference of two logits.
        flips: Largest share of answers with another polarity.
        drop: Largest fall of the mean macro-F1 over each set's own classes.
    """

    gap: float
    flips: float
    drop: float

    @classmethod
    def of(cls, kind: str) -> Limits:
        """The usual limits: in 32 bits nothing may change; in 8 bits one answer in a hundred, and a point."""
        return cls(gap=float("inf"), flips=0.01, drop=0.01) if kind == "int8" else cls(gap=1e-4, flips=0.0, drop=0.0)


@dataclass(frozen=True)
class Parity:
    """How an exported model compares with the store.

    Attributes:
        texts: Where the texts come from.
        examples: How many there are.
        gap: Largest difference of two logits.
        flips: How many answers have another polarity.
        store_f1: Mean macro-F1 of the store over the labelled sets, each over its own classes; None without labels.
        export_f1: The same of the export.
        rounded: How many layers are computed in 8 bits.
        layers: How many there are; 0 where nothing was to be rounded.
    """

    texts: str
    examples: int
    gap: float
    flips: int
    store_f1: float | None
    export_f1: float | None
    rounded: int = 0
    layers: int = 0

    @property
    def change(self) -> float:
        """Of the own F1; negative is worse."""
        return 0.0 if self.store_f1 is None or self.export_f1 is None else self.export_f1 - self.store_f1

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def beyond(self, limits: Limits) -> list[str]:
        """By how much each limit is passed that is; empty if none is."""
        found = []
        if self.gap > limits.gap:
            found.append(f"a logit differs by {self.gap:.2g} (at most {limits.gap:.2g})")
        if self.flips > limits.flips * self.examples:
            found.append(f"{self.flips} of {self.examples} answers changed (at most {limits.flips:.2%})")
        if -self.change > limits.drop:
            found.append(f"own F1 fell by {-self.change:.4f} (at most {limits.drop:.4f})")
        return found

    def require(self, limits: Limits) -> None:
        """Refuses what lies beyond the limits.

        Raises:
            ParityError: It does; the message says by how much.
        """
        if beyond := self.beyond(limits):
            raise ParityError(
                f"the exported model does not answer as the store does: {'; '.join(beyond)}; nothing was written",
                fix="use another format, or raise the limit if you can live with it (--max-gap, --max-flips, --max-drop)",
            )


class Gate:
    """The store's answers to some texts, asked for once, and how far an export may be from them.

    Args:
        store: The store's logits for some examples.
        sets: Examples by name; a set counts for the macro-F1 if it is labelled.
        texts: Where they come from.
        limits: How far.
    """

    def __init__(self, store: Logits, sets: Mapping[str, Sequence[Example]], texts: str, limits: Limits) -> None:
        self.sets, self._texts, self.limits = sets, texts, limits
        self._answers = [store(examples) for examples in sets.values()]

    def compare(self, export: Logits) -> Parity:
        """Asks an export about the same texts."""
        answers = iter(self._answers)
        return compare(lambda _: next(answers), export, self.sets, self._texts)

    def check(self, export: Logits) -> Parity:
        """The same, and refuses what lies beyond the limits.

        Raises:
            ParityError: It does.
        """
        parity = self.compare(export)
        parity.require(self.limits)
        return parity


def compare(store: Logits, export: Logits, sets: Mapping[str, Sequence[Example]], texts: str) -> Parity:
    """Asks both about the same texts.

    Args:
        store: The store's logits for some examples.
        export: The export's.
        sets: Examples by name; a set counts for the macro-F1 if it is labelled.
        texts: Where they come from.
    """
    gap, flips, total = 0.0, 0, 0
    scores: list[tuple[float, float]] = []
    for examples in sets.values():
        before, after = store(examples), export(examples)
        gap = max(gap, float(np.abs(before - after).max()))
        said, says = before.argmax(axis=1), after.argmax(axis=1)
        flips, total = flips + int((said != says).sum()), total + len(examples)
        true = [example.polarity.column for example in examples if example.polarity is not None]
        if len(true) == len(examples):
            own = sorted(set(true))
            scores.append((macro_f1(true, said.tolist(), labels=own), macro_f1(true, says.tolist(), labels=own)))
    before_f1, after_f1 = (
        (sum(column) / len(scores) for column in zip(*scores, strict=True)) if scores else (None, None)
    )
    return Parity(texts, total, gap, flips, before_f1, after_f1)
