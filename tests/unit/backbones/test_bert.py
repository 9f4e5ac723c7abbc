"""Fine-tuned BERT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from classic.backbones.bert import Bert, BertConfig
from classic.backbones.encoder import check_encoder
from classic.config import PRESETS, TrainConfig
from classic.errors import IncompatibleError
from classic.methods.base import Method
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Example, Polarity, Task

EXAMPLES = [Example("the soup was good", "soup", Polarity.POSITIVE), Example("bad zoom today and so on", "zoom")]


def make(folder: Path, **shape: Any) -> Bert:
    return Bert(BertConfig(str(folder), **shape), torch.Generator().manual_seed(0))


def teach(folder: Path, tasks: tuple[Task, ...], **changes: Any) -> tuple[SystemConfig, Method]:
    config = SystemConfig.preset(method="ncl", backbone="bert", changes={"backbone.encoder": str(folder), **changes})
    method = build(config, 0)
    for task in tasks:
        learn_task(method, task, TrainConfig(epochs=2, learning_rate=1e-3, batch_size=8), Seeds(0))
    return config, method.eval()


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_features_are_the_encoders(tiny_encoder: Path, pooling: str) -> None:
    from transformers import BertModel

    backbone = make(tiny_encoder, pooling=pooling).eval()
    batch = backbone.collate(EXAMPLES)
    with torch.no_grad():
        outputs = BertModel.from_pretrained(tiny_encoder).eval()(**batch.inputs)
        found = backbone(batch)
    mask = batch.inputs["attention_mask"].unsqueeze(2)
    wanted = {
        "mean": (outputs.last_hidden_state * mask).sum(dim=1) / mask.sum(dim=1),
        "cls": outputs.last_hidden_state[:, 0],
        "pooler": outputs.pooler_output,
    }[pooling]
    assert torch.allclose(found, wanted, atol=1e-6)
    assert found.shape == (2, backbone.features)
    assert torch.allclose(backbone.tokens(batch), outputs.last_hidden_state, atol=1e-6)


def test_everything_trains_but_the_pooler(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder, pooling="pooler")
    frozen = {name for name, parameter in backbone.named_parameters() if not parameter.requires_grad}
    assert frozen == {"encoder.pooler.dense.weight", "encoder.pooler.dense.bias"}
    backbone(backbone.collate(EXAMPLES)).sum().backward()
    lacking = {name for name, p in backbone.named_parameters() if p.requires_grad and p.grad is None}
    assert not lacking


def test_a_learned_model_is_saved_whole_and_comes_back(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    config, method = teach(tiny_encoder, toy_tasks[:2])
    again = build(config, 0).eval()
    again.restore(method.facts(), {name: tensor.clone() for name, tensor in method.tensors().items()})
    batch = method.model.backbone.collate(toy_tasks[0].test)
    assert torch.equal(again.logits(batch), method.logits(batch))
    assert bool(torch.isfinite(method.logits(batch)).all())
    kept = set(method.tensors())
    assert "model.backbone.encoder.embeddings.word_embeddings.weight" in kept
    assert not any("pooler" in name or "first_words" in name for name in kept)


def test_training_moves_the_words_but_not_the_surface(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    fresh, (_, method) = make(tiny_encoder), teach(tiny_encoder, toy_tasks[:1])
    learned = method.model.backbone
    batch = fresh.collate(toy_tasks[0].test)
    before, after = (b.encoder.embeddings.word_embeddings.weight for b in (fresh, learned))
    assert not torch.equal(before, after)
    assert torch.equal(fresh.surface(batch), learned.surface(batch))
    assert learned.fingerprint() == fresh.fingerprint()
    assert learned.fingerprint()["sha256"] == check_encoder("", tiny_encoder)


def test_methods_that_gate_layers_are_refused(tiny_encoder: Path) -> None:
    config = SystemConfig.preset(method="hat", backbone="bert", changes={"backbone.encoder": str(tiny_encoder)})
    with pytest.raises(IncompatibleError, match="cannot work on backbone 'bert'"):
        build(config, 0)


def test_an_encoder_without_a_pooler_is_refused_for_pooler_features(tiny_encoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((tiny_encoder / name).read_bytes())
    weights = load_file(tiny_encoder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not name.startswith("pooler.")}
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(IncompatibleError, match="no pooler"):
        make(tmp_path, pooling="pooler")
    assert make(tmp_path).features == 64


def test_long_texts_are_cut_and_said_to_be(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder, max_length=500).eval()
    examples = [Example("good " * 100, "soup"), *EXAMPLES]
    assert backbone.lengths(examples)[0] == 64  # the tiny encoder's positions
    assert backbone.truncated(examples) == [True, False, False]
    assert bool(torch.isfinite(backbone(backbone.collate(examples))).all())


def test_presets() -> None:
    assert [
        SystemConfig.preset(name, method="ncl", backbone="bert").backbone_config["pooling"] for name in PRESETS
    ] == ["aspect", "cls", "pooler"]
