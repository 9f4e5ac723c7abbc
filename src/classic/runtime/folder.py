"""What an exported folder holds, and reading it with every file checked.

model.onnx        the network and the domain map
finder.onnx       what finds aspects, of a store that does
tokenizer.json    the encoder's; finder_tokenizer.json that of the finder's encoder, where it is another
classic.json      everything else: domains, temperature, what the export was found to be equal to, sha256 of the files
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from classic.errors import StoreError
from classic.files import sha256

FORMAT = 1
CARD, MODEL, FINDER, TOKENIZER = "classic.json", "model.onnx", "finder.onnx", "tokenizer.json"
FINDER_TOKENIZER = "finder_tokenizer.json"


@dataclass(frozen=True)
class Card:
    """An exported model.

    Attributes:
        kind: ``onnx`` or ``int8``.
        version: The store's version it was made of.
        digest: The digest of that version.
        domains: The domains it has learned, in order.
        domain: The domain whose model it is, in a store that learns task-incrementally.
        labels: The polarities in the order of the logits.
        temperature: What logits are divided by.
        reach: Per domain, the distance beyond which a text is unlike it.
        max_length: Longest input in tokens.
        segments: Whether the encoder knows two segments.
        pad_id: The padding token.
        parity: How its answers compared with the store's when it was exported.
        files: sha256 of the other files.
        format: Of the folder.
        finder: How what it finds compared with what the store finds; none in a folder that cannot find aspects.
        marks: Whether the aspect's words in the sentence are marked.
    """

    kind: str
    version: int
    digest: str
    domains: list[str]
    domain: str | None
    labels: list[str]
    temperature: float
    reach: list[float]
    max_length: int
    segments: bool
    pad_id: int
    parity: dict[str, Any]
    files: dict[str, str]
    format: int = FORMAT
    finder: dict[str, Any] = field(default_factory=dict)
    marks: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def finder_tokenizer(card: Card) -> str:
    """The file of the tokenizer that the finder reads with."""
    return FINDER_TOKENIZER if FINDER_TOKENIZER in card.files else TOKENIZER


def is_exported(path: Path | str) -> bool:
    """Whether a folder holds an exported model."""
    return (Path(path) / CARD).is_file()


def read_card(folder: Path) -> Card:
    """The card of an exported folder whose files are all as they were written.

    Raises:
        StoreError: Something is missing, damaged, or of another format.
    """
    file = folder / CARD
    if not file.is_file():
        raise StoreError(f"{folder} is no exported model: it has no {CARD}", fix="make one with `classic export`")
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        known = {each.name for each in fields(Card)}
        if (
            not isinstance(values, dict)
            or values.get("format") != FORMAT
            or values.keys() | {"finder", "marks"} != known
        ):
            raise ValueError("of another format")
        card = Card(**values)
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{file} cannot be read ({error})", fix="export the store again") from None
    finding = {FINDER, finder_tokenizer(card)} if card.finder else set()
    for name in {MODEL, TOKENIZER} | finding:
        if not (folder / name).is_file() or sha256(folder / name) != card.files.get(name):
            raise StoreError(f"{folder / name} is damaged or missing", fix="export the store again")
    return card
