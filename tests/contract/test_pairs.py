"""What every method must do on every backbone it fits: learn, stay finite, come back from disk, be the same again."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import behaviour
import pytest
import torch
from torch import Tensor

from classic.errors import IncompatibleError
from classic.evaluation.answers import answer
from classic.evaluation.scores import labels_of
from classic.methods.base import Method
from classic.seeding import Seeds
from classic.systems.system import BACKBONES, METHODS, SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Scenario, Task, TaskId

Folders = dict[str, dict[str, Any]]
PAIRS = [(method, backbone) for method in METHODS for backbone in BACKBONES]
FIT = [(m, b) for m, b in PAIRS if METHODS[m].build.needs <= BACKBONES[b].build.provides] + [
    ("classic", "bert")  # whose default averages its weights, so masks need not contain all that learns
]

# A quick recipe that every small network learns a toy task with.
RECIPE: dict[str, Any] = {
    "train.optimiser": "adam",
    "train.learning_rate": 5e-3,
    "train.epochs": 6,
    "train.batch_size": 8,
    "train.clip_norm": 1.0,
    "train.patience": None,
    "train.precision": "float32",  # not "fastest": a record is of one precision, whatever machine compares with it
}
# What a method needs besides, to show in two small tasks what it does.
SPECIAL: dict[str, dict[str, Any]] = {
    "joint": {"method.tasks": 2},
    "bcl": {"method.length": 24},
    "lamol": {"method.learning_rate": 3e-3, "train.epochs": 15},  # it learns to write as well
}


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> Folders:
    """Settings that make every backbone tiny; a new backbone joins by a row."""
    sentences = [f"{e.sentence} {e.aspect}" for task in toy_tasks for part in (task.train, task.test) for e in part]
    encoder = {"backbone.encoder": str(tiny_encoder)}
    return {
        "bert_adapter": encoder | {"backbone.width": 16},
        "bert": encoder,
        "bert_frozen": encoder,
        "w2v": {"backbone.vectors": str(write_vectors(tmp_path_factory.mktemp("vectors") / "tiny.txt", sentences))},
        "gpt2": {"backbone.encoder": str(write_gpt2(tmp_path_factory.mktemp("tiny_gpt2"), sentences))},
    }


def write_vectors(file: Path, sentences: list[str]) -> Path:
    """Random word vectors in GloVe's format, 16 wide."""
    draw = random.Random(0)
    words = sorted({word for sentence in sentences for word in sentence.split()})
    lines = [" ".join([word, *(f"{draw.gauss(0, 1):.4f}" for _ in range(16))]) for word in words]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def write_gpt2(folder: Path, sentences: list[str]) -> Path:
    """A random GPT-2 of 2 layers, 64 wide, over a tokenizer trained on the toy sentences."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    answers = ["What is the sentiment towards? positive negative neutral"] * 9
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(sentences + answers, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    shape = GPT2Config(vocab_size=size, n_embd=64, n_layer=2, n_head=4, n_positions=64, bos_token_id=0, eos_token_id=0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        GPT2LMHeadModel(shape).save_pretrained(folder)
    return folder


def system(method: str, backbone: str, scenario: Scenario, small: Folders) -> SystemConfig:
    changes = RECIPE | small[backbone] | SPECIAL.get(method, {})
    return SystemConfig.preset(method=method, backbone=backbone, scenario=scenario, changes=changes)


def kept(method: Method) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in method.tensors().items()}


def scenario_of(method: str) -> Scenario:
    # B-CL exists with a head per task only; the others are tested where nobody tells the task.
    return Scenario.TIL if method == "bcl" else Scenario.DIL


@pytest.mark.parametrize(("method", "backbone"), FIT)
def test_a_pair_that_fits_works(method: str, backbone: str, small: Folders, toy_tasks: tuple[Task, ...]) -> None:
    config = system(method, backbone, scenario_of(method), small)
    learned = build(config, 0)
    first, second = toy_tasks[:2]
    logs = learn_task(learned, first, config.train, Seeds(0)).epochs
    after_first = kept(learned)
    logs += learn_task(learned, second, config.train, Seeds(0)).epochs
    assert logs and all(math.isfinite(value) for record in logs for value in record["terms"].values())
    assert all(bool(tensor.isfinite().all()) for tensor in learned.tensors().values())
    assert learned.bytes_kept() >= 0

    said = answer(learned, second.train, TaskId.GIVEN, 1)
    assert float((said.argmax(dim=1) == torch.tensor(labels_of(second.train))).float().mean()) > 0.6  # chance is a half

    behaviour.check(config, learned, answer(learned, first.test + second.test, TaskId.LAST))

    loaded = build(config, 0)
    loaded.restore(json.loads(json.dumps(learned.facts())), kept(learned))
    for task in (None, 0, 1):
        rule = TaskId.LAST if task is None else TaskId.GIVEN
        assert torch.equal(answer(loaded, first.test, rule, task), answer(learned, first.test, rule, task))

    torch.manual_seed(99)  # whatever was drawn before
    again = build(config, 0)
    learn_task(again, first, config.train, Seeds(0))
    repeated = kept(again)
    assert repeated.keys() == after_first.keys()
    assert all(torch.equal(repeated[name], after_first[name]) for name in repeated)


@pytest.mark.parametrize(("method", "backbone"), [pair for pair in PAIRS if pair not in FIT])
def test_a_pair_that_does_not_fit_is_refused_with_a_sentence(method: str, backbone: str, small: Folders) -> None:
    config = system(method, backbone, scenario_of(method), small)
    needs = METHODS[method].build.needs_with(config.additions) - BACKBONES[backbone].build.provides
    assert needs
    with pytest.raises(IncompatibleError) as refused:
        build(config, 0)
    assert method in refused.value.what and backbone in refused.value.what
    assert all(str(need) in refused.value.what for need in needs)
    assert refused.value.fix


def test_masks_that_must_protect_are_refused_over_a_whole_encoder(small: Folders) -> None:
    protected = system("classic", "bert", Scenario.TIL, small)
    with pytest.raises(IncompatibleError, match="all learning but that of LayerNorms"):
        build(protected, 0)


def test_every_backbone_has_a_tiny_form(small: Folders) -> None:
    assert small.keys() == BACKBONES.keys()


def test_every_method_says_where_it_comes_from_and_what_it_keeps() -> None:
    for name, part in METHODS.items():
        assert part.build.source, name
        assert part.build.equation, name
    assert {name for name, part in METHODS.items() if part.build.keeps_data} == {"derpp", "joint", "retrain"}


def test_a_change_of_behaviour_is_noticed(small: Folders, toy_tasks: tuple[Task, ...]) -> None:
    config = system("ncl", "bert_adapter", Scenario.DIL, small)
    learned = build(config, 0)
    learn_task(learned, toy_tasks[0], config.train, Seeds(0))
    learn_task(learned, toy_tasks[1], config.train, Seeds(0))
    said = answer(learned, toy_tasks[0].test + toy_tasks[1].test, TaskId.LAST)
    behaviour.check(config, learned, said)
    if behaviour.RECORDING:
        return
    with pytest.raises(AssertionError, match="raise the version"):
        behaviour.check(config, learned, said + torch.tensor([0.1, 0.0, 0.0]))
    with torch.no_grad():
        learned.weights()[0].mul_(1.5)
    with pytest.raises(AssertionError, match="raise the version"):
        behaviour.check(config, learned, said)
