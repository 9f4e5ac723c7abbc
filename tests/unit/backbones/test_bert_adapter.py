"""Adapter-BERT over the whole family."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from classic.backbones.bert_adapter import BertAdapter, BertAdapterConfig
from classic.errors import IncompatibleError, InputError
from classic.modules.adapter import Adapter
from classic.types import Example, Polarity, Task

EXAMPLES = [Example("the soup was good", "soup", Polarity.POSITIVE), Example("bad zoom today and so on", "zoom")]


def make(folder: Path, seed: int = 0, **shape: Any) -> BertAdapter:
    config = replace(BertAdapterConfig(str(folder), width=16), **shape)
    return BertAdapter(config, torch.Generator().manual_seed(seed))


@pytest.fixture(scope="session")
def family(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny random encoders with the tiny tokenizer."""
    import transformers as tf

    sizes = {
        "vocab_size": 200,
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 32,
        "max_position_embeddings": 40,
    }
    made = {
        "roberta": tf.RobertaModel(tf.RobertaConfig(**sizes, type_vocab_size=1)),
        "electra": tf.ElectraModel(tf.ElectraConfig(**sizes, embedding_size=16)),
        "mpnet": tf.MPNetModel(tf.MPNetConfig(**sizes)),
        "distilbert": tf.DistilBertModel(
            tf.DistilBertConfig(vocab_size=200, dim=32, n_layers=2, n_heads=4, hidden_dim=32)
        ),
        "gpt2": tf.GPT2Model(tf.GPT2Config(vocab_size=200, n_embd=32, n_layer=2, n_head=4, n_positions=40)),
    }
    folders = {}
    for name, model in made.items():
        folders[name] = tmp_path_factory.mktemp(name)
        model.save_pretrained(folders[name])
        (folders[name] / "tokenizer.json").write_bytes((tiny_encoder / "tokenizer.json").read_bytes())
    return folders


@pytest.mark.parametrize("name", ["roberta", "electra", "mpnet"])
def test_the_family_gets_two_adapters_per_layer_and_runs(family: dict[str, Path], name: str) -> None:
    backbone = make(family[name]).eval()
    assert len(backbone.adapters) == 2 * 3 == len(backbone.norms())
    assert len(backbone.plastic()) == 2 * 2 * 3
    ran = []
    for number, adapter in enumerate(backbone.adapters):
        adapter.register_forward_hook(lambda *_, number=number: ran.append(number))
    batch = backbone.collate(EXAMPLES)
    features = backbone(batch)
    assert ran == list(range(6))  # each once, in the order of their names
    assert features.shape == (2, backbone.features)
    assert bool(torch.isfinite(features).all())
    features[:, 0].sum().backward()  # not of all: behind a LayerNorm that sum is constant, and its gradient is rounding
    for adapter in backbone.adapters:
        assert float(adapter.up.layer.weight.grad.abs().sum()) > 0
    assert backbone.surface(batch).shape[0] == 2


@pytest.mark.parametrize("name", ["roberta", "electra", "mpnet"])
def test_long_texts_fit_the_positions(family: dict[str, Path], name: str) -> None:
    backbone = make(family[name], max_length=512).eval()
    batch = backbone.collate([Example("good " * 100, "soup")])
    assert batch.inputs["input_ids"].shape[1] <= 40
    assert bool(torch.isfinite(backbone(batch)).all())


@pytest.mark.parametrize("name", ["distilbert", "gpt2"])
def test_other_networks_are_refused(family: dict[str, Path], name: str) -> None:
    with pytest.raises(IncompatibleError, match="not of the BERT family"):
        make(family[name])


def test_an_encoder_without_a_pooler_is_refused_for_pooler_features(family: dict[str, Path]) -> None:
    with pytest.raises(IncompatibleError, match="no pooler"):
        make(family["electra"], pooling="pooler")


