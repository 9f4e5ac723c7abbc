"""The finder from a lesson to an answer, over a tiny encoder."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from classic.data.marked import Marked, marked_of
from classic.data.starter import STARTER
from classic.errors import InputError, StoreError
from classic.evaluation.aspects import count_aspects
from classic.export import export_store
from classic.export.parity import Limits
from classic.finding import training
from classic.finding.finder import Finder, FinderConfig
from classic.finding.kept import KeptFinder
from classic.finding.marking import mark
from classic.finding.training import _lessons, labels_of, learn
from classic.learning.learner import load_learner, open_or_create
from classic.learning.teach import _learn_to_find, teach
from classic.prediction.folding import fold_finder
from classic.prediction.predictor import Predictor
from classic.runtime import ExportedPredictor
from classic.runtime.folder import read_card
from classic.runtime.words import BEGIN, INSIDE, OUTSIDE
from classic.seeding import Seeds
from classic.store.archive import pack, unpack
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Task

QUICK = FinderConfig(width=16, learning_rate=5e-3, epochs=12, batch_size=8)


@pytest.fixture(scope="module")
def stores(
    tmp_path_factory: pytest.TempPathFactory, quick_system: SystemConfig, toy_tasks: tuple[Task, ...]
) -> dict[str, Path]:
    """The same two lessons with the finder and without."""
    made = {}
    for name in ("with", "without"):
        path = tmp_path_factory.mktemp("finding") / f"{name}.store"
        opened = open_or_create(path, quick_system, finder=name == "with")
        for task in toy_tasks[:2]:
            teach(opened, task)
        made[name] = path
    return made


def build(encoder: Path, config: FinderConfig = QUICK) -> Finder:
    return KeptFinder(str(encoder), config, 0).build()


def test_words_of_an_aspect_have_its_labels(tiny_encoder: Path) -> None:
    finder = build(tiny_encoder)
    text = "the screen is so-so"
    (words,) = finder.reader.read([text])
    assert [text[start:end] for start, end in words.places] == ["the", "screen", "is", "so", "-", "so"]
    assert labels_of(words, Marked(text, ((4, 13),))) == [OUTSIDE, BEGIN, INSIDE, OUTSIDE, OUTSIDE, OUTSIDE]


def test_it_learns_and_keeps_what_it_learned(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    kept = KeptFinder(str(tiny_encoder), QUICK, 0)
    first, second = (marked_of(task.train) for task in toy_tasks[:2])
    tested = marked_of(toy_tasks[0].test)

    def f1() -> float:
        found = mark(kept.build(), [each.sentence for each in tested], 0.5)
        return float(count_aspects([each.spans for each in tested], found)["f1"])

    before = f1()
    kept.learn(first, 0)
    learned = f1()
    kept.learn(second, 1)
    assert before < 0.5
    assert learned > 0.9
    assert f1() > 0.7


@pytest.mark.parametrize(("large_from", "share"), [(1000, 0.25), (1, 0.1)])
def test_a_share_of_the_version_before_stays_if_asked(
    large_from: int, share: float, tiny_encoder: Path, toy_tasks: tuple[Task, ...]
) -> None:
    config = replace(QUICK, epochs=2, large_epochs=2, keep=0.25, large_keep=0.1, large_from=large_from)
    first = KeptFinder(str(tiny_encoder), config, 0)
    first.learn(marked_of(toy_tasks[0].train), 0)
    made = []
    for keep in (False, True):
        kept = replace(first)
        kept.learn(marked_of(toy_tasks[1].train), 1, keep=keep)
        assert kept.tensors
        made.append(kept.tensors["head.weight"].float())
    assert first.tensors
    expected = (1 - share) * made[0] + share * first.tensors["head.weight"].float()
    assert not torch.equal(made[0], made[1])
    assert torch.allclose(made[1], expected, atol=2e-3)


@pytest.mark.parametrize(("domains", "keeps"), [([], True), ([STARTER], False), ([STARTER, "camera"], True)])
def test_nothing_of_the_starter_is_mixed_in(
    domains: list[str],
    keeps: bool,
    quick_system: SystemConfig,
    toy_tasks: tuple[Task, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = load_learner(open_or_create(tmp_path / "a.store", quick_system, finder=True))
    learner.domains = domains
    asked: list[bool] = []

    def watched(kept: KeptFinder, *_: object, keep: bool, **__: object) -> Finder:
        asked.append(keep)
        return kept.build()

    monkeypatch.setattr(KeptFinder, "learn", watched)
    _learn_to_find(learner, toy_tasks[0], [], "cpu", None)
    assert asked == [keeps]


def test_the_same_lesson_gives_the_same_bytes(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    lessons = marked_of(toy_tasks[0].train)
    made = []
    for noise in (1, 2):
        kept = KeptFinder(str(tiny_encoder), replace(QUICK, epochs=2), 0)
        torch.manual_seed(noise)  # whatever was drawn before
        kept.learn(lessons, 0)
        made.append(kept.tensors)
    assert all(torch.equal(made[0][name], made[1][name]) for name in made[0])


def test_folded_it_says_the_same(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    finder = build(tiny_encoder)
    learn(finder, marked_of(toy_tasks[0].train), Seeds(0), 0, teacher=False)
    words = finder.reader.read([example.sentence for example in toy_tasks[0].test])
    inputs = {name: torch.from_numpy(array) for name, array in finder.reader.pad(words).items()}
    real = inputs["attention_mask"].bool()
    with torch.no_grad():
        gap = (finder(**inputs) - fold_finder(finder)(**inputs))[real].abs().max()
    assert gap < 1e-4


def test_unmarked_words_count_less_and_the_teacher_is_believed(tiny_encoder: Path) -> None:
    finder = build(tiny_encoder)
    text = "good screen and good battery"
    open_, closed = Marked(text, ((5, 11),)), Marked(text, ((5, 11),), complete=True)
    (lesson,) = _lessons(finder, [open_], teacher=False)
    assert lesson.weights.tolist() == [0.5, 1.0, 0.5, 0.5, 0.5]
    (lesson,) = _lessons(finder, [closed], teacher=True)
    assert lesson.weights.tolist() == [1.0] * 5
    with torch.no_grad():
        finder.head.bias.copy_(torch.tensor([0.0, 20.0, 0.0]))  # a teacher that sees an aspect in every word
    (lesson,) = _lessons(finder, [open_], teacher=True)
    assert lesson.targets.argmax(dim=1).tolist() == [BEGIN] * 5


def test_polarities_are_the_same_bytes_with_and_without(stores: dict[str, Path]) -> None:
    theirs = [Store.open(stores[name]).tensors() for name in ("with", "without")]
    assert theirs[0].keys() == theirs[1].keys()
    assert all(torch.equal(theirs[0][name], theirs[1][name]) for name in theirs[0])
    files = [(stores[name] / "versions/0002/delta.safetensors").read_bytes() for name in ("with", "without")]
    assert files[0] == files[1]


def test_a_store_without_says_so(stores: dict[str, Path]) -> None:
    predictor = Predictor.open(stores["without"])
    assert not predictor.finds
    with pytest.raises(InputError, match="has no finder"):
        predictor.find(["the screen is good"])


def test_reviews_in_opinions_out(stores: dict[str, Path]) -> None:
    predictor = Predictor.open(stores["with"])
    assert predictor.finds
    texts = ["Good screen is good. Bad soup is bad!", "", "bad waiter is bad here"]
    found = predictor.find(texts, min_confidence=0.0)
    assert len(found) == 3
    assert found[1] == []
    for text, review in zip(texts, found, strict=True):
        assert [each.start for each in review] == sorted(each.start for each in review)
        for each in review:
            assert text[each.start : each.end] == each.aspect == each.prediction.aspect
            assert each.prediction.sentence in text
            (alone,) = predictor.predict(each.prediction.sentence, each.prediction.span)
            assert alone.polarity == each.prediction.polarity
    assert predictor.find(texts, min_confidence=1.0) == [[], [], []]
    for wrong in ("a text", 3, ["a text", 3]):
        with pytest.raises(InputError, match="no list of strings"):
            predictor.find(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="confidence"):
        predictor.find([], min_confidence=2)


def test_texts_may_come_from_an_iterator_or_a_column_with_gaps(stores: dict[str, Path]) -> None:
    pandas = pytest.importorskip("pandas")
    predictor = Predictor.open(stores["with"])
    texts = ["Good screen is good.", "bad waiter is bad here"]
    wanted = predictor.find(texts, min_confidence=0.0)
    assert predictor.find(iter(texts), min_confidence=0.0) == wanted
    column = pandas.Series([texts[0], None, float("nan"), pandas.NA, texts[1]], dtype=object)
    assert predictor.find(column, min_confidence=0.0) == [wanted[0], [], [], [], wanted[1]]
    for table in (pandas.DataFrame({"text": texts}), {"text": texts}):  # not the aspects of its columns' names
        with pytest.raises(InputError, match="one column"):
            predictor.find(table)
    told = wanted[0][0].to_dict()
    assert told["aspect"] == wanted[0][0].aspect and told["span"] == [wanted[0][0].start, wanted[0][0].end]
    assert {"polarity", "positive", "confidence", "sentence"} <= told.keys()


def test_html_is_read_as_it_is_meant_and_places_count_in_the_text_as_it_stands(stores: dict[str, Path]) -> None:
    predictor = Predictor.open(stores["with"])
    text = "bad soup &amp; screen is bad.<br />It isn&#39;t the waiter."
    found = predictor.find([text], min_confidence=0.0)[0]
    assert {each.prediction.sentence for each in found} <= {"bad soup & screen is bad.", "It isn't the waiter."}
    assert all(html.unescape(text[each.start : each.end]) == each.aspect for each in found)
    assert any(each.start > text.index(";") for each in found), "no aspect behind an entity: this test sees nothing"


def test_it_travels_with_the_store_and_damage_is_noticed(stores: dict[str, Path], tmp_path: Path) -> None:
    store = Store.open(stores["with"])
    pack(store, tmp_path / "a.zip")
    copy = unpack(tmp_path / "a.zip", tmp_path / "b.store", store.digest())
    theirs, ours = load_learner(copy).finder, store.finder()
    assert theirs
    assert theirs.tensors
    assert ours
    assert all(torch.equal(theirs.tensors[name], ours[name]) for name in ours)
    file = copy.path / "versions/0002/finder.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        copy.verify()
    with pytest.raises(StoreError, match="damaged"):
        copy.finder()


@pytest.mark.parametrize("kind", ["onnx", "int8"])
def test_an_export_finds_the_same_without_torch(stores: dict[str, Path], tmp_path: Path, kind: str) -> None:
    store = Store.open(stores["with"])
    loose = Limits(gap=10.0, flips=1.0, drop=1.0)  # of the polarities, which other tests are about
    export_store(store, tmp_path / "out", kind, limits=loose)
    exported, predictor = ExportedPredictor(tmp_path / "out"), Predictor.open(store)
    assert exported.finds
    texts = ["Good screen is good. Bad soup is bad!", "", "bad waiter is bad here"]
    ours, theirs = (each.find(texts, min_confidence=0.0) for each in (predictor, exported))
    if kind == "onnx":
        assert [[(f.start, f.end) for f in review] for review in ours] == [
            [(f.start, f.end) for f in review] for review in theirs
        ]
    told = read_card(tmp_path / "out").finder
    assert told["agreement"] >= 0.98
    assert (told["rounded"] > 0) <= (kind == "int8")
    (tmp_path / "out" / "finder.onnx").write_bytes(b"damaged")
    with pytest.raises(StoreError, match="damaged"):
        ExportedPredictor(tmp_path / "out")


def test_an_export_of_a_store_without_says_so(stores: dict[str, Path], tmp_path: Path) -> None:
    export_store(Store.open(stores["without"]), tmp_path / "out", limits=Limits(gap=10.0, flips=1.0, drop=1.0))
    assert not (tmp_path / "out" / "finder.onnx").exists()
    with pytest.raises(InputError, match="has no finder"):
        ExportedPredictor(tmp_path / "out").find(["the screen is good"])


def test_a_lesson_that_was_killed_ends_with_the_same_bytes(
    stores: dict[str, Path],
    quick_system: SystemConfig,
    toy_tasks: tuple[Task, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed = open_or_create(tmp_path / "killed.store", quick_system, finder=True)
    whole, asked = training._loss, []

    def dying(*given: object) -> torch.Tensor:
        asked.append(1)
        if len(asked) == 3:  # in the middle of an epoch of the finder
            raise KeyboardInterrupt
        return whole(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "_loss", dying)
    with pytest.raises(KeyboardInterrupt):
        teach(killed, toy_tasks[0])
    assert killed.domains() == []
    teach(killed, toy_tasks[0])
    assert killed.digest(1) == Store.open(stores["with"]).digest(1)


def test_completely_marked_sentences_may_come_with_a_lesson(
    quick_system: SystemConfig, toy_tasks: tuple[Task, ...], stores: dict[str, Path], tmp_path: Path
) -> None:
    task = toy_tasks[0]
    more = [Marked("nothing to see here", (), complete=True), Marked(task.train[0].sentence, (), complete=True)]
    store = open_or_create(tmp_path / "more.store", quick_system, finder=True)
    version, _ = teach(store, task, sentences=more)
    assert version.record["finder"]["sentences"] == len(marked_of(task.train)) + 1
    assert version.record["data"] != Store.open(stores["with"]).version(1).record["data"]
    with pytest.raises(InputError, match="no finder"):
        teach(Store.open(stores["without"]), toy_tasks[2], sentences=more)


def test_the_record_tells_how_well_it_finds(stores: dict[str, Path]) -> None:
    record = Store.open(stores["with"]).version().record["finder"]
    assert 0 <= record["f1"] <= 1
    assert record["sentences"] > 0
    assert "finder" not in Store.open(stores["without"]).version().record


def test_lessons_go_on_from_the_version_before(
    stores: dict[str, Path], tiny_system: Callable[..., SystemConfig]
) -> None:
    store = Store.open(stores["with"])
    first, second = store.finder(1), store.finder(2)
    assert first is not None
    assert second is not None
    assert store.finder(0) is None
    assert any(not torch.equal(first[name], second[name]) for name in first)
