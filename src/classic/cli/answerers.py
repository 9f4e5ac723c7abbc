"""Who answers: a store, an exported folder, or the starter. What `predict`, `find` and `summarise` open alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classic.cli.options import prepare_torch
from classic.errors import InputError

if TYPE_CHECKING:
    from classic.runtime.answering import Answering
    from classic.runtime.folder import Card

_FORMS = ("jsonl", "csv", "parquet")

Opener = tuple[Callable[[], "Answering"], dict[str, Any]]


def opener(
    of: Path | None,
    version: int | None,
    threads: int | None,
    device: str,
    *,
    told: bool,
    finding: bool = False,
    encoder: str | None = None,
) -> Opener:
    """How to open who answers, and what tells it from any other.

    Args:
        of: A store or an exported folder; None is the starter.
        version: Of a store; None is the one that answers now.
        threads: Of torch, or of the export's runtime; None is as many as are free.
        device: Where it is computed.
        told: Whether the domain is told, which an export cannot hear.
        finding: Whether it must find aspects.
        encoder: The starter's.
    """
    return (
        _starter(version, threads, device, encoder)
        if of is None
        else _store(of, version, threads, device, told=told, finding=finding, encoder=encoder)
    )


def _store(
    store: Path,
    version: int | None,
    threads: int | None,
    device: str,
    *,
    told: bool,
    finding: bool,
    encoder: str | None,
) -> Opener:
    """A store or an exported folder.

    A store answers from the export that is kept beside its version, if there is one: it was found to answer the same, and
    needs no torch. It cannot be told a domain, is for the CPU, and finds only if it was made with the finder.
    """
    from classic.runtime.folder import is_exported, read_card

    if encoder is not None:
        raise InputError(
            "--encoder chooses a starter, and a store has an encoder of its own",
            fix="leave out --encoder, or the store",
        )
    if is_exported(store):
        if version is not None:
            raise InputError("an exported folder holds one version", fix="leave --version out, or name the store")
        return _exported(store, read_card(store), threads)
    from classic.prediction.kept import find_kept
    from classic.store.store import Store

    opened = Store.open(store)
    number = opened.version(version).number
    kept = find_kept(opened, number) if device in ("auto", "cpu") and not told else None
    if kept is not None and finding and not kept[1].finder:
        kept = None
    if kept is not None and (device == "cpu" or not Path("/dev/nvidiactl").exists()):
        for each in [0, *(one.number for one in opened.chain(number))]:
            opened.check_version(each)  # a damaged store is named, whoever answers for it
        return _exported(*kept, threads)

    def open_store() -> Answering:
        where = prepare_torch(threads, device)
        from classic.prediction.predictor import Predictor

        return Predictor.open(opened, number, where)

    job = {"digest": opened.digest(number), "device": device, "threads": threads}
    return open_store, job


def _starter(version: int | None, threads: int | None, device: str, encoder: str | None) -> Opener:
    """The starter instead of a store: the one over this encoder, or over the embedded one."""
    if version is not None:
        raise InputError(
            f"there is no store whose version {version} could be asked", fix="name the store, or leave --version out"
        )

    def open_starter() -> Answering:
        where = prepare_torch(threads, device)
        from classic.learning.starter import starter_learner, starter_over
        from classic.prediction.predictor import Predictor

        return Predictor(starter_learner(starter_over(encoder) if encoder else None, where), 1, where)

    job = {"starter": True, "device": device, "threads": threads}
    return open_starter, job | ({"encoder": encoder} if encoder else {})


def _exported(folder: Path, card: Card, threads: int | None) -> Opener:
    def open_exported() -> Answering:
        from classic.runtime import ExportedPredictor

        return ExportedPredictor(folder, threads, card)

    return open_exported, {"digest": card.digest, "kind": card.kind, "model": card.files}


def answers_format(form: str | None, out: Path | None, as_json: bool) -> str | None:
    """The format of the answers: that of --format, or that of the file's ending. They must not contradict each other."""
    ending = out.suffix.removeprefix(".").lower() if out is not None else None
    if form is not None and ending in _FORMS and ending != form:
        raise InputError(
            f"--format {form} for a file that ends in .{ending}", fix="leave --format out, or rename the file"
        )
    form = form or ending
    if form not in (None, *_FORMS) or (form == "parquet" and out is None):
        raise InputError(f"output format {form!r}", fix="use jsonl or csv, or a file that ends in .parquet")
    if as_json and form not in (None, "jsonl"):
        raise InputError(f"--json, but the answers are to be {form}", fix="leave --json out")
    return form
