"""Export: a store's newest model as one folder that others can run, published only if it answers as the store does."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from classic.data.demo import DEMO_DOMAINS, load_demo
from classic.errors import IncompatibleError, InputError, StoreError
from classic.export.parity import Limits, Parity, compare
from classic.files import sha256, sync_folder, write_bytes, write_json
from classic.learning.learner import load_learner
from classic.prediction.folding import Folded, can_fold, fold
from classic.prediction.predictor import Predictor
from classic.runtime.folder import CARD, MODEL, TOKENIZER, Card
from classic.store.store import Store
from classic.types import POLARITIES, Example, Scenario

KINDS = ("onnx", "int8", "hf")
_CALIBRATION = 64  # texts of each set that the steps of 8 bits are chosen on


def export_store(
    store: Store,
    folder: Path,
    kind: str = "onnx",
    *,
    version: int | None = None,
    domain: str | None = None,
    sets: Mapping[str, Sequence[Example]] | None = None,
    limits: Limits | None = None,
) -> Parity:
    """Writes a version's model into a new folder.

    Args:
        store: The store.
        folder: Where to; must not exist.
        kind: ``onnx`` (32 bits), ``int8`` (8 bits), or ``hf`` (a folder for plain transformers).
        version: Which version; the current one if none is given.
        domain: Whose model, in a store that learns task-incrementally.
        sets: Texts both are asked about, by name; test sets of the demo domains if none are given.
        limits: How far they may differ; the usual limits of the kind if none are given.

    Returns:
        How the export compares with the store.

    Raises:
        ParityError: They differ by more than the limits; then nothing is written.
    """
    if kind not in KINDS:
        raise InputError(f"export format {kind!r}", fix=f"use one of {', '.join(KINDS)}")
    if folder.exists():
        raise InputError(f"{folder} exists already", fix="choose another folder, or delete that one")
    number = store.current if version is None else version
    learner = load_learner(store, number)
    asked = Predictor(learner, number, folded=False)
    asked.check_domain(domain)
    if not can_fold(learner.method):
        raise IncompatibleError(
            f"a system of method {learner.config.method!r} on backbone {learner.config.backbone!r} cannot be exported: "
            "it does not answer with one plain network of the BERT family",
            fix="ask the store itself with `classic predict`",
        )
    if domain is not None and learner.config.scenario is Scenario.DIL:
        raise InputError("this store answers with its newest model, whatever the domain", fix="leave the domain out")
    folded = fold(learner, None if domain is None else learner.domains.index(domain))
    texts = "the test sets that were given" if sets else "the test sets of the demo domains, written for this package"
    sets = sets or {name: load_demo(name).test for name in DEMO_DOMAINS}
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        if kind == "hf":
            from classic.export.huggingface import answers_of, write_folder

            write_folder(folded, learner, partial)
            answers = answers_of(partial, folded)
        else:
            card = Card(
                kind=kind,
                version=number,
                digest=store.digest(number),
                domains=list(learner.domains),
                domain=domain,
                labels=[str(polarity) for polarity in POLARITIES],
                temperature=learner.temperature,
                reach=learner.map.reach.tolist(),
                max_length=folded.tokenizer.max_length,
                segments=folded.tokenizer.segments,
                pad_id=folded.tokenizer.pad_id,
                parity={},
                files={},
            )
            card = _write_model(folded, learner.map, card, learner.config.backbone_config["encoder"], partial)
            from classic.runtime import ExportedPredictor

            exported = ExportedPredictor(partial)
            answers = lambda examples: exported.logits(list(examples))  # noqa: E731
        parity = compare(lambda given: asked.logits(list(given), domain).numpy(), answers, sets, texts)
        parity.require(limits or Limits.of(kind))
        if kind != "hf":
            write_json(partial / CARD, replace(card, parity=parity.to_dict()).to_dict())
        partial.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}", fix="choose another place") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return parity


def _write_model(folded: Folded, domains: Any, card: Card, encoder: str, folder: Path) -> Card:
    """Writes model, tokenizer and card; returns the card."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise InputError(f"exporting needs {error.name}", fix="pip install 'classic-asc[export]'") from None
    from classic.backbones.encoder import encoder_folder
    from classic.export.graph import write_graph
    from classic.export.rounding import choose_ranges

    tokenizer = encoder_folder(encoder) / TOKENIZER
    if not tokenizer.is_file():
        raise IncompatibleError(
            f"encoder {encoder!r} has no {TOKENIZER}, which the runtime reads",
            fix="save its fast tokenizer beside it with save_pretrained",
        )
    ranges = None
    if card.kind == "int8":
        texts = [example for name in DEMO_DOMAINS for example in load_demo(name).train[:_CALIBRATION]]
        ranges = choose_ranges(folded, texts)
    write_bytes(folder / MODEL, write_graph(folded, domains, ranges).SerializeToString())
    shutil.copyfile(tokenizer, folder / TOKENIZER)
    card = replace(card, files={name: sha256(folder / name) for name in (MODEL, TOKENIZER)})
    write_json(folder / CARD, card.to_dict())
    return card
