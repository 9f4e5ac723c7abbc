"""LAMOL: its losses, its answers, its pseudo-examples, and that a killed run ends with the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from classic.errors import IncompatibleError
from classic.evaluation.answers import answer
from classic.methods.lamol import Lamol, pseudo_counts
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.checkpoint import Checkpoint
from classic.training.loop import NoWatcher, learn_task
from classic.types import POLARITIES, Example, Polarity, Scenario, Step, Task

STEP = Step(0, 0, 1, 0, 1)
# A cold and attentive writer: two layers do not learn to spell in a few seconds otherwise.
WRITER = {
    "method.pseudo_share": 0.5,
    "method.lm_weight": 1.0,
    "method.temperature": 0.5,
    "train.selection": "last",
}
Make = Callable[..., SystemConfig]


def write_gpt2(folder: Path, texts: list[str], vocabulary: int) -> Path:
    """A random GPT-2 of 2 layers, 64 wide, and a byte-level BPE tokenizer trained on our own sentences."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    shape = GPT2Config(
        vocab_size=tokenizer.get_vocab_size(),
        n_embd=64,
        n_layer=2,
        n_head=4,
        n_positions=64,
        bos_token_id=0,
        eos_token_id=0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        GPT2LMHeadModel(shape).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, toy_tasks: tuple[Task, ...]) -> dict[str, Path]:
    """With whole words as tokens, and with answers spelt in several tokens."""
    texts = [
        f"{e.sentence} What is the sentiment towards {e.aspect}? {e.polarity}" for task in toy_tasks for e in task.train
    ]
    return {
        name: write_gpt2(tmp_path_factory.mktemp(name), texts, size) for name, size in (("words", 500), ("parts", 275))
    }


@pytest.fixture(scope="module")
def system(folders: dict[str, Path]) -> Make:
    def make(
        changes: dict[str, Any] | None = None, scenario: Scenario = Scenario.DIL, tokens: str = "words"
    ) -> SystemConfig:
        small = {
            "backbone.encoder": str(folders[tokens]),
            "backbone.max_length": 60,
            "method.learning_rate": 3e-3,
            "train.batch_size": 8,
            "train.epochs": 3,
        }
        return SystemConfig.preset(method="lamol", backbone="gpt2", scenario=scenario, changes=small | (changes or {}))

    return make


def made(config: SystemConfig, seed: int = 0) -> Lamol:
    method = build(config, seed)
    assert isinstance(method, Lamol)
    return method


def teach(config: SystemConfig, tasks: tuple[Task, ...], seed: int = 0) -> Lamol:
    method = made(config, seed)
    for task in tasks:
        learn_task(method, task, config.train, Seeds(seed))
    return method


@pytest.fixture(scope="module")
def taught(system: Make, toy_tasks: tuple[Task, ...]) -> Callable[[], Lamol]:
    """Fresh copies of a system that has learned one task so well that it can write examples of it."""
    config = system(WRITER | {"train.epochs": 40})
    method = teach(config, toy_tasks[:1])
    facts, tensors = method.facts(), kept(method)

    def fresh() -> Lamol:
        copy = made(config)
        copy.restore(facts, tensors)
        return copy

    return fresh


def kept(method: Lamol) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in method.tensors().items()}


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


# --- counting ---


@pytest.mark.parametrize(
    ("examples", "share", "old", "total"),
    [(12, 0.05, 18, 1), (118, 0.05, 18, 6), (100, 0.07, 3, 7), (3452, 0.2, 18, 691), (12, 0.0, 3, 0), (12, 0.2, 0, 0)],
)
def test_the_total_is_kept_and_spread(examples: int, share: float, old: int, total: int) -> None:
    counts = pseudo_counts(examples, share, old, torch.Generator().manual_seed(0))
    assert sum(counts) == total
    assert len(counts) == old
    assert not counts or max(counts) - min(counts) <= 1


def test_what_is_left_over_reaches_every_old_task_in_time() -> None:
    counts = [pseudo_counts(12, 0.05, 18, Seeds(seed).generator("pseudo-examples", 18)) for seed in range(400)]
    drawn = torch.tensor(counts).sum(dim=0)
    assert int(drawn.sum()) == 400
    assert 5 < int(drawn.min()) <= int(drawn.max()) < 45  # 22 each on average


# --- losses ---


