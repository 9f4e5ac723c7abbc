"""Frozen BERT: states once, in bounded memory, the same bits whatever the cache holds."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor

from classic.backbones.bert_frozen import BertFrozen, BertFrozenConfig
from classic.backbones.states import StateCache
from classic.batching import sorted_batches
from classic.config import TrainConfig
from classic.errors import IncompatibleError
from classic.methods.base import Method
from classic.methods.hat import Hat
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Example, Polarity, Scenario, Task

EXAMPLES = [
    Example("the soup was good", "soup", Polarity.POSITIVE),
    Example("bad zoom today and so on", "zoom"),
    Example("good soup bad soup", "soup", Polarity.NEGATIVE, (14, 18)),
    Example("good soup bad soup", "soup", Polarity.POSITIVE, (5, 9)),
]
TRAIN = TrainConfig(learning_rate=0.05, optimiser="sgd", epochs=4, batch_size=8, warmup=0.0, schedule="constant")


def make(folder: Path, **changes: Any) -> BertFrozen:
    return BertFrozen(BertFrozenConfig(str(folder), **changes), torch.Generator().manual_seed(0)).eval()


class Counting:
    """Counts the texts that go through an encoder."""

    def __init__(self, backbone: BertFrozen) -> None:
        self.calls: list[int] = []
        backbone.encoder.register_forward_pre_hook(self._see, with_kwargs=True)

    def _see(self, module: object, args: object, given: dict[str, Tensor]) -> None:
        self.calls.append(len(given["input_ids"]))


# --- states ----------------------------------------------------------------------------------------------------------


def test_states_are_the_encoders_last_layer(tiny_encoder: Path) -> None:
    from transformers import BertModel

    backbone = make(tiny_encoder)
    batch = backbone.collate(EXAMPLES)
    pairs = backbone._tokenizer.collate(EXAMPLES)
    with torch.no_grad():
        wanted = BertModel.from_pretrained(tiny_encoder).eval()(**pairs.inputs).last_hidden_state
    mask = pairs.inputs["attention_mask"]
    assert torch.equal(batch.inputs["mask"], mask)
    assert torch.allclose(batch.inputs["states"], wanted * mask.unsqueeze(2), atol=1e-5)
    assert torch.equal(backbone.tokens(batch), batch.inputs["states"])
    assert batch.labels.tolist() == [0, -1, 1, 0]
    assert backbone.collate(EXAMPLES[:2], [7, 3]).rows.tolist() == [7, 3]
    assert torch.allclose(
        backbone.surface(batch), (wanted * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True), atol=1e-5
    )


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_the_cache_changes_no_bit(tiny_encoder: Path, toy_tasks: tuple[Task, ...], precision: str) -> None:
    examples = [*EXAMPLES, *toy_tasks[0].train, *toy_tasks[1].test]
    warm, cold = make(tiny_encoder, precision=precision), make(tiny_encoder, precision=precision, cache_mb=0)
    warm.prepare(examples)
    for start in range(0, len(examples), 7):  # other companions than in `prepare`
        part = examples[start : start + 7]
        first, second = warm.collate(part).inputs, warm.collate(part).inputs
        fresh = cold.collate(part).inputs
        for name in ("states", "mask"):
            assert torch.equal(first[name], second[name])
            assert torch.equal(first[name], fresh[name])
    assert len(cold._states.cache) == 0
    assert first["states"].dtype is torch.float32


def test_every_text_is_encoded_once_and_in_groups(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    backbone = make(tiny_encoder)
    seen = Counting(backbone)
    examples = [*toy_tasks[0].train, *toy_tasks[0].valid, *toy_tasks[0].train]
    different = len({(e.sentence, e.aspect) for e in examples})
    backbone.prepare(examples)
    assert sum(seen.calls) == different
    assert len(seen.calls) == len(set(backbone.lengths(examples)))  # a group per length, not a call per text
    list(sorted_batches(backbone, examples, 4))
    backbone.collate(examples[:5])
    assert sum(seen.calls) == different


def test_batches_are_prepared_together(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    backbone = make(tiny_encoder)
    seen = Counting(backbone)
    list(sorted_batches(backbone, toy_tasks[0].train, 1))
    assert len(seen.calls) == len(set(backbone.lengths(toy_tasks[0].train)))


def test_a_training_task_encodes_every_text_once(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    method = learned(tiny_encoder, "ncl", ())
    seen = Counting(method.model.backbone)
    task = toy_tasks[0]
    learn_task(method, task, TRAIN, Seeds(0))
    assert sum(seen.calls) == len({(e.sentence, e.aspect) for e in task.train + task.valid})


def test_the_encoder_never_trains(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder).train()
    assert backbone.trunk.training
    assert not backbone.encoder.training
    assert not any(parameter.requires_grad for parameter in backbone.encoder.parameters())
    first, second = backbone.collate(EXAMPLES), make(tiny_encoder).collate(EXAMPLES)
    assert torch.equal(first.inputs["states"], second.inputs["states"])


def test_states_read_without_gradients_can_be_trained_on(tiny_encoder: Path) -> None:
    """A predictor works in inference mode, and what it leaves in the cache must not spoil training."""
    backbone = make(tiny_encoder)
    with torch.inference_mode():
        backbone.collate(EXAMPLES)
    backbone(backbone.collate(EXAMPLES)).sum().backward()
    assert backbone.trunk.plastic()["conv3"].layer.weight.grad is not None


# --- memory ----------------------------------------------------------------------------------------------------------


def key(number: int) -> tuple[str, str, None]:
    return f"text {number}", "aspect", None


def test_memory_is_bounded_and_the_least_used_goes_first() -> None:
    cache = StateCache(1000)
    for number in range(10):
        cache.put(key(number), torch.zeros(10, 5))  # 200 bytes
        assert cache.size == 200 * len(cache) <= 1000
        assert cache.get(key(0)) is not None
    assert [number for number in range(10) if key(number) in cache] == [0, 6, 7, 8, 9]
    cache.put(key(99), torch.zeros(1000))  # larger than everything
    assert key(99) not in cache
    assert len(cache) == 5
    cache.put(key(0), torch.zeros(10, 5))
    assert cache.size == 1000


def test_the_memory_of_a_backbone_is_bounded(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder, cache_mb=1)
    words = ["good", "bad", "soup", "zoom", "the", "is"]
    many = [Example(" ".join([words[n % 6], words[n // 6 % 6], words[n // 36 % 6]] * 9), "soup") for n in range(216)]
    backbone.prepare(many)
    assert 0.9e6 < backbone._states.cache.size <= 1e6
    held = backbone._states.cache._states.values()
    assert sum(states.untyped_storage().nbytes() for states in held) == backbone._states.cache.size
    wanted = make(tiny_encoder).collate(many).inputs["states"]
    assert torch.equal(backbone.collate(many).inputs["states"], wanted)


def test_half_precision_takes_half_the_memory(tiny_encoder: Path) -> None:
    full, half = make(tiny_encoder), make(tiny_encoder, precision="float16")
    one, other = full.collate(EXAMPLES).inputs["states"], half.collate(EXAMPLES).inputs["states"]
    assert half._states.cache.size * 2 == full._states.cache.size
    assert torch.equal(other, one.half().float())


def test_a_copy_shares_the_cache(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder)
    backbone.prepare(EXAMPLES)
    other = copy.deepcopy(backbone)
    seen = Counting(other)
    batch = other.collate(EXAMPLES)
    assert not seen.calls
    assert torch.equal(other(batch), backbone(batch))


# --- disk ------------------------------------------------------------------------------------------------------------


def test_a_data_set_is_one_file_without_text(tiny_encoder: Path, toy_tasks: tuple[Task, ...], tmp_path: Path) -> None:
    folder = tmp_path / "states"
    backbone = make(tiny_encoder, cache_folder=str(folder))
    backbone.prepare(toy_tasks[0].test)  # not a data set
    assert not folder.exists()
    backbone.prepare(toy_tasks[0].train, dataset=True)
    (file,) = folder.iterdir()
    content = file.read_bytes()
    for example in toy_tasks[0].train:
        for text in (example.sentence, example.aspect):
            assert text.encode() not in content
    with safe_open(str(file), framework="pt") as handle:
        assert set(handle.keys()) == {"states", "lengths"}
        assert set(handle.metadata()) == {"sha256"}
    again = make(tiny_encoder, cache_folder=str(folder))
    seen = Counting(again)
    again.prepare(tuple(reversed(toy_tasks[0].train)), dataset=True)
    one, other = (b.collate(toy_tasks[0].train).inputs["states"] for b in (backbone, again))
    assert not seen.calls
    assert torch.equal(one, other)
    assert len(list(folder.iterdir())) == 1


def test_other_states_have_other_files(tiny_encoder: Path, toy_tasks: tuple[Task, ...], tmp_path: Path) -> None:
    for changes in ({}, {"precision": "float16"}, {"max_length": 9}):
        make(tiny_encoder, cache_folder=str(tmp_path), **changes).prepare(toy_tasks[0].train, dataset=True)
    make(tiny_encoder, cache_folder=str(tmp_path)).prepare(toy_tasks[1].train, dataset=True)
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_file_is_made_again(
    tiny_encoder: Path, toy_tasks: tuple[Task, ...], tmp_path: Path, damage: str
) -> None:
    wanted = make(tiny_encoder, cache_folder=str(tmp_path))
    wanted.prepare(toy_tasks[0].train, dataset=True)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[-100] ^= 64
    file.write_bytes({"cut": whole[:-50], "flip": bytes(flipped), "empty": b""}[damage])
    again = make(tiny_encoder, cache_folder=str(tmp_path))
    again.prepare(toy_tasks[0].train, dataset=True)
    one, other = (b.collate(toy_tasks[0].train).inputs["states"] for b in (wanted, again))
    assert torch.equal(one, other)
    assert file.read_bytes() == whole


# --- learning over it ------------------------------------------------------------------------------------------------


def learned(
    folder: Path, method: str, tasks: tuple[Task, ...], scenario: Scenario = Scenario.DIL, **changes: Any
) -> Method:
    settings = {"backbone.encoder": str(folder)} | {f"backbone.{name}": value for name, value in changes.items()}
    config = SystemConfig.preset(method=method, backbone="bert_frozen", scenario=scenario, changes=settings)
    made = build(config, 0)
    for task in tasks:
        learn_task(made, task, TRAIN, Seeds(0))
    return made.eval()


@pytest.mark.parametrize("scenario", list(Scenario))
@pytest.mark.parametrize(
    ("method", "trunk"), [("ncl", "kim"), ("ncl", "gru"), ("ncl", "mean"), ("hat", "kim"), ("hat", "kim_fc")]
)
def test_a_learned_model_comes_back(
    tiny_encoder: Path, toy_tasks: tuple[Task, ...], method: str, trunk: str, scenario: Scenario
) -> None:
    made = learned(tiny_encoder, method, toy_tasks[:2], scenario, trunk=trunk)
    again = learned(tiny_encoder, method, (), scenario, trunk=trunk)
    again.restore(made.facts(), {name: tensor.clone() for name, tensor in made.tensors().items()})
    batch = made.model.backbone.collate(toy_tasks[0].test)
    for task in (None, 0, 1):
        assert torch.equal(again.logits(batch, task), made.logits(batch, task))
        assert bool(torch.isfinite(made.logits(batch, task)).all())
    assert not any(".encoder." in name for name in made.tensors())


@pytest.mark.parametrize("trunk", ["kim", "kim_fc"])
def test_hat_keeps_earlier_features_to_the_bit(tiny_encoder: Path, toy_tasks: tuple[Task, ...], trunk: str) -> None:
    method = learned(tiny_encoder, "hat", toy_tasks[:1], trunk=trunk)
    assert isinstance(method, Hat)
    batch = method.model.backbone.collate(toy_tasks[0].test)
    weights = {name: tensor.clone() for name, tensor in method.model.backbone.trunk.state_dict().items()}
    before = method.output(batch, 0)
    for task in toy_tasks[1:3]:
        learn_task(method, task, TRAIN, Seeds(0))
    after = method.eval().output(batch, 0)
    assert torch.equal(after.features, before.features)
    assert torch.equal(after.logits, before.logits)
    assert any(not torch.equal(t, weights[name]) for name, t in method.model.backbone.trunk.state_dict().items())


def test_a_trunk_without_units_is_refused_by_methods_that_gate(tiny_encoder: Path) -> None:
    with pytest.raises(IncompatibleError, match="no layer"):
        learned(tiny_encoder, "hat", (), trunk="gru")
