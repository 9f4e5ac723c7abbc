"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

import watch
from classic.types import POLARITIES, Example, Polarity, Scenario, Task

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from classic.systems.system import SystemConfig

watch.install()

# No deadline: the machine may be busy. The same examples every time: a failure can be run again.
settings.register_profile("classic", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("classic")

# --- tiny networks and toy tasks (losses, modules, backbones, training, properties) ---


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    """For tiny models two threads are several times slower than one."""
    import torch

    torch.set_num_threads(1)


def toy_words() -> list[str]:
    """The vocabulary of the tiny encoders: toy words, and letters to spell any other word with."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = {word for aspects in TOY_ASPECTS for word in aspects} | set(TOY_FILLER)
    words |= {word for cues in TOY_CUES.values() for word in cues}
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return specials + sorted(set(letters) | words) + [f"##{letter}" for letter in letters] + list(".,!?-")


def write_tokenizer(folder: Path) -> int:
    """Writes a WordPiece tokenizer.json in BERT's pair layout; returns the size of its vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate(toy_words())}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return len(vocabulary)


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random BERT of 2 layers, 64 wide, 4 heads."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny_encoder")
    shape = BertConfig(
        vocab_size=write_tokenizer(folder),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(shape).save_pretrained(folder)
    return folder


@pytest.fixture(params=["roberta", "electra", "mpnet"])
def relative(request: pytest.FixtureRequest, tmp_path: Path, tiny_encoder: Path) -> Path:
    """Encoders that count positions in another way, have narrower embeddings, or add a bias to their attention."""
    import torch
    from transformers import ElectraConfig, ElectraModel, MPNetConfig, MPNetModel, RobertaConfig, RobertaModel

    folder = tmp_path / "encoder"
    shape = {
        "vocab_size": 200,
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 66,
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if request.param == "roberta":
            model = RobertaModel(RobertaConfig(**shape, pad_token_id=0, type_vocab_size=1), add_pooling_layer=False)
        elif request.param == "electra":
            model = ElectraModel(ElectraConfig(**shape, embedding_size=16, pad_token_id=0))
        else:
            model = MPNetModel(MPNetConfig(**shape), add_pooling_layer=False)
            model.encoder.relative_attention_bias.weight.data.normal_()  # as it is drawn it would hardly be noticed
        model.save_pretrained(folder)
    shutil.copyfile(tiny_encoder / "tokenizer.json", folder / "tokenizer.json")
    return folder


TOY_ASPECTS = (
    ("screen", "battery", "keyboard"),
    ("soup", "waiter", "dessert"),
    ("lens", "zoom", "flash"),
    ("router", "signal", "cable"),
)
TOY_CUES = {
    Polarity.POSITIVE: ("good", "great"),
    Polarity.NEGATIVE: ("bad", "awful"),
    Polarity.NEUTRAL: ("okay", "plain"),
}
TOY_FILLER = ("the", "is", "was", "very", "here", "i", "think", "and", "so", "today", "this", "one")


def _toy_examples(
    aspects: tuple[str, ...], classes: tuple[Polarity, ...], count: int, seed: int
) -> tuple[Example, ...]:
    draw = random.Random(seed)
    examples = []
    for number in range(count):
        polarity = classes[number % len(classes)]
        aspect, cue = draw.choice(aspects), draw.choice(TOY_CUES[polarity])
        before, after = draw.choices(TOY_FILLER, k=draw.randint(0, 1)), draw.choices(TOY_FILLER, k=draw.randint(0, 2))
        sentence = " ".join([*before, cue, aspect, "is", cue, *after])
        examples.append(Example(sentence, aspect, polarity))
    return tuple(examples)


@pytest.fixture(scope="session")
def toy_tasks() -> tuple[Task, ...]:
    """Four small domains with aspects of their own; a cue word decides; the second and the fourth lack "neutral"."""
    tasks = []
    for number, aspects in enumerate(TOY_ASPECTS):
        classes = POLARITIES if number % 2 == 0 else POLARITIES[:2]
        parts = [_toy_examples(aspects, classes, count, 10 * number + part) for part, count in enumerate((24, 12, 12))]
        tasks.append(Task(aspects[0], *parts))
    return tuple(tasks)


@pytest.fixture(scope="session")
def tiny_system(tiny_encoder: Path) -> Callable[..., SystemConfig]:
    """Makes the configuration of a system that learns a toy task in a second: preset, method, scenario, changes."""
    from classic.systems.system import SystemConfig

    def make(
        preset: str = "default",
        method: str = "classic",
        scenario: Scenario = Scenario.DIL,
        changes: dict[str, Any] | None = None,
    ) -> SystemConfig:
        small: dict[str, Any] = {
            "backbone.encoder": str(tiny_encoder),
            "backbone.width": 24,
            "train.batch_size": 8,
            "train.epochs": 3,
            "train.large_epochs": 3,
            "train.selection": "loss",
            "train.joined": 0.0,  # toy sentences are too short to be told apart by their aspects
        }
        if preset == "default":
            small["backbone.pooling"] = "mean"  # three aspects in two dozen rows would be learned by heart
        return SystemConfig.preset(preset, method=method, scenario=scenario, changes=small | (changes or {}))

    return make


# --- the paper's data (data, evaluation, cli) ---


@pytest.fixture(scope="session")
def asc19() -> Path:
    """The root of the paper's 19 domains; tests that need it are skipped where it is not."""
    given = os.environ.get("CLASSIC_DATA")
    if not given or not Path(given).is_dir():
        pytest.skip("the paper's data are not here: set CLASSIC_DATA to their folder")
    return Path(given)


# --- stores (store, learning, inference, packing, sequence, cli) ---


@pytest.fixture(scope="session")
def quick_system(tiny_system: Callable[..., SystemConfig]) -> SystemConfig:
    """One epoch, narrow: for tests of what is kept, not of what is learned."""
    return tiny_system(changes={"backbone.width": 16, "train.epochs": 1})


@pytest.fixture(scope="session")
def taught_path(
    tmp_path_factory: pytest.TempPathFactory, quick_system: SystemConfig, toy_tasks: tuple[Task, ...]
) -> Path:
    """A store of three learned domains. Never changed: tests that change something take `taught_store`."""
    from classic.learning.sequence import learn_sequence

    path = tmp_path_factory.mktemp("taught") / "toy.store"
    learn_sequence(path, toy_tasks[:3], quick_system)
    return path


@pytest.fixture
def taught_store(tmp_path: Path, taught_path: Path) -> Path:
    """A copy of the store of three learned domains, to be changed or damaged."""
    return Path(shutil.copytree(taught_path, tmp_path / "toy.store"))


# --- a browser (serving, benchmark) ---

CHROMIUM_FLAGS = (
    "--no-sandbox --disable-gpu --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. No longer than a module: while Playwright runs, no other test of the process may run a loop."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium; apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=CHROMIUM_FLAGS.split())
        yield started
        started.close()