@pytest.mark.parametrize("starts", ["task", "common"])
def test_losses_are_those_of_a_slow_loop(system: Make, toy_tasks: tuple[Task, ...], starts: str) -> None:
    method = made(system({"method.starts": starts})).eval()
    backbone = method.language_model
    method.learned = 2
    backbone.make_room(3, torch.Generator().manual_seed(0))
    task = toy_tasks[0]
    pseudo = (Example("great soup", "soup", Polarity.POSITIVE), Example("bad lens is", "lens", Polarity.NEGATIVE))
    method._rehearse = lambda *_: (pseudo, [1, 0])  # type: ignore[method-assign]
    method.start_task(task, Seeds(0))
    (phase,) = method.plan(task)
    assert phase.examples == task.train + pseudo
    rows = [0, 25, 1, 24, 5]
    terms = method.loss(backbone.collate([phase.examples[row] for row in rows], rows), STEP)

    qa, lm, lm_weights = [], 0.0, 0.0
    for row in rows:
        example = phase.examples[row]
        text = backbone._ids(f"{example.sentence} What is the sentiment towards {example.aspect}?")
        spoken = backbone._ids(f" {example.polarity}")
        whole = [*text, backbone.ans, *spoken, backbone.eos]
        owner = {24: 1, 25: 0}.get(row, 2) if starts == "task" else 0
        for first, ids in (("qa", whole), ("lm", [backbone.start(owner), *whole])):
            with torch.no_grad():
                log_p = backbone.vocabulary(backbone.states(torch.tensor([ids])))[0].double().log_softmax(dim=-1)
            for place in range(1, len(ids)):
                value = -float(log_p[place - 1, ids[place]])
                if first == "lm":
                    weight = 5.0 if ids[place] == backbone.ans else 1.0
                    lm, lm_weights = lm + weight * value, lm_weights + weight
                elif place > len(text):
                    qa.append(value)
    assert len(qa) == 2 * len(rows)  # one token of answer and the end
    assert terms["qa"].item() == pytest.approx(sum(qa) / len(qa), rel=1e-5)
    assert terms["lm"].item() == pytest.approx(0.25 * lm / lm_weights, rel=1e-5)
    assert terms.keys() == {"qa", "lm"}


def test_without_weight_there_is_no_language_model_loss(system: Make, toy_tasks: tuple[Task, ...]) -> None:
    method = made(system({"method.lm_weight": 0.0}))
    method.start_task(toy_tasks[0], Seeds(0))
    assert method.loss(method.language_model.collate(toy_tasks[0].train[:3]), STEP).keys() == {"qa"}


# --- answers ---


@pytest.mark.parametrize("tokens", ["words", "parts"])
def test_scores_are_the_log_probabilities_of_the_answers(
    system: Make, folders: dict[str, Path], toy_tasks: tuple[Task, ...], tokens: str
) -> None:
    method = made(system(tokens=tokens)).eval()
    backbone = method.language_model
    assert (max(len(words) for words in backbone.answers.values()) > 1) == (tokens == "parts")
    examples = toy_tasks[0].test[:5]
    with torch.no_grad():
        found = method.logits(backbone.collate(examples))
        unlabelled = method.logits(backbone.collate([Example(e.sentence, e.aspect) for e in examples]))
        assert torch.equal(found, unlabelled)  # to the bit: the true answer is not even in the input
        assert found.shape == (5, 3)
        for row, example in enumerate(examples):
            text = backbone._ids(f"{example.sentence} What is the sentiment towards {example.aspect}?")
            for polarity in POLARITIES:
                ids = [*text, backbone.ans, *backbone._ids(f" {polarity}")]
                log_p = backbone.vocabulary(backbone.states(torch.tensor([ids])))[0].log_softmax(dim=-1)
                wanted = sum(float(log_p[place - 1, ids[place]]) for place in range(len(text) + 1, len(ids)))
                assert float(found[row, polarity.column]) == pytest.approx(wanted, abs=1e-4)
    assert bool((found.exp().sum(dim=1) <= 1).all())  # exclusive events


# --- pseudo-examples ---


