"""The 19 domains of the paper as a table: their sources, their folders and their numbers of examples."""

from __future__ import annotations

from dataclasses import dataclass

from classic.errors import unknown_name

Counts = tuple[int, int, int]
"""How many examples are positive, negative and neutral."""


@dataclass(frozen=True, slots=True)
class Domain:
    """One of the paper's domains.

    Attributes:
        name: The name the paper's tables use.
        source: The collection it comes from: Liu3, HL5, Ding9 or SemEval14.
        folder: Where its train.json, dev.json and test.json lie, relative to the asc19 root.
        key: Its name in the authors' file of task orders.
        train: Positive, negative and neutral training examples, from the appendix of the paper.
        valid: The same for validation.
        test: The same for testing.
    """

    name: str
    source: str
    folder: str
    key: str
    train: Counts
    valid: Counts
    test: Counts

    @property
    def counts(self) -> dict[str, Counts]:
        """The three counts by the name of the split."""
        return {"train": self.train, "valid": self.valid, "test": self.test}


_COLLECTIONS = {
    "Liu3": ("Bing3Domains/asc", "Bing3domains"),
    "HL5": ("Bing5Domains/asc", "Bing5domains"),
    "Ding9": ("Bing9Domains/asc", "Bing9domains"),
    "SemEval14": ("XuSemEval/asc/14", "XuSemEval14"),
}


def _row(name: str, source: str, folder: str, *counts: Counts) -> Domain:
    parent, prefix = _COLLECTIONS[source]
    return Domain(name, source, f"{parent}/{folder}", f"{prefix}_{folder}", *counts)


DOMAINS: tuple[Domain, ...] = (
    _row("Speaker", "Liu3", "Speaker", (287, 65, 0), (35, 9, 0), (40, 4, 0)),
    _row("Router", "Liu3", "Router", (142, 103, 0), (19, 12, 0), (24, 7, 0)),
    _row("Computer", "Liu3", "Computer", (218, 65, 0), (23, 12, 0), (29, 7, 0)),
    _row("Nokia6610", "HL5", "Nokia6610", (198, 73, 0), (30, 4, 0), (25, 9, 0)),
    _row("Nikon4300", "HL5", "NikonCoolpix4300", (135, 27, 0), (18, 2, 0), (19, 2, 0)),
    _row("Creative", "HL5", "CreativeLabsNomadJukeboxZenXtra40GB", (422, 255, 0), (42, 43, 0), (52, 33, 0)),
    _row("CanonG3", "HL5", "CanonG3", (180, 48, 0), (21, 8, 0), (24, 5, 0)),
    _row("ApexAD", "HL5", "ApexAD2600Progressive", (146, 197, 0), (16, 27, 0), (31, 12, 0)),
    _row("CanonD500", "Ding9", "CanonPowerShotSD500", (96, 22, 0), (14, 1, 0), (11, 4, 0)),
    _row("Canon100", "Ding9", "CanonS100", (123, 52, 0), (20, 2, 0), (21, 1, 0)),
    _row("Diaper", "Ding9", "DiaperChamp", (143, 48, 0), (18, 6, 0), (22, 2, 0)),
    _row("Hitachi", "Ding9", "HitachiRouter", (153, 59, 0), (19, 7, 0), (14, 13, 0)),
    _row("Ipod", "Ding9", "ipod", (101, 52, 0), (14, 5, 0), (15, 5, 0)),
    _row("Linksys", "Ding9", "LinksysRouter", (128, 48, 0), (13, 9, 0), (16, 7, 0)),
    _row("MicroMP3", "Ding9", "MicroMP3", (340, 144, 0), (48, 13, 0), (39, 22, 0)),
    _row("Nokia6600", "Ding9", "Nokia6600", (244, 118, 0), (32, 13, 0), (30, 16, 0)),
    _row("Norton", "Ding9", "Norton", (54, 140, 0), (15, 9, 0), (5, 20, 0)),
    _row("Rest", "SemEval14", "rest", (2094, 779, 579), (70, 26, 54), (728, 196, 196)),
    _row("Laptop", "SemEval14", "laptop", (930, 800, 433), (57, 66, 27), (341, 128, 169)),
)


def domain(name: str) -> Domain:
    """Finds a domain by the paper's name, its folder or its key in the order file, in any case.

    Raises:
        InputError: There is no such domain; the message suggests the nearest name.
    """
    wanted = name.strip().rstrip(".").casefold()
    for entry in DOMAINS:
        folder = entry.folder.casefold()
        if wanted in (entry.name.casefold(), entry.key.casefold(), folder, folder.rpartition("/")[2]):
            return entry
    raise unknown_name("domain", name, [entry.name for entry in DOMAINS])
