"""Teaching a store: what is refused, what is recorded, and that nothing of the data stays."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from classic.data.tasks import task_hash
from classic.errors import InputError, StoreError
from classic.learning.learner import load_learner, new_learner, open_or_create
from classic.learning.teach import teach
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Example, Polarity, Scenario, Task

Tasks = tuple[Task, ...]


def test_a_store_is_taught_from_rows_of_any_shape(tmp_path: Path, quick_system: SystemConfig, toy_tasks: Tasks) -> None:
    task = toy_tasks[0]
    splits = {
        "train": [(e.sentence, e.aspect, str(e.polarity)) for e in task.train],
        "dev": [{"text": e.sentence, "term": e.aspect, "label": str(e.polarity)} for e in task.valid],
        "test": iter(task.test),
    }
    open_or_create(tmp_path / "rows.store", quick_system)
    of_rows, _ = teach(tmp_path / "rows.store", splits, "screen")
    of_task, _ = teach(open_or_create(tmp_path / "task.store", quick_system), task)
    assert of_rows.record == of_task.record
    with pytest.raises(InputError, match="no name"):
        teach(tmp_path / "rows.store", splits)
    with pytest.raises(InputError, match="is no list of rows"):
        teach(tmp_path / "rows.store", 7, "seven")


# --- what is refused -------------------------------------------------------------------------------------------------


def test_a_store_keeps_its_settings_and_names_the_first_that_differs(
    taught_path: Path, quick_system: SystemConfig, tiny_system: Callable[..., SystemConfig]
) -> None:
    assert open_or_create(taught_path).settings == open_or_create(taught_path, quick_system).settings
    changed = tiny_system(changes={"backbone.width": 16, "train.epochs": 2})
    with pytest.raises(InputError, match=r"train\.epochs is 1 there, 2 was asked for"):
        open_or_create(taught_path, changed)
    with pytest.raises(InputError, match="seed is 0 there, 5 was asked for") as caught:
        open_or_create(taught_path, quick_system, seed=5)
    assert len(str(caught.value)) < 400, "the message repeats the whole configuration"


def test_a_store_goes_on_wherever_states_are_cached_now(
    tmp_path: Path, tiny_system: Callable[..., SystemConfig]
) -> None:
    """An unfinished benchmark could not go on in a moved folder."""
    here, there = (
        tiny_system(changes={"backbone.layers": 1, "backbone.cache_folder": str(tmp_path / name)})
        for name in ("a", "b")
    )
    assert open_or_create(tmp_path / "store", here).path == open_or_create(tmp_path / "store", there).path


def test_another_encoder_under_the_same_name_is_refused(
    tmp_path: Path, tiny_encoder: Path, tiny_system: Callable[..., SystemConfig], toy_tasks: Tasks
) -> None:
    encoder = Path(shutil.copytree(tiny_encoder, tmp_path / "encoder"))
    store = open_or_create(tmp_path / "store", tiny_system(changes={"backbone.encoder": str(encoder)}))
    weights = load_file(encoder / "model.safetensors")
    weights["embeddings.LayerNorm.bias"] += 1e-3
    save_file(weights, encoder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(StoreError, match="encoder whose sha256"):
        load_learner(store)
    with pytest.raises(StoreError, match="encoder whose sha256"):
        teach(store, toy_tasks[0])
    assert store.numbers() == [0]


def test_another_tokenizer_over_the_same_weights_is_refused(
    tmp_path: Path, tiny_encoder: Path, tiny_system: Callable[..., SystemConfig]
) -> None:
    encoder = Path(shutil.copytree(tiny_encoder, tmp_path / "encoder"))
    store = open_or_create(tmp_path / "store", tiny_system(changes={"backbone.encoder": str(encoder)}))
    spelling = encoder / "tokenizer.json"
    spelling.write_text(spelling.read_text().replace('"lowercase": true', '"lowercase": false'))
    with pytest.raises(StoreError, match="encoder whose tokenizer"):
        load_learner(store)


def examples(*polarities: Polarity | None) -> tuple[Example, ...]:
    return tuple(Example(f"the screen {n} is here", "screen", polarity) for n, polarity in enumerate(polarities))


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (Task("a", ()), "0 training examples"),
        (Task("a", examples(Polarity.POSITIVE)), r"1 training example\n"),
        (Task("a", examples(*[Polarity.NEGATIVE] * 5)), "are negative"),
        (Task("a", examples(Polarity.POSITIVE, Polarity.NEGATIVE, None)), "no polarity"),
        (Task("a", examples(Polarity.POSITIVE, Polarity.NEGATIVE), examples(None)), "no polarity"),
        (Task("a", examples(None, None)), "no polarity"),
    ],
    ids=["no example", "one example", "one class", "unlabelled", "unlabelled validation", "all unlabelled"],
)
def test_a_domain_that_cannot_be_learned_is_refused_before_anything_changes(
    taught_store: Path, task: Task, message: str
) -> None:
    store = Store.open(taught_store)
    before = store.verify()
    with pytest.raises(InputError, match=message):
        teach(store, task)
    assert (store.verify(), store.numbers(), store.checkpoint.parent.exists()) == (before, [0, 1, 2, 3], False)


def test_a_learned_name_is_refused_for_other_data_and_found_again_for_the_same(
    taught_store: Path, toy_tasks: Tasks
) -> None:
    store = Store.open(taught_store)
    digest = store.digest()
    version, _ = teach(store, toy_tasks[1])
    assert (version.number, store.digest()) == (2, digest)
    with pytest.raises(InputError, match=r"'soup' already, from other data"):
        teach(store, replace(toy_tasks[3], name="soup"))
    assert store.verify() == digest


def test_two_examples_of_one_text_are_enough(tmp_path: Path, quick_system: SystemConfig) -> None:
    store = open_or_create(tmp_path / "store", quick_system)
    pair = (Example("the screen", "screen", Polarity.POSITIVE), Example("the screen", "screen", Polarity.NEGATIVE))
    version, _ = teach(store, Task("tiny", pair))
    assert version.record["scores"] == {}
    assert version.record["temperature"] == [1.0, 0]
    load_learner(store)


def test_a_model_of_another_store_is_not_taught_in_place_of_the_current_one(
    taught_store: Path, taught_path: Path, toy_tasks: Tasks
) -> None:
    stale = load_learner(Store.open(taught_path), 1)
    _, learner = teach(Store.open(taught_store), toy_tasks[3], learner=stale)
    assert learner is not stale
    assert learner.domains == [task.name for task in toy_tasks]


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_the_same_data_and_seed_give_the_same_bytes_and_another_seed_does_not(
    tmp_path: Path, taught_path: Path, quick_system: SystemConfig, toy_tasks: Tasks
) -> None:
    digests = []
    for seed in (0, 1):
        store = open_or_create(tmp_path / f"seed{seed}", quick_system, seed=seed)
        for task in toy_tasks[:2]:
            teach(store, task)  # each domain in a fresh model from disk
        digests.append(store.verify())
    assert digests[0] == Store.open(taught_path).digest(2)
    assert digests[0] != digests[1]


def test_a_loaded_model_is_the_taught_model_to_the_bit(taught_store: Path, toy_tasks: Tasks) -> None:
    store = Store.open(taught_store)
    _, learner = teach(store, toy_tasks[3])
    loaded = load_learner(store)
    kept, again = learner.tensors(), loaded.tensors()
    assert kept.keys() == again.keys()
    assert all(torch.equal(kept[name], again[name]) for name in kept)
    assert (loaded.domains, loaded.temperature) == (learner.domains, learner.temperature)
    assert loaded.method.facts() == learner.method.facts()


def test_an_older_version_is_the_model_of_its_time(
    taught_path: Path, tmp_path: Path, quick_system: SystemConfig, toy_tasks: Tasks
) -> None:
    store = open_or_create(tmp_path / "short", quick_system)
    _, learner = teach(store, toy_tasks[0])
    older = load_learner(Store.open(taught_path), 1)
    assert older.domains == ["screen"]
    assert all(torch.equal(value, older.tensors()[name]) for name, value in learner.tensors().items())


def test_the_record_says_what_was_learned_from_what(taught_path: Path, toy_tasks: Tasks) -> None:
    version = Store.open(taught_path).version(2)
    record = version.record
    assert (record["domain"], record["domains"], record["parent"]) == ("soup", ["screen", "soup"], 1)
    assert record["counts"]["train"] == {"positive": 12, "negative": 12, "neutral": 0}
    assert record["counts"]["test"] == {"positive": 6, "negative": 6, "neutral": 0}
    assert record["classes"] == ["positive", "negative"]
    assert record["data"] == task_hash(toy_tasks[1])
    assert record["facts"]["learned"] == 2
    assert len(record["epochs"]) == 1
    assert record["temperature"][1] == 12
    for part in ("valid", "test"):
        assert set(record["scores"][part]) == {"accuracy", "macro_f1", "own_f1", "examples", "pairs"}
    assert 0 <= record["capacity"]["used"] <= 1
    assert set(version.run) == {"seconds", "cpu_seconds", "peak_memory_bytes", "surroundings"}
    card = Store.open(taught_path).card(2)
    assert card.startswith("# soup\n")
    assert "no neutral examples: this version hardly says neutral" in card


@pytest.mark.parametrize("method", ["ncl", "hat", "classic"])
@pytest.mark.parametrize("scenario", list(Scenario))
def test_a_version_holds_named_tensors_of_the_model_and_not_a_byte_more(
    tmp_path: Path, tiny_system: Callable[..., SystemConfig], toy_tasks: Tasks, method: str, scenario: Scenario
) -> None:
    config = tiny_system(method=method, scenario=scenario, changes={"backbone.width": 8, "train.epochs": 1})
    store = open_or_create(tmp_path / "store", config)
    for task in toy_tasks[:2]:
        teach(store, task)
    known = {
        r"method/model\.backbone\.adapters\.\d\.(down|up)\.layer\.(weight|bias)",
        r"method/model\.backbone\.encoder\.encoder\.layer\.\d\.(attention\.)?output\.LayerNorm\.(weight|bias)",
        r"method/model\.head\.linears\.\d\.(weight|bias)",
        r"method/gates\.[a-z_.0-9]+",
        r"method/private\.copies",
        r"method/keeping\.(live|average|steps)",
        r"method/(answers.shares|teachers.(places|classes))",
        r"map/(means|scatter|count|reach)",
    }
    allowed = re.compile(rf"(whole|appended|(rows|columns)(\.at)?)/({'|'.join(known)})")
    for number in store.numbers():
        file = store.path / "versions" / f"{number:04d}" / "delta.safetensors"
        with safe_open(str(file), framework="pt") as handle:
            names = list(handle.keys())
            assert handle.metadata() == {"format": "pt"}
            size = sum(handle.get_tensor(name).nbytes for name in names)
        assert [name for name in names if not allowed.fullmatch(name)] == []
        header = int.from_bytes(file.read_bytes()[:8], "little")
        assert file.stat().st_size == 8 + header + size
    in_memory = {name for name in new_learner(config, 0).tensors() if name.startswith("method/")}
    assert in_memory <= set(store.tensors())


# --- no data is kept -------------------------------------------------------------------------------------------------


def canaries() -> dict[str, str]:
    """Words that are nowhere else: one for every place where text goes in."""
    places = [f"{split} {part}" for split in ("train", "valid", "test") for part in ("sentence", "aspect")]
    return {place: f"Quokka{number}Zyxwv\u00e9\u4e2d" for number, place in enumerate(places)}


def plant(task: Task, words: dict[str, str]) -> Task:
    def salted(split: str, found: tuple[Example, ...]) -> tuple[Example, ...]:
        aspect, word = words[f"{split} aspect"], words[f"{split} sentence"]
        return tuple(replace(e, sentence=f"{e.sentence} {word} {aspect}", aspect=aspect) for e in found)

    return Task(task.name, salted("train", task.train), salted("valid", task.valid), salted("test", task.test))


def disguises(word: str) -> Iterator[bytes]:
    """How a word may look in a file."""
    plain = word.encode("ascii", "ignore").decode()
    for text in {word, word.lower(), plain, plain.lower()}:
        yield text.encode()
        yield text.encode("utf-16-le")
        yield text.encode("utf-32-le")
        yield json.dumps(text)[1:-1].encode()
        yield json.dumps(json.dumps(text)[1:-1])[1:-1].encode()
        yield base64.b64encode(text.encode()).rstrip(b"=")[:-1]


def token_runs(learner: Any, word: str) -> Iterator[bytes]:
    """The ids of a word's tokens, as integers of any width."""
    batch = learner.method.model.backbone.collate([Example(word, word)])
    ids = batch.inputs["input_ids"][0]
    inner = ids[1 : 1 + (len(ids) - 3) // 2]
    for dtype in (torch.int16, torch.int32, torch.int64):
        yield inner.to(dtype).numpy().tobytes()


def find(root: Path, needles: set[bytes]) -> list[str]:
    found = [str(file) for file in root.rglob("*") if any(needle in file.name.encode() for needle in needles)]
    for file in root.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            found += [f"{file}: {needle!r}" for needle in needles if needle in data]
    return found


class Spy:
    """Keeps all that a watcher is told, and a copy of the store as it was after every epoch."""

    def __init__(self, store: Path, copies: Path) -> None:
        self.store, self.copies, self.told = store, copies, ""

    def on_stage(self, *told: Any) -> None:
        self.told += repr(told)

    def on_count(self, *told: Any) -> None:
        self.told += repr(told)

    def on_start(self, *told: Any) -> None:
        self.told += repr(told)

    def on_step(self, *told: Any) -> None:
        self.told += repr(told)

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.told += repr(record)
        shutil.copytree(self.store, self.copies / f"{len(list(self.copies.iterdir()))}")


def test_no_text_of_a_domain_is_in_any_byte_of_the_store_or_of_a_checkpoint(
    tmp_path: Path, tiny_system: Callable[..., SystemConfig], toy_tasks: Tasks
) -> None:
    words = canaries()
    path, copies = tmp_path / "store", tmp_path / "copies"
    copies.mkdir()
    store = open_or_create(path, tiny_system(changes={"train.epochs": 2}))
    spy = Spy(path, copies)
    for task in toy_tasks[:2]:
        _, learner = teach(store, plant(task, words), watcher=spy)
    needles = {needle for word in words.values() for needle in disguises(word)}
    needles |= {run for word in words.values() for run in token_runs(learner, word)}
    assert all(len(needle) >= 8 for needle in needles)
    assert list(copies.rglob("checkpoint.safetensors")), "no checkpoint was seen"
    assert find(path, needles) == []
    assert find(copies, needles) == []
    assert not any(word.lower() in spy.told.lower() for word in words.values())
    # The search itself finds what is there.
    for number, needle in enumerate(sorted(needles)):
        (path / "work").mkdir(exist_ok=True)
        (path / "work" / f"{number}").write_bytes(b"..." + needle + b"...")
    assert len(find(path, needles)) >= len(needles)


def test_the_state_of_the_optimiser_is_gone_once_a_domain_is_published(
    tmp_path: Path, tiny_system: Callable[..., SystemConfig], toy_tasks: Tasks
) -> None:
    path, copies = tmp_path / "store", tmp_path / "copies"
    copies.mkdir()
    store = open_or_create(path, tiny_system(changes={"train.epochs": 2}))
    teach(store, toy_tasks[0], watcher=Spy(path, copies))
    moments = {b"exp_avg", b"optimiser/"}
    assert find(copies, moments), "the checkpoint holds none either: this test looks for the wrong thing"
    assert find(path, moments) == []
    assert sorted(entry.name for entry in path.iterdir()) == ["current", "lock", "store.json", "versions"]


def test_a_domain_that_is_rolled_back_and_pruned_is_gone(
    tmp_path: Path, taught_path: Path, quick_system: SystemConfig, toy_tasks: Tasks
) -> None:
    store = open_or_create(tmp_path / "store", quick_system)
    teach(store, toy_tasks[0])
    digest, files = store.digest(), {f: f.read_bytes() for f in store.path.rglob("*") if f.is_file()}
    secret = replace(toy_tasks[1], name="codenameQuokka")
    teach(store, secret)
    assert find(store.path, {b"codenameQuokka"})
    store.rollback(1)
    store.prune()
    assert store.verify() == digest
    assert {f: f.read_bytes() for f in store.path.rglob("*") if f.is_file()} == files
    assert find(store.path, {b"codenameQuokka"}) == []


def test_a_test_counts_every_row_once_and_answers_as_a_predictor(
    taught_path: Path, toy_tasks: tuple[Task, ...]
) -> None:
    from classic.learning.testing import confusion
    from classic.prediction.predictor import Predictor

    tails = (" but the waiter is awful", ", and the lens is great", "")
    rows = [
        replace(example, sentence=example.sentence + tails[number % 3])
        for number, example in enumerate(toy_tasks[0].test)
    ]
    store = Store.open(taught_path)
    counted = confusion(load_learner(store), "screen", rows)
    said = Counter(
        (e.polarity.column, p.polarity.column) for e, p in zip(rows, Predictor.open(store).stream(rows), strict=True)
    )
    assert {(true, answered): number for true, answered, number in counted["pairs"]} == said
    assert sum(number for *_, number in counted["pairs"]) == len(rows)