def test_only_adapters_and_norms_in_layers_train(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder)
    trainable = {name for name, parameter in backbone.named_parameters() if parameter.requires_grad}
    adapters = {
        f"adapters.{n}.{part}.layer.{kind}" for n in range(4) for part in ("down", "up") for kind in ("weight", "bias")
    }
    norms = {
        f"encoder.encoder.layer.{layer}.{place}.LayerNorm.{kind}"
        for layer in range(2)
        for place in ("attention.output", "output")
        for kind in ("weight", "bias")
    }
    assert trainable == adapters | norms
    assert {id(parameter) for norm in backbone.norms() for parameter in norm.parameters()} == {
        id(parameter) for name, parameter in backbone.named_parameters() if name in norms
    }


def test_an_adapter_stands_between_dropout_and_residual(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder).eval()
    site = backbone.encoder.encoder.layer[0].output
    dropout, adapter = site.dropout
    assert isinstance(dropout, nn.Dropout)
    assert isinstance(adapter, Adapter)
    hidden, residual = torch.randn(1, 3, 128), torch.randn(1, 3, 64)
    wanted = site.LayerNorm(adapter(site.dense(hidden)) + residual)
    assert torch.equal(site(hidden, residual), wanted)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_untrained_adapters_change_next_to_nothing(tiny_encoder: Path, pooling: str) -> None:
    from transformers import BertModel

    backbone = make(tiny_encoder, pooling=pooling).eval()
    plain = BertModel.from_pretrained(tiny_encoder).eval()
    batch = backbone.collate(EXAMPLES)
    outputs = plain(**batch.inputs)
    mask = batch.inputs["attention_mask"].unsqueeze(2)
    wanted = {
        "mean": (outputs.last_hidden_state * mask).sum(dim=1) / mask.sum(dim=1),
        "cls": outputs.last_hidden_state[:, 0],
        "pooler": outputs.pooler_output,
    }[pooling]
    with torch.no_grad():
        found = backbone(batch)
        for adapter in backbone.adapters:
            for plastic in (adapter.down, adapter.up):
                plastic.layer.weight.zero_()
        silenced = backbone(batch)
    assert 0 < (found - wanted).abs().max().item() < 0.1 * wanted.abs().max().item()
    assert torch.allclose(silenced, wanted, atol=1e-6)


def test_padding_hardly_changes_features(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder).eval()
    alone = backbone(backbone.collate(EXAMPLES[:1]))
    together = backbone(backbone.collate(EXAMPLES))
    assert torch.allclose(alone[0], together[0], atol=1e-5)


def test_the_generator_decides_about_the_adapters(tiny_encoder: Path) -> None:
    first, second, other = make(tiny_encoder, 1), make(tiny_encoder, 1), make(tiny_encoder, 2)
    batch = first.collate(EXAMPLES)
    for backbone in (first, second, other):
        backbone.eval()
    assert torch.equal(first(batch), second(batch))
    assert not torch.equal(first(batch), other(batch))


def test_plastic_layers_are_named_and_linked(tiny_encoder: Path) -> None:
    layers = make(tiny_encoder).plastic()
    assert list(layers) == [f"adapter{n}.{part}" for n in range(4) for part in ("down", "up")]
    for n in range(4):
        assert layers[f"adapter{n}.down"].upstream == ()
        assert layers[f"adapter{n}.up"].upstream == (layers[f"adapter{n}.down"],)


