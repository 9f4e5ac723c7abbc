"""Pairs as tokens; finding, checking and reading encoders."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from classic.backbones import encoder as encoders
from classic.backbones.encoder import (
    PairTokenizer,
    check_encoder,
    encoder_folder,
    file_sha256,
    load_encoder,
    pool_aspect,
    pool_mean,
)
from classic.errors import InputError
from classic.types import Example, Polarity


@pytest.fixture
def pairs(tiny_encoder: Path) -> PairTokenizer:
    return PairTokenizer(tiny_encoder, 32, segments=True, pad_id=0)


def words(tokenizer: PairTokenizer, ids: list[int]) -> list[str]:
    return [tokenizer._tokenizer.id_to_token(each) for each in ids]


# --- the layout ---


def test_the_aspect_comes_first(pairs: PairTokenizer) -> None:
    batch = pairs.collate([Example("the soup was good", "soup", Polarity.NEUTRAL)])
    assert words(pairs, batch.inputs["input_ids"][0].tolist()) == [
        *("[CLS]", "soup", "[SEP]"),
        *("the", "soup", "was", "good", "[SEP]"),
    ]
    assert batch.inputs["token_type_ids"][0].tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert batch.labels.tolist() == [2]
    assert batch.rows.tolist() == [0]


def test_a_repeated_aspect_is_told_apart_by_its_span(pairs: PairTokenizer) -> None:
    sentence = "good soup bad soup"
    first, second, neither = (
        pairs.collate([Example(sentence, "soup", None, span)]).inputs for span in ((5, 9), (14, 18), None)
    )
    assert torch.equal(first["input_ids"], second["input_ids"])
    assert first["token_type_ids"][0].tolist() == [0, 0, 0, 1, 0, 1, 1, 1]
    assert second["token_type_ids"][0].tolist() == [0, 0, 0, 1, 1, 1, 0, 1]
    assert neither["token_type_ids"][0].tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


def test_an_aspect_that_occurs_once_needs_no_mark(pairs: PairTokenizer) -> None:
    marked = pairs.collate([Example("good soup", "soup", None, (5, 9))]).inputs["token_type_ids"]
    assert marked[0].tolist() == [0, 0, 0, 1, 1, 1]


def test_every_piece_of_a_span_is_marked(pairs: PairTokenizer) -> None:
    """A mouse is no word of the vocabulary, so it is spelled in five pieces."""
    sentence = "mouse good mouse"
    batch = pairs.collate([Example(sentence, "mouse", None, (11, 16))])
    marks = batch.inputs["token_type_ids"][0].tolist()
    assert marks == [0] * 7 + [1] * 6 + [0] * 5 + [1]


def test_marks_stand_on_the_aspects_own_words_in_the_sentence(tiny_encoder: Path) -> None:
    pairs = PairTokenizer(tiny_encoder, 32, segments=True, pad_id=0, marks=True)

    def kinds(sentence: str, aspect: str, span: tuple[int, int] | None = None) -> list[int]:
        found: list[int] = pairs.collate([Example(sentence, aspect, None, span)]).inputs["token_type_ids"][0].tolist()
        return found

    assert kinds("the Soup was good", "soup") == [0, 0, 0, 1, 2, 1, 1, 1]
    assert kinds("good soup bad soup", "soup") == [0, 0, 0, 1, 2, 1, 2, 1]
    assert kinds("good soup bad soup", "soup", (14, 18)) == [0, 0, 0, 1, 1, 1, 2, 1]
    assert kinds("soup so good", "so") == [0, 0, 0, 1, 2, 1, 1]  # a word of its own comes before a part of one
    assert kinds("soup good", "so")[3] == 2
    assert kinds("good and bad", "so") == [0, 0, 0, 1, 1, 1, 1]


def test_nothing_is_unknown(pairs: PairTokenizer) -> None:
    batch = pairs.collate([Example("xylophone 42, and zebra!", "xylophone")])
    assert "[UNK]" not in words(pairs, batch.inputs["input_ids"][0].tolist())


# --- padding and truncation ---


def test_padding_goes_to_the_longest_of_the_batch(pairs: PairTokenizer) -> None:
    examples = [Example("good", "soup"), Example("the soup is very good", "soup", Polarity.POSITIVE)]
    assert pairs.lengths(examples) == [5, 9]
    batch = pairs.collate(examples, rows=[40, 2])
    assert batch.inputs["input_ids"].shape == (2, 9)
    assert batch.inputs["attention_mask"].sum(dim=1).tolist() == [5, 9]
    assert batch.inputs["input_ids"][0, 5:].tolist() == [0] * 4
    assert batch.rows.tolist() == [40, 2]
    assert batch.labels.tolist() == [-1, 0]
    assert pairs.collate(examples[:1]).inputs["input_ids"].shape == (1, 5)


def test_padding_fixed_in_a_tokenizer_file_is_switched_off(tiny_encoder: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(tiny_encoder / "tokenizer.json"))
    tokenizer.enable_padding(length=30)
    tokenizer.enable_truncation(30)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    pairs = PairTokenizer(tmp_path, 60, segments=True, pad_id=0)
    assert pairs.collate([Example("good", "soup")]).inputs["input_ids"].shape == (1, 5)
    assert pairs.lengths([Example("good " * 50, "soup")]) == [54]


def test_the_longer_part_loses_tokens_first(tiny_encoder: Path) -> None:
    pairs = PairTokenizer(tiny_encoder, 10, segments=True, pad_id=0)
    long_sentence = Example("the soup is very good and the waiter was so", "soup", Polarity.POSITIVE)
    long_aspect = Example("good soup", "the very good soup and the waiter today", Polarity.POSITIVE)
    short = Example("good", "soup", Polarity.POSITIVE)
    assert pairs.lengths([long_sentence, long_aspect, short]) == [10, 10, 5]
    assert pairs.truncated([long_sentence, long_aspect, short]) == [True, True, False]
    first = words(pairs, pairs.collate([long_sentence]).inputs["input_ids"][0].tolist())
    assert first == ["[CLS]", "soup", "[SEP]", "the", "soup", "is", "very", "good", "and", "[SEP]"]
    second = words(pairs, pairs.collate([long_aspect]).inputs["input_ids"][0].tolist())
    assert second == ["[CLS]", "the", "very", "good", "soup", "and", "[SEP]", "good", "soup", "[SEP]"]


def test_an_exactly_fitting_example_is_not_truncated(tiny_encoder: Path) -> None:
    pairs = PairTokenizer(tiny_encoder, 5, segments=True, pad_id=0)
    assert pairs.truncated([Example("good", "soup"), Example("so good", "soup")]) == [False, True]


def test_mean_pooling_does_not_see_padding() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [99.0, 99.0]]])
    assert torch.equal(pool_mean(states, torch.tensor([[1, 1, 0]])), torch.tensor([[2.0, 3.0]]))


def test_the_aspect_is_pooled_beside_the_whole() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [99.0, 99.0]]])
    mask, marked = torch.tensor([[1, 1, 0]]), torch.tensor([[1, 2, 0]])
    assert torch.equal(pool_aspect(states, mask, marked), torch.tensor([[2.0, 3.0, 3.0, 4.0]]))
    assert torch.equal(pool_aspect(states, mask, torch.ones_like(marked)), torch.tensor([[2.0, 3.0, 2.0, 3.0]]))


# --- folders, hashes, weights ---


def test_the_embedded_encoder_is_found_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = encoder_folder("minilm")
    wanted = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert check_encoder("minilm", folder) == wanted == file_sha256(folder / "model.safetensors")
    monkeypatch.setattr(encoders, "_EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(InputError, match="damaged"):
        check_encoder("minilm", folder)
    assert check_encoder(str(folder), folder) == wanted  # only the embedded one has a hash to keep


def test_a_changed_file_has_another_hash(tmp_path: Path) -> None:
    target = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(2)}, target)
    before = file_sha256(target)
    save_file({"a": torch.zeros(3)}, target)
    assert file_sha256(target) != before


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "~/no such encoder"])
def test_a_missing_folder_is_refused_without_asking_the_network(name: str) -> None:
    with pytest.raises(InputError, match=r"config\.json"):
        encoder_folder(name)


def test_a_folder_without_safetensors_is_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((tiny_encoder / "config.json").read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    assert encoder_folder(str(tmp_path)) == tmp_path
    with pytest.raises(InputError, match=r"model\.safetensors"):
        check_encoder(str(tmp_path), tmp_path)


def _copy_without(source: Path, target: Path, prefix: str) -> None:
    (target / "config.json").write_bytes((source / "config.json").read_bytes())
    weights = load_file(source / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not name.startswith(prefix)}
    save_file(kept, target / "model.safetensors", metadata={"format": "pt"})


def test_a_missing_pooler_is_not_made_up(tiny_encoder: Path, tmp_path: Path) -> None:
    _copy_without(tiny_encoder, tmp_path, "pooler.")
    assert load_encoder(tmp_path).pooler is None
    assert load_encoder(tiny_encoder).pooler is not None


def test_missing_weights_are_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    _copy_without(tiny_encoder, tmp_path, "encoder.layer.1.output")
    with pytest.raises(InputError, match=r"lacks 4 of its weights"):
        load_encoder(tmp_path)


def test_weights_are_read_as_float32(tiny_encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((tiny_encoder / "config.json").read_bytes())
    weights = load_file(tiny_encoder / "model.safetensors")
    save_file({name: value.half() for name, value in weights.items()}, tmp_path / "model.safetensors", {"format": "pt"})
    assert {parameter.dtype for parameter in load_encoder(tmp_path).parameters()} == {torch.float32}
