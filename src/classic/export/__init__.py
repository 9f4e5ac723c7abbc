"""Export: a store's newest model as one folder that others can run, published only if it answers as the store does."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from torch import nn

from classic.data.demo import DEMO_DOMAINS, load_demo
from classic.errors import IncompatibleError, InputError, StoreError
from classic.export.graph import Range
from classic.export.parity import Gate, Limits, Logits, Parity
from classic.files import sha256, sync_folder, write_bytes, write_json
from classic.learning.learner import load_learner
from classic.modules.domain_map import DomainMap
from classic.prediction.folding import Folded, can_fold, fold
from classic.prediction.predictor import Predictor
from classic.runtime.folder import CARD, FINDER, FINDER_TOKENIZER, MODEL, TOKENIZER, Card, read_card
from classic.store.store import Store
from classic.types import POLARITIES, Example, Scenario

KINDS = ("onnx", "int8", "hf")
_CALIBRATION = 64  # texts of each demo domain that the steps of 8 bits are chosen on
_FOUND_IN = 256  # sentences that both finders are asked about
_MOST_CALIBRATION = 512  # of those that somebody gives


def export_store(
    store: Store,
    folder: Path,
    kind: str = "onnx",
    *,
    version: int | None = None,
    domain: str | None = None,
    sets: Mapping[str, Sequence[Example]] | None = None,
    limits: Limits | None = None,
    calibration: Sequence[Example] | None = None,
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
        calibration: Texts that the steps of 8 bits are chosen on, a few hundred like those it will be asked about; texts of
            the demo domains if none are given. They may not be among `sets`: those are for the comparison.

    Returns:
        How the export compares with the store.

    Raises:
        ParityError: They differ by more than the limits; then nothing is written.
    """
    if kind not in KINDS:
        raise InputError(f"export format {kind!r}", fix=f"use one of {', '.join(KINDS)}")
    if folder.exists():
        raise InputError(f"{folder} exists already", fix="choose another folder, or delete that one")
    if kind != "hf":
        _need_onnx()
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
    if kind == "hf":
        from classic.export.huggingface import require_plain

        require_plain(folded, learner)
    texts = "the test sets that were given" if sets else "the test sets of the demo domains, written for this package"
    gate = Gate(
        lambda given: asked.logits(list(given), domain).numpy(),
        sets or {name: load_demo(name).test for name in DEMO_DOMAINS},
        texts,
        limits or Limits.of(kind),
    )
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        if kind == "hf":
            from classic.export.huggingface import answers_of, write_folder

            write_folder(folded, learner, partial)
            parity = gate.check(answers_of(partial, folded))
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
                marks=folded.tokenizer.marks,
                pad_id=folded.tokenizer.pad_id,
                parity={},
                files={},
            )
            encoder = learner.config.backbone_config["encoder"]
            if kind == "int8":
                parity = _write_rounded(folded, learner.map, card, encoder, partial, gate, calibration)
            else:
                _write_model(folded, learner.map, card, encoder, partial, None)
                parity = gate.check(_answers(partial))
            card = replace(read_card(partial), parity=parity.to_dict())
            if learner.finder and learner.finder.tensors is not None:
                from classic.export.finder import export_finder

                asked_about = [example.sentence for given in gate.sets.values() for example in given]
                told = export_finder(
                    learner.finder, partial, list(dict.fromkeys(asked_about))[:_FOUND_IN], rounded=kind == "int8"
                )
                own = {
                    name: sha256(partial / name) for name in (FINDER, FINDER_TOKENIZER) if (partial / name).is_file()
                }
                card = replace(card, finder=told, files=card.files | own)
            write_json(partial / CARD, card.to_dict())
        partial.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}", fix="choose another place") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return parity


def _answers(folder: Path) -> Logits:
    from classic.runtime import ExportedPredictor

    exported = ExportedPredictor(folder)
    return lambda examples: exported.logits(list(examples))


def _write_rounded(
    folded: Folded,
    domains: DomainMap,
    card: Card,
    encoder: str,
    folder: Path,
    gate: Gate,
    calibration: Sequence[Example] | None,
) -> Parity:
    """Writes as many layers in 8 bits as the gate lets pass; fewer and fewer are tried, the most sensitive go first."""
    from classic.export.rounding import choose_ranges, fewer

    if calibration:
        step = max(1, len(calibration) // _MOST_CALIBRATION)  # of all of them, not of the first ones
        texts = list(calibration)[::step][:_MOST_CALIBRATION]
    else:
        texts = [example for name in DEMO_DOMAINS for example in load_demo(name).train[:_CALIBRATION]]
    ranges = choose_ranges(folded, texts)
    layers = sum(isinstance(module, nn.Linear) for module in folded.layers.modules())
    for rounded in fewer(ranges):
        _write_model(folded, domains, card, encoder, folder, rounded)
        parity = replace(gate.compare(_answers(folder)), rounded=len(rounded), layers=layers)
        if not parity.beyond(gate.limits):
            break
    parity.require(gate.limits)
    return parity


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise InputError(f"exporting needs {error.name}", fix="pip install 'classic-asc[export]'") from None


def _write_model(
    folded: Folded, domains: DomainMap, card: Card, encoder: str, folder: Path, ranges: dict[str, Range] | None
) -> None:
    """Writes model, tokenizer and card."""
    from classic.backbones.encoder import encoder_folder
    from classic.export.graph import write_graph

    tokenizer = encoder_folder(encoder) / TOKENIZER
    if not tokenizer.is_file():
        raise IncompatibleError(
            f"encoder {encoder!r} has no {TOKENIZER}, which the runtime reads",
            fix="save its fast tokenizer beside it with save_pretrained",
        )
    write_bytes(folder / MODEL, write_graph(folded, domains, ranges).SerializeToString())
    shutil.copyfile(tokenizer, folder / TOKENIZER)
    files = {name: sha256(folder / name) for name in (MODEL, TOKENIZER)}
    write_json(folder / CARD, replace(card, files=files).to_dict())
