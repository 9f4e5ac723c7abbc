"""Export: published only if it answers as the store does, at every shape; refused with a sentence otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from classic.errors import IncompatibleError, InputError
from classic.export import export_store
from classic.export.graph import write_graph
from classic.export.parity import Limits, Parity, ParityError, compare
from classic.export.rounding import choose_ranges, fewer
from classic.learning.learner import load_learner, open_or_create
from classic.learning.teach import teach
from classic.prediction.folding import fold
from classic.prediction.predictor import Predictor
from classic.runtime import ExportedPredictor
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Example, Polarity, Scenario, Task

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

Tasks = tuple[Task, ...]
Make = Callable[..., SystemConfig]


@pytest.fixture(scope="module")
def texts(toy_tasks: Tasks) -> dict[str, tuple[Example, ...]]:
    return {task.name: task.test for task in toy_tasks[:3]}


def session(model: bytes) -> object:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(model, options)


@pytest.mark.parametrize("shape", [(1, 3), (1, 64), (2, 2), (7, 33), (33, 5)])
def test_every_shape_gives_the_logits_of_torch(taught_path: Path, shape: tuple[int, int]) -> None:
    import torch

    learner = load_learner(Store.open(taught_path))
    folded = fold(learner)
    run = session(write_graph(folded, learner.map).SerializeToString())
    draw = np.random.default_rng(0)
    inputs = {
        "input_ids": draw.integers(5, 40, shape),
        "attention_mask": (np.arange(shape[1]) < draw.integers(1, shape[1] + 1, (shape[0], 1))).astype(np.int64),
        "token_type_ids": draw.integers(0, 2, shape),
    }
    with torch.inference_mode():
        logits, surface = folded(**{name: torch.from_numpy(value) for name, value in inputs.items()})
        distances = learner.map.distances(surface)
    found = run.run(None, inputs)  # type: ignore[attr-defined]
    np.testing.assert_allclose(found[0], logits, atol=1e-5)
    np.testing.assert_allclose(found[1], distances, atol=1e-3)


def test_features_at_the_aspect_are_exported_as_they_are_in_the_store(
    tmp_path: Path, tiny_system: Make, toy_tasks: Tasks
) -> None:
    store = open_or_create(tmp_path / "store", tiny_system(changes={"backbone.pooling": "aspect"}))
    teach(store, toy_tasks[0])
    sentence = "so good screen and bad screen"
    asked = [Example(sentence, "screen", None, (8, 14)), Example(sentence, "screen", None, (23, 29))]
    asked += [Example(sentence, "screen"), Example(sentence, "battery")]  # both of them, and none
    parity = export_store(store, tmp_path / "out", sets={"screen": toy_tasks[0].test + tuple(asked)})
    assert parity.flips == 0 and parity.gap < 1e-5
    told = ExportedPredictor(tmp_path / "out").logits(asked)
    assert len(np.unique(told.round(5), axis=0)) == 4  # whose words are pooled is seen by the export, too


def test_parity_is_measured_and_kept_on_the_card(
    taught_path: Path, tmp_path: Path, texts: dict[str, tuple[Example, ...]]
) -> None:
    parity = export_store(Store.open(taught_path), tmp_path / "out", sets=texts)
    assert (parity.examples, parity.flips, parity.change) == (36, 0, 0.0)
    assert 0 < parity.gap < 1e-5
    assert ExportedPredictor(tmp_path / "out").card.parity == parity.to_dict()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out"]


def test_eight_bits_are_smaller_and_nearly_the_same(
    taught_path: Path, tmp_path: Path, texts: dict[str, tuple[Example, ...]]
) -> None:
    store, anything = Store.open(taught_path), Limits(9, 1, 1)
    export_store(store, tmp_path / "whole", sets=texts)
    parity = export_store(store, tmp_path / "small", "int8", sets=texts, limits=anything)
    sizes = [(tmp_path / name / "model.onnx").stat().st_size for name in ("whole", "small")]
    assert sizes[1] < 0.8 * sizes[0]
    assert 1e-6 < parity.gap < 0.1
    small, examples = ExportedPredictor(tmp_path / "small"), list(texts["soup"])
    alone = np.concatenate([small.logits([example]) for example in examples])
    np.testing.assert_allclose(small.logits(examples), alone, atol=1e-5)  # whatever else is in the batch


def test_layers_that_round_badly_stay_in_32_bits(
    taught_path: Path, texts: dict[str, tuple[Example, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folded = fold(load_learner(Store.open(taught_path)))
    monkeypatch.setattr("classic.export.rounding._TOLERANCE", 0.0)
    assert choose_ranges(folded, texts["soup"]) == {}
    monkeypatch.setattr("classic.export.rounding._TOLERANCE", 1.0)
    assert len(choose_ranges(folded, texts["soup"])) == 2 * 8


def test_the_most_sensitive_layers_go_back_to_32_bits_until_the_gate_lets_the_rest_pass(
    taught_path: Path, tmp_path: Path, texts: dict[str, tuple[Example, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def beyond(parity: Parity, _: Limits) -> list[str]:
        tried.append(parity.rounded)
        return ["too many changed"] if parity.rounded > 10 else []

    monkeypatch.setattr("classic.export.rounding._TOLERANCE", 1.0)
    monkeypatch.setattr(Parity, "beyond", beyond)
    export_store(Store.open(taught_path), tmp_path / "out", "int8", sets=texts, calibration=texts["soup"])
    assert tried == [16, 14, 11, 8, 8]  # the last is the gate's own word
    card = ExportedPredictor(tmp_path / "out").card
    assert (card.parity["rounded"], card.parity["layers"]) == (8, 16)


def test_the_least_sensitive_layers_come_first(taught_path: Path, texts: dict[str, tuple[Example, ...]]) -> None:
    folded = fold(load_learner(Store.open(taught_path)))
    ranges = choose_ranges(folded, texts["soup"])
    parts = list(fewer(ranges))
    assert list(parts[0]) == list(ranges) and len(parts[-1]) < len(parts[0])
    assert all(list(part) == list(ranges)[: len(part)] for part in parts)


def test_beyond_the_limits_nothing_is_written(
    taught_path: Path, tmp_path: Path, texts: dict[str, tuple[Example, ...]]
) -> None:
    with pytest.raises(ParityError, match="a logit differs by"):
        export_store(Store.open(taught_path), tmp_path / "out", "int8", sets=texts, limits=Limits(1e-9, 1, 1))
    assert list(tmp_path.iterdir()) == []


def test_flips_and_a_fall_of_the_score_are_told() -> None:
    examples = [Example("s", "a", polarity) for polarity in (Polarity.POSITIVE, Polarity.NEGATIVE)]
    right, wrong = np.array([[1, 0, 0], [0, 1, 0]], np.float32), np.array([[1, 0, 0], [2, 1, 0]], np.float32)
    parity = compare(lambda _: right, lambda _: wrong, {"set": examples}, "texts")
    assert (parity.gap, parity.flips, parity.store_f1) == (2.0, 1, 1.0)
    assert parity.change == pytest.approx(-2 / 3)
    with pytest.raises(ParityError, match=r"1 of 2 answers changed.*own F1 fell by 0\.6667"):
        parity.require(Limits(9, 0.1, 0.1))
    parity.require(Limits(9, 0.5, 0.7))


def test_unlabelled_texts_have_no_score() -> None:
    logits = np.zeros((1, 3), np.float32)
    assert compare(lambda _: logits, lambda _: logits, {"set": [Example("s", "a")]}, "texts").store_f1 is None


def test_the_model_of_a_told_domain(tmp_path: Path, tiny_system: Make, toy_tasks: Tasks) -> None:
    config = tiny_system(scenario=Scenario.TIL, changes={"backbone.width": 8, "train.epochs": 1})
    store = open_or_create(tmp_path / "til", config)
    for task in toy_tasks[:2]:
        teach(store, task)
    with pytest.raises(InputError, match="must be told the domain"):
        export_store(store, tmp_path / "out")
    export_store(store, tmp_path / "out", domain="soup", sets={"soup": toy_tasks[1].test})
    exported = ExportedPredictor(tmp_path / "out")
    with pytest.raises(InputError, match="exported for the domain 'soup'"):
        exported.predict("the soup is good", ["soup"])
    (ours,) = exported.predict("the soup is good", ["soup"], domain="soup")
    (theirs,) = Predictor.open(store).predict("the soup is good", ["soup"], domain="soup")
    np.testing.assert_allclose(ours.probabilities, theirs.probabilities, atol=1e-5)


def test_what_cannot_be_exported_is_refused(taught_path: Path, tmp_path: Path) -> None:
    store = Store.open(taught_path)
    with pytest.raises(InputError, match="export format 'tflite'"):
        export_store(store, tmp_path / "out", "tflite")
    with pytest.raises(InputError, match="exists already"):
        export_store(store, tmp_path)
    with pytest.raises(InputError, match="whatever the domain"):
        export_store(store, tmp_path / "out", domain="soup")
    with pytest.raises(
        IncompatibleError, match="no class of transformers computes the adapters of a model on backbone"
    ):
        export_store(store, tmp_path / "out", "hf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("pooling", ["cls", "pooler"])
def test_a_fine_tuned_bert_loads_with_plain_transformers(
    tmp_path: Path, tiny_encoder: Path, toy_tasks: Tasks, pooling: str
) -> None:
    from transformers import pipeline

    changes = {"backbone.encoder": str(tiny_encoder), "backbone.pooling": pooling, "train.epochs": 1}
    config = SystemConfig.preset(method="ncl", backbone="bert", changes=changes | {"train.batch_size": 8})
    store = open_or_create(tmp_path / "store", config)
    teach(store, toy_tasks[0])
    parity = export_store(store, tmp_path / "out", "hf", sets={"screen": toy_tasks[0].test})
    assert parity.gap < 1e-5
    classify = pipeline("text-classification", model=str(tmp_path / "out"), device="cpu")
    sentence = "the screen is good"
    says = classify({"text": "screen", "text_pair": sentence})
    (ours,) = Predictor.open(store).predict(sentence, ["screen"])
    assert (says[0] if isinstance(says, list) else says)["label"] == ours.polarity


def test_a_mean_of_tokens_is_not_what_plain_transformers_reads(
    tmp_path: Path, tiny_encoder: Path, toy_tasks: Tasks
) -> None:
    changes = {"backbone.encoder": str(tiny_encoder), "train.epochs": 1, "train.batch_size": 8}
    store = open_or_create(tmp_path / "store", SystemConfig.preset(method="ncl", backbone="bert", changes=changes))
    teach(store, toy_tasks[0])
    with pytest.raises(IncompatibleError, match="reads the mean"):
        export_store(store, tmp_path / "out", "hf")
    assert export_store(store, tmp_path / "out", "onnx", sets={"screen": toy_tasks[0].test}).flips == 0


def test_relatives_of_bert_say_the_same(tmp_path: Path, relative: Path, tiny_system: Make, toy_tasks: Tasks) -> None:
    config = tiny_system(changes={"backbone.encoder": str(relative), "backbone.width": 8, "train.epochs": 1})
    store = open_or_create(tmp_path / "store", config)
    teach(store, toy_tasks[0])
    sets = {
        "short": toy_tasks[0].test,
        "long": [Example(f"{e.sentence} and so on", e.aspect) for e in toy_tasks[1].test],
    }
    assert export_store(store, tmp_path / "out", sets=sets).gap < 1e-5


def test_the_gap_is_the_largest_of_all_sets_not_of_the_last() -> None:
    far, near = [Example("a far one", "one")], [Example("a near one", "one")]
    store = {id(far): np.zeros((1, 3), np.float32), id(near): np.zeros((1, 3), np.float32)}
    export = {id(far): np.full((1, 3), 0.5, np.float32), id(near): np.full((1, 3), 0.1, np.float32)}
    for sets in ({"far": far, "near": near}, {"near": near, "far": far}):
        found = compare(lambda rows: store[id(rows)], lambda rows: export[id(rows)], sets, "texts")
        assert (found.gap, found.examples) == (0.5, 2)
