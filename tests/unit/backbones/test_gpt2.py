"""GPT-2 as a backbone: its tokens, its sequences, its sampling."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from classic.backbones.gpt2 import Gpt2, Gpt2Config
from classic.errors import IncompatibleError, InputError
from classic.types import POLARITIES, Example, Polarity

SENTENCES = [
    "The screen is great but the battery dies after two hours.",
    "I think the soup was awful, and so was the waiter.",
    "The zoom is okay. What is the sentiment towards the router? positive, negative or neutral",
]
EXAMPLES = [
    Example("The screen is great, today.", "screen", Polarity.POSITIVE),
    Example("I think the soup was awful", "soup of the day", Polarity.NEGATIVE),
    Example("zoom okay", "zoom", Polarity.NEUTRAL),
    Example("The router!", "router"),
]


def write_gpt2(folder: Path, vocabulary: int = 420, **shape: Any) -> Path:
    """A random GPT-2 of 2 layers, 64 wide, and a byte-level BPE tokenizer trained on our own sentences."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        SENTENCES * 10,
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    sizes = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 96} | shape
    words = tokenizer.get_vocab_size()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        GPT2LMHeadModel(GPT2Config(vocab_size=words, bos_token_id=0, eos_token_id=0, **sizes)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny_gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gpt2(tmp_path_factory.mktemp("tiny_gpt2"))


def make(folder: Path, seed: int = 0, **shape: Any) -> Gpt2:
    return Gpt2(replace(Gpt2Config(str(folder)), **shape), torch.Generator().manual_seed(seed)).eval()


def test_without_a_model_it_says_what_to_give() -> None:
    with pytest.raises(InputError, match="Hugging Face id"):
        Gpt2(Gpt2Config(), torch.Generator())


def test_other_models_and_broken_folders_are_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(IncompatibleError, match="is a bert model"):
        make(tiny_encoder)
    folder = write_gpt2(tmp_path, n_positions=8)
    with pytest.raises(InputError, match="no room"):
        make(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        make(folder)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"pickled")
    with pytest.raises(InputError, match=r"model\.safetensors"):
        make(folder)


def test_an_end_token_outside_the_vocabulary_is_refused(tmp_path: Path) -> None:
    folder = write_gpt2(tmp_path)
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"eos_token_id": 0', '"eos_token_id": 50256'))
    with pytest.raises(InputError, match="end-of-text"):
        make(folder)


def test_the_sequence_is_sentence_question_answer_end(tiny_gpt2: Path) -> None:
    backbone = make(tiny_gpt2)
    batch = backbone.collate(EXAMPLES, [7, 5, 3, 1])
    assert batch.labels.tolist() == [0, 1, 2, -1]
    assert batch.rows.tolist() == [7, 5, 3, 1]
    assert batch.inputs["length"].tolist() == backbone.lengths(EXAMPLES)
    assert batch.inputs["input_ids"].shape[1] == max(backbone.lengths(EXAMPLES))
    for row, example in enumerate(EXAMPLES):
        length, prompt = int(batch.inputs["length"][row]), int(batch.inputs["prompt"][row])
        ids = batch.inputs["input_ids"][row].tolist()
        assert set(ids[length:]) <= {backbone.pad}
        assert ids[prompt - 1] == backbone.ans
        asked = backbone._tokenizer.decode(ids[: prompt - 1])
        assert asked == f"{example.sentence} What is the sentiment towards {example.aspect}?"
        if example.polarity is None:
            assert length == prompt
        else:
            assert ids[length - 1] == backbone.eos
            assert backbone._tokenizer.decode(ids[prompt : length - 1]) == f" {example.polarity}"
            assert backbone.parse(ids[:length]) == example
        marked = [token for token, mark in zip(ids, batch.inputs["topic"][row].tolist(), strict=True) if mark]
        assert backbone._tokenizer.decode(marked) == f"{example.sentence} {example.aspect}"


def test_text_cannot_spell_a_special_token(tiny_gpt2: Path) -> None:
    backbone = make(tiny_gpt2)
    example = Example("a <|endoftext|> [ANS] [GEN] b", "<|endoftext|>", Polarity.NEUTRAL)
    ids = backbone.collate([example]).inputs["input_ids"][0].tolist()
    assert ids.count(backbone.eos) == 1
    assert backbone.parse(ids) == example


def test_malformed_sequences_are_none(tiny_gpt2: Path) -> None:
    backbone = make(tiny_gpt2)
    example = EXAMPLES[0]
    good = backbone.collate([example]).inputs["input_ids"][0].tolist()
    at, ask = good.index(backbone.ans), backbone._ids(" What is the sentiment towards")
    assert backbone.parse(good) == example
    spoiled = {
        "nothing": [],
        "no end": good[:-1],
        "no [ANS]": [token for token in good if token != backbone.ans],
        "two [ANS]": [*good[:at], backbone.ans, *good[at:]],
        "padding": [backbone.pad, *good],
        "a generation token": [*good[:3], backbone.start(0), *good[3:]],
        "another answer": [*good[: at + 1], *backbone._ids(" fine"), backbone.eos],
        "no answer": [*good[: at + 1], backbone.eos],
        "two answers": [*good[:-1], *good[at + 1 :]],
        "no question": [*backbone._ids("The screen is great?"), *good[at:]],
        "no sentence": [*ask, *backbone._ids(" screen?"), *good[at:]],
        "no aspect": [*backbone._ids("great"), *ask, *backbone._ids("?"), *good[at:]],
        "half a letter": [*backbone._ids("é")[:1], *good],
    }
    assert [name for name, ids in spoiled.items() if backbone.parse(ids) is not None] == []


def test_long_texts_lose_the_end_of_the_sentence_whatever_the_label(tiny_gpt2: Path) -> None:
    backbone = make(tiny_gpt2, max_length=64)
    long = [Example("great " * 200, "screen", polarity) for polarity in (*POLARITIES, None)]
    long += [Example("great", "screen " * 200), EXAMPLES[2]]
    assert backbone.truncated(long) == [True] * 5 + [False]
    assert max(backbone.lengths(long)) <= 64
    batch = backbone.collate(long)
    assert len(set(batch.inputs["prompt"][:4].tolist())) == 1
    assert bool(torch.isfinite(backbone(batch)).all())


def test_new_rows_start_near_the_mean_and_old_ones_stay(tiny_gpt2: Path) -> None:
    backbone, other = make(tiny_gpt2), make(tiny_gpt2, seed=1)
    before = backbone._embeddings.weight.detach().clone()
    assert len(before) == backbone.start(1) == backbone._words + 3
    assert not torch.equal(before, other._embeddings.weight)
    assert torch.equal(before, make(tiny_gpt2)._embeddings.weight)
    backbone.make_room(3, torch.Generator().manual_seed(0))
    backbone.make_room(2, torch.Generator().manual_seed(0))
    after = backbone._embeddings.weight
    assert after.requires_grad
    assert len(after) == len(before) + 2
    assert torch.equal(after[: len(before)], before)
    mean = before[: backbone._words].mean(dim=0)
    assert float((after[backbone._words :] - mean).detach().std()) == pytest.approx(0.02, rel=0.3)


def test_padding_and_answers_do_not_reach_the_features(tiny_gpt2: Path) -> None:
    backbone = make(tiny_gpt2)
    together = backbone(backbone.collate(EXAMPLES))
    assert together.shape == (4, backbone.features)
    for row, example in enumerate(EXAMPLES):
        alone = backbone(backbone.collate([replace(example, polarity=None)]))
        assert torch.allclose(alone[0], together[row], atol=1e-5)


def test_the_surface_is_the_mean_of_the_untrained_embeddings(tiny_gpt2: Path) -> None:
    backbone = make(tiny_gpt2)
    batch = backbone.collate(EXAMPLES)
    before = backbone.surface(batch)
    table = backbone._embeddings.weight.detach()
    ids = backbone._ids(EXAMPLES[0].sentence) + backbone._ids(" screen")
    assert torch.allclose(before[0], table[torch.tensor(ids)].mean(dim=0), atol=1e-4)
    with torch.no_grad():
        backbone._embeddings.weight.add_(1.0)
    backbone.make_room(4, torch.Generator())
    assert torch.equal(backbone.surface(batch), before)
    assert "original" not in backbone.state_dict()


def test_logits_are_the_language_models_own(tiny_gpt2: Path) -> None:
    from transformers import GPT2LMHeadModel

    backbone = make(tiny_gpt2)
    ids = torch.tensor([backbone._ids(SENTENCES[0])])
    wanted = GPT2LMHeadModel.from_pretrained(tiny_gpt2).eval()(ids).logits
    found = backbone.vocabulary(backbone.states(ids))[..., : backbone._words]
    assert torch.allclose(found, wanted, atol=1e-5)


def test_sampling_with_the_cache_is_sampling_without(tiny_gpt2: Path) -> None:
    backbone = make(tiny_gpt2)
    starts = [backbone.start(0), backbone.ans, backbone.start(0)]
    written = backbone.sample(starts, 12, 5, 0.7, torch.Generator().manual_seed(3))
    generator, texts = torch.Generator().manual_seed(3), torch.tensor(starts).unsqueeze(1)
    with torch.no_grad():
        for _ in range(12):
            scores, tokens = backbone.vocabulary(backbone.states(texts)[:, -1]).topk(5)
            drawn = torch.multinomial((scores / 0.7).softmax(dim=-1), 1, generator=generator)
            texts = torch.cat([texts, tokens.gather(1, drawn)], dim=1)
    assert written == texts[:, 1:].tolist()
    assert written == backbone.sample(starts, 12, 5, 0.7, torch.Generator().manual_seed(3))
    assert written != backbone.sample(starts, 12, 5, 0.7, torch.Generator().manual_seed(4))
    assert backbone.sample([], 12, 5, 0.7, generator) == []


def test_sampling_ends_at_the_end_and_at_the_limit(tiny_gpt2: Path) -> None:
    backbone = make(tiny_gpt2, max_length=40)
    many = backbone.sample([backbone.start(0)] * 70, 1000, backbone._words + 99, 1.0, torch.Generator().manual_seed(0))
    assert len(many) == 70  # more than are sampled together
    for text in many:
        assert len(text) == 40 or text[-1] == backbone.eos
        assert text[:-1].count(backbone.eos) == 0


def test_fingerprint_names_the_weights(tiny_gpt2: Path) -> None:
    import hashlib

    found = make(tiny_gpt2).fingerprint()
    digest = hashlib.sha256((tiny_gpt2 / "model.safetensors").read_bytes()).hexdigest()
    assert found == {"encoder": str(tiny_gpt2), "sha256": digest}
