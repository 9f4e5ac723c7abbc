"""Forgetting a domain exactly: back to the version before it, and nothing of it left.

A domain cannot be taken out of the middle: later domains grew from it. They go, too, and must be taught again by whoever
has their data. What is left is, byte for byte, the store from before the domain was learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from classic.errors import InputError, StoreError
from classic.store.store import Store


@dataclass(frozen=True)
class Deletion:
    """What was done.

    Attributes:
        domain: The domain that is forgotten.
        version: The version that is in use now: the one before it.
        gone: Versions that were deleted.
        again: Domains learned later that must be taught again, in their order.
        sha256: The digest now; the same the version had before.
        scores: Score files in which the name stood.
    """

    domain: str
    version: int
    gone: list[int]
    again: list[str]
    sha256: str
    scores: list[str]


def delete_domain(store: Store, domain: str) -> Deletion:
    """Forgets a domain. May be repeated after a kill: what is done already is found done.

    Raises:
        BusyError: If another process is changing the store.
        InputError: If nothing in the store bears this name.
        StoreError: If the store is not, to the bit, what it was before the domain.
    """
    with store.lock():  # all of it: what another one published meanwhile would go unseen
        return _delete(store, domain)


def versions_that_go(store: Store, domain: str) -> list[int]:
    """What `delete_domain` would delete: all that the version before the domain is not made of, other domains' included.

    Raises:
        InputError: If nothing in the store bears this name.
    """
    place = _find(store, domain)
    kept = {0, *(version.number for version in store.chain()[:place])}
    return [number for number in store.numbers() if number not in kept]


def _find(store: Store, domain: str) -> int | None:
    """The domain's place in the chain in use; None if it stands aside or only its name is left."""
    chain = store.chain()
    place = next((place for place, version in enumerate(chain) if version.domain == domain), None)
    aside = [number for number in store.numbers() if number and store.version(number).domain == domain]
    mentioned = [number for number in store.numbers() if _mentions(store, number, domain)]
    if place is None and not aside and not mentioned:
        known = ", ".join(version.domain for version in chain) or "nothing yet"
        raise InputError(f"{store.path} has not learned a domain {domain!r}", fix=f"it knows {known}")
    return place


def _delete(store: Store, domain: str) -> Deletion:
    chain, place = store.chain(), _find(store, domain)
    kept = chain[:place]
    base = kept[-1].number if kept else 0
    promised = store.digest(base)
    if place is not None:
        store.rollback(base)
    gone = store.prune()
    files = _clean_scores(store, domain)
    found = store.verify()
    if found != promised or domain in store.domains():
        raise StoreError(f"{store.path} is not what it was before {domain!r}", fix="restore a backup from before it")
    again = [] if place is None else [version.domain for version in chain[place + 1 :]]
    return Deletion(domain, base, gone, again, found, files)


def _score_names(store: Store, number: int, domain: str) -> list[str]:
    """Names of data sets a version was tested on that are the domain's: its own, and with a rule in brackets."""
    return [name for name in store.read_scores(number) if name == domain or name.startswith(f"{domain} (")]


def _mentions(store: Store, number: int, domain: str) -> bool:
    return bool(_score_names(store, number, domain))


def _clean_scores(store: Store, domain: str) -> list[str]:
    cleaned = []
    for number in store.numbers():
        names = _score_names(store, number, domain)
        if names:
            scores = store.read_scores(number)
            store.write_scores(number, {name: value for name, value in scores.items() if name not in names})
            cleaned.append(f"scores/{number:04d}.json")
    return cleaned


def files_with(folder: Path, needle: bytes) -> list[str]:
    """Files below a folder in which some bytes stand, or whose name they are part of."""
    found = []
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        if needle in name.encode() or (file.is_file() and needle in file.read_bytes()):
            found.append(name)
    return found
