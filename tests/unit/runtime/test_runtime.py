"""The torch-free predictor: the same answers, whole files only."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from classic.errors import InputError, StoreError
from classic.export import export_store
from classic.prediction.bulk import RowPredictor
from classic.prediction.predictor import Predictor
from classic.runtime import ExportedPredictor
from classic.runtime.batches import like_length
from classic.store.store import Store
from classic.types import Example, Task

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

REPEATED = "the soup is good but this soup is awful and broken"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, taught_path: Path) -> Path:
    target = tmp_path_factory.mktemp("export") / "toy.onnx"
    export_store(Store.open(taught_path), target)
    return target


@pytest.fixture(scope="module")
def predictor(folder: Path) -> ExportedPredictor:
    return ExportedPredictor(folder, threads=1)


@pytest.fixture(scope="module")
def texts(toy_tasks: tuple[Task, ...]) -> list[Example]:
    own = [example for task in toy_tasks for example in task.test]
    far = Example("zq9 zq9 zq9 xj8 xj8 vk7 vk7", "xj8")
    return [*own, Example(f"{REPEATED} " * 10, "soup"), Example(REPEATED, "soup", None, (26, 30)), far]


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_answers_are_those_of_the_store(
    predictor: ExportedPredictor, taught_path: Path, texts: list[Example], batch_size: int
) -> None:
    ours, theirs = predictor.stream(texts, batch_size=batch_size), Predictor.open(taught_path).stream(texts)
    for left, right in zip(ours, theirs, strict=True):
        same = ["sentence", "aspect", "span", "polarity", "nearest_domain", "unfamiliar", "truncated", "version"]
        assert [getattr(left, name) for name in same] == [getattr(right, name) for name in same]
        np.testing.assert_allclose(left.probabilities, right.probabilities, atol=1e-5)


def test_the_texts_ask_for_everything(predictor: ExportedPredictor, texts: list[Example]) -> None:
    answers = list(predictor.stream(texts))
    assert {answer.truncated for answer in answers} == {answer.unfamiliar for answer in answers} == {True, False}
    assert len({answer.nearest_domain for answer in answers}) > 1


def test_a_repeated_aspect_is_told_apart_by_its_span(predictor: ExportedPredictor) -> None:
    first, second = predictor.predict(REPEATED, [(4, 8), (26, 30)])
    assert first.probabilities != second.probabilities


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_flipped_bit_is_never_taken_up(folder: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(StoreError, match=f"{name} is damaged"):
        ExportedPredictor(copy)


@pytest.mark.parametrize("change", [{"format": 2}, {"surprise": 1}, {"labels": None}])
def test_a_card_of_another_kind_is_refused(folder: Path, tmp_path: Path, change: dict[str, object]) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    card = json.loads((copy / "classic.json").read_text())
    if change == {"labels": None}:
        del card["labels"]
    else:
        card |= change
    (copy / "classic.json").write_text(json.dumps(card))
    with pytest.raises(StoreError, match="of another format"):
        ExportedPredictor(copy)


def test_what_cannot_be_asked_is_refused(predictor: ExportedPredictor, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no exported model"):
        ExportedPredictor(tmp_path)
    with pytest.raises(InputError, match="0 threads"):
        ExportedPredictor(folder, threads=0)
    with pytest.raises(InputError, match="it knows screen, soup, lens"):
        predictor.predict("the screen", ["screen"], domain="pasta")
    with pytest.raises(InputError, match="newest model"):
        predictor.predict("the screen", ["screen"], domain="soup")


def test_rows_of_a_ray_dataset_get_the_same_answers(
    folder: Path, predictor: ExportedPredictor, texts: list[Example]
) -> None:
    plain = [Example(example.sentence, example.aspect) for example in texts]
    columns = {
        name: np.array([getattr(example, name) for example in plain], dtype=object) for name in ("sentence", "aspect")
    }
    found = RowPredictor(str(folder))(columns)
    expected = list(predictor.stream(plain))
    assert found["polarity"] == [answer.polarity for answer in expected]
    assert found["nearest_domain"] == [answer.nearest_domain for answer in expected]
    assert RowPredictor(str(folder))({"sentence": [], "aspect": []}) == {}


@pytest.mark.parametrize(("batch_size", "tokens"), [(1, 9), (3, 1000), (100, 12), (100, 1)])
def test_batches_hold_like_lengths_and_no_more_than_they_may(batch_size: int, tokens: int) -> None:
    lengths = [5, 2, 9, 2, 30, 1, 4, 4]
    batches = list(like_length(lengths, batch_size, tokens))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert [lengths[row] for batch in batches for row in batch] == sorted(lengths)
    for batch in batches:
        assert len(batch) <= batch_size
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= tokens