def test_malformed_texts_are_discarded_and_counted(
    system: Make, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = made(system({"method.pseudo_share": 0.25}))
    backbone = method.language_model
    method.learned = 2
    backbone.make_room(2, torch.Generator())
    good = backbone.collate(toy_tasks[0].train[:1])
    ids = good.inputs["input_ids"][0].tolist()
    asked_of: list[int] = []

    def sample(starts: list[int], *_: Any) -> list[list[int]]:
        asked_of.extend(starts)
        return [ids, ids[:-1], [], [backbone.ans, *ids], ids, [backbone.eos]]

    monkeypatch.setattr(backbone, "sample", sample)
    method.start_task(toy_tasks[1], Seeds(0))  # 24 examples: six pseudo-examples, three of each
    assert asked_of == [backbone.start(0)] * 3 + [backbone.start(1)] * 3
    (phase,) = method.plan(toy_tasks[1])
    assert phase.examples[24:] == toy_tasks[0].train[:1] * 2
    assert method._row_starts.tolist() == [backbone.start(2)] * 24 + [backbone.start(0), backbone.start(1)]
    assert method.report() == {"pseudo_examples": {"asked": [3, 3], "kept": [1, 1]}}


def test_an_untaught_model_writes_nonsense_and_goes_on(system: Make, toy_tasks: tuple[Task, ...]) -> None:
    config = system({"train.epochs": 1, "method.learning_rate": 1e-6, "method.pseudo_share": 0.5})
    method = teach(config, toy_tasks[:3])
    assert method.report()["pseudo_examples"] == {"asked": [6, 6], "kept": [0, 0]}
    assert bool(torch.isfinite(answer(method, toy_tasks[0].test)).all())


def test_a_taught_model_rehearses(taught: Callable[[], Lamol], toy_tasks: tuple[Task, ...]) -> None:
    method, again = taught(), taught()
    for one in (method, again):
        one.start_task(toy_tasks[1], Seeds(0))
    counts = method.report()["pseudo_examples"]
    assert counts["asked"] == [12]
    assert counts["kept"][0] == len(method._pseudo) >= 6
    aspects = {example.aspect for example in toy_tasks[0].train}
    assert sum(example.aspect in aspects for example in method._pseudo) > len(method._pseudo) / 2
    assert method._pseudo == again._pseudo
    again.start_task(toy_tasks[1], Seeds(1))
    assert method._pseudo != again._pseudo
    method.finish_task(toy_tasks[1])
    assert method._pseudo == ()  # written text is not kept any longer than read text


# --- learning, saving, resuming ---


def test_learns_above_chance(system: Make, toy_tasks: tuple[Task, ...]) -> None:
    method = teach(system({"train.epochs": 15}), toy_tasks[:1])
    said = answer(method, toy_tasks[0].test).argmax(dim=1).tolist()
    right = sum(POLARITIES[column] is e.polarity for column, e in zip(said, toy_tasks[0].test, strict=True))
    assert right >= 9  # of 12; chance is 4


def test_til_is_dil_and_there_is_no_head(system: Make, toy_tasks: tuple[Task, ...]) -> None:
    shared = teach(system(), toy_tasks[:2])
    per_task = teach(system(scenario=Scenario.TIL), toy_tasks[:2])
    assert equal(kept(shared), kept(per_task))
    assert not list(shared.model.head.parameters())
    batch = shared.language_model.collate(toy_tasks[1].test)
    assert torch.equal(shared.eval().logits(batch), per_task.eval().logits(batch, 0))


@pytest.mark.parametrize("starts", ["task", "common"])
def test_saved_and_loaded_it_says_the_same(system: Make, toy_tasks: tuple[Task, ...], starts: str) -> None:
    config = system({"method.starts": starts})
    method = teach(config, toy_tasks[:2])
    other = made(config)
    other.restore(method.facts(), kept(method))
    assert torch.equal(answer(method, toy_tasks[0].test), answer(other, toy_tasks[0].test))
    assert equal(kept(method), kept(other))
    tokens = len(method.language_model._embeddings.weight) - method.language_model._words
    assert tokens == (4 if starts == "task" else 3)


def test_same_seed_same_bytes(system: Make, toy_tasks: tuple[Task, ...]) -> None:
    first, second = teach(system(), toy_tasks[:2]), teach(system(), toy_tasks[:2])
    assert equal(kept(first), kept(second))
    assert not equal(kept(first), kept(teach(system(), toy_tasks[:2], seed=1)))


class Killed(Exception):
    """Stands for a kill."""


class Killer(NoWatcher):
    """Ends a run in the middle of its second epoch."""

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        if (step.epoch, step.batch) == (1, 1):
            raise Killed


def test_a_killed_run_ends_with_the_same_bytes(
    system: Make, taught: Callable[[], Lamol], toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    config = system()
    whole, killed, resumed = taught(), taught(), taught()
    learn_task(whole, toy_tasks[1], config.train, Seeds(0))
    assert sum(whole.report()["pseudo_examples"]["kept"]) > 0  # otherwise nothing is tested here
    with pytest.raises(Killed):
        learn_task(killed, toy_tasks[1], config.train, Seeds(0), Checkpoint(tmp_path / "checkpoint", "job"), Killer())
    learn_task(resumed, toy_tasks[1], config.train, Seeds(0), Checkpoint(tmp_path / "checkpoint", "job"))
    assert equal(kept(whole), kept(resumed))
    assert whole.report() == resumed.report()


def test_presets_and_pairs() -> None:
    paper, authors = (
        SystemConfig.preset(name, method="lamol", backbone="gpt2").method_config for name in ("paper", "authors")
    )
    assert paper["pseudo_share"] == 0.2
    assert (authors["pseudo_share"], authors["starts"]) == (0.05, "common")
    with pytest.raises(IncompatibleError, match="language model"):
        build(SystemConfig.preset(method="lamol"), 0)
    with pytest.raises(IncompatibleError, match="layers that can be gated"):
        build(SystemConfig.preset(method="hat", backbone="gpt2"), 0)