def test_the_surface_does_not_change_with_the_adapters(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    first, other = make(tiny_encoder, 1).eval(), make(tiny_encoder, 2).eval()
    batch = first.collate(toy_tasks[0].test)
    assert torch.equal(first.surface(batch), other.surface(batch))
    assert first.fingerprint() == other.fingerprint()
    assert first.fingerprint().keys() == {"encoder", "sha256", "tokenizer"}


def test_the_embedded_encoder_carries_adapters() -> None:
    backbone = make(Path("minilm")).eval()
    assert backbone.features == 384
    assert len(backbone.adapters) == 12
    batch = backbone.collate(EXAMPLES)
    assert batch.inputs["input_ids"].shape[1] < 20  # its tokenizer file pads to 128
    with torch.no_grad():
        assert bool(torch.isfinite(backbone(batch)).all())


# --- adapters in the uppermost layers only ---


@pytest.mark.parametrize("name", ["bert", "roberta", "electra", "mpnet"])
def test_what_lies_below_the_first_adapter_is_computed_once_and_the_same(
    name: str, tiny_encoder: Path, family: dict[str, Path]
) -> None:
    from classic.backbones.pairs import run_encoder
    from classic.types import Batch

    folder = tiny_encoder if name == "bert" else family[name]
    backbone = make(folder, layers=1).eval()
    whole = make(folder)
    assert len(backbone.adapters) == 2 < len(whole.adapters)
    assert len(backbone.norms()) == 2
    batch = backbone.collate(EXAMPLES)
    plain = Batch({k: v for k, v in batch.inputs.items() if k != "states"}, batch.labels, batch.rows)
    at_once = run_encoder(backbone.encoder, plain, backbone._tokenizer.segments).last_hidden_state
    real = batch.inputs["attention_mask"].bool()
    assert torch.allclose(backbone.tokens(batch)[real], at_once[real], atol=1e-5)
    assert {n for n, p in backbone.named_parameters() if p.requires_grad} == {
        n for n, p in backbone.named_parameters() if n.startswith("adapters.") or ("LayerNorm" in n and p.requires_grad)
    }
    alone = backbone.collate(EXAMPLES[:1]).inputs["states"][0]
    assert torch.equal(alone, batch.inputs["states"][0, : len(alone)])  # not even the last bit depends on the company


def test_dropout_never_reaches_what_was_computed_before(tiny_encoder: Path) -> None:
    backbone = make(tiny_encoder, layers=1).train()
    first = backbone.collate(EXAMPLES).inputs["states"]
    fresh = make(tiny_encoder, layers=1).train().collate(EXAMPLES).inputs["states"]
    assert torch.equal(first, fresh)
    assert backbone.encoder.encoder.layer[-1].training


def test_the_states_below_are_kept_on_disk(tiny_encoder: Path, tmp_path: Path) -> None:
    first = make(tiny_encoder, layers=1, cache_folder=str(tmp_path))
    first.prepare(EXAMPLES, dataset=True)
    (file,) = tmp_path.iterdir()
    stamp = file.stat().st_mtime_ns
    second = make(tiny_encoder, layers=1, cache_folder=str(tmp_path))
    second.prepare(EXAMPLES, dataset=True)
    assert file.stat().st_mtime_ns == stamp
    assert torch.equal(first.collate(EXAMPLES).inputs["states"], second.collate(EXAMPLES).inputs["states"])


def test_more_layers_than_there_are_is_all_of_them(tiny_encoder: Path) -> None:
    assert len(make(tiny_encoder, layers=99).adapters) == len(make(tiny_encoder).adapters)
    with pytest.raises(InputError, match=r"backbone\.layers is 0"):
        make(tiny_encoder, layers=0)


@pytest.mark.parametrize("name", ["bert", "roberta", "electra", "mpnet"])
def test_two_aspects_of_a_sentence_have_features_of_their_own(
    family: dict[str, Path], tiny_encoder: Path, name: str
) -> None:
    backbone = make(tiny_encoder if name == "bert" else family[name], pooling="aspect").eval()
    text = "the soup was good and the waiter was bad"
    batch = backbone.collate([Example(text, "soup", None, (4, 8)), Example(text, "soup", None, (26, 32))])
    whole, own = backbone(batch).split(backbone.hidden, dim=1)
    assert whole.shape == own.shape and backbone.features == 2 * backbone.hidden
    assert torch.allclose(whole[0], whole[1], atol=1e-6)  # the same tokens and, for the encoder, the same segments
    assert bool(((own[0] - own[1]).abs() > 1e-3).any())
