"""Word vectors: look-up, formats, and the networks over them."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from classic.backbones import vectors as tables
from classic.backbones.vectors import WordVectors, load_vectors, split_words
from classic.backbones.w2v import W2v, W2vConfig
from classic.config import TrainConfig
from classic.errors import InputError
from classic.methods.base import Method
from classic.methods.hat import Hat
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Example, Polarity, Task

pytest.importorskip("gensim")

WORDS = ["the", "soup", "was", "good", "bad", "do", "n't", "it's", "caf\u00e9", "5", "screen", "is", "great", "awful"]
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32).round(3)
TRAIN = TrainConfig(learning_rate=0.05, optimiser="sgd", epochs=3, batch_size=8, warmup=0.0, schedule="constant")


def lines(header: bool) -> str:
    body = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, TABLE, strict=True))
    return f"{len(WORDS)} 4\n{body}" if header else body


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.vec"
    path.write_text(lines(header=True), encoding="utf-8")
    return path


def make(path: Path | str, seed: int = 0, **changes: Any) -> W2v:
    return W2v(W2vConfig(str(path), **changes), torch.Generator().manual_seed(seed)).eval()


# --- the tokeniser and the look-up ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The SOUP, was good!", ["the", "soup", "was", "good"]),
        ("It's n't don\u2019t 'quoted' rock'n'roll", ["it's", "n't", "don't", "quoted", "rock'n'roll"]),
        ("caf\u00e9 5.1 e-mail snake_case -LRB-", ["caf\u00e9", "5", "1", "e", "mail", "snake", "case", "lrb"]),
        ("", []),
        (" ... !? '' ", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_rows_are_looked_up_in_the_whole_table(file: Path) -> None:
    table = load_vectors(str(file))
    assert len(table) == len(WORDS)
    assert table.rows("The good soup, caf\u00e9 5!") == [0, 3, 1, 8, 9]
    assert table.rows("unheard of") == [-1, -1]


def test_a_contraction_is_read_as_its_parts_only_if_need_be(file: Path) -> None:
    table = load_vectors(str(file))
    assert table.rows("it's") == [7]
    assert table.rows("don't") == [5, 6]
    assert table.rows("do n't") == [5, 6]
    assert table.rows("can't") == [-1]  # no "ca" in this table


def test_unknown_words_are_zeros_and_hold_their_place(file: Path) -> None:
    states = load_vectors(str(file)).states([3, -1, 0])
    assert torch.equal(states, torch.from_numpy(np.stack([TABLE[3], np.zeros(4, np.float32), TABLE[0]])))
    assert torch.equal(load_vectors(str(file)).states([]), torch.zeros(1, 4))


def test_a_look_up_does_not_change_the_table(file: Path) -> None:
    table = load_vectors(str(file))
    states = table.states([0])
    states += 1
    assert torch.equal(table.states([0])[0], torch.from_numpy(TABLE[0]))


# --- the embedded table ----------------------------------------------------------------------------------------------


def test_the_embedded_table(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    table = load_vectors("glove-6b-50d")
    assert (len(table), table.width) == (400_000, 50)
    assert table.rows("the screen isn't good") == [0, *table.rows("screen is n't good")]
    wanted = torch.tensor([0.418, 0.24968, -0.41242, 0.1217, 0.34527])  # "the" in Stanford's glove.6B.50d.txt
    assert torch.equal(table.states([0])[0, :5], wanted)
    monkeypatch.setitem(tables._FILES, "glove_6B_index.parquet", "0" * 64)
    with pytest.raises(InputError, match=r"damaged: glove_6B_index\.parquet"):
        tables._embedded()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_PACKAGE", "no-such-package-at-all")
    with pytest.raises(InputError, match=r"classic-asc\[w2v\]"):
        tables._embedded()


# --- files -----------------------------------------------------------------------------------------------------------


def binary() -> bytes:
    rows = [word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(WORDS, TABLE, strict=True)]
    return f"{len(WORDS)} 4\n".encode() + b"".join(rows)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("word2vec.txt", lines(header=True).encode()),
        ("fasttext.vec", lines(header=True).encode()),
        ("glove.txt", lines(header=False).encode()),
        ("word2vec.bin", binary()),
        ("packed.vec.gz", gzip.compress(lines(header=True).encode())),
        ("packed_glove.txt.gz", gzip.compress(lines(header=False).encode())),
        ("packed.bin.gz", gzip.compress(binary())),
    ],
)
def test_formats(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    table = load_vectors(str(path))
    assert torch.allclose(table.states(list(range(len(WORDS)))), torch.from_numpy(TABLE), atol=1e-6)
    assert table.rows("caf\u00e9 n't") == [8, 6]
    assert make(path).fingerprint()["sha256"] == table.sha256


def test_a_limit_reads_the_beginning(file: Path) -> None:
    table = load_vectors(str(file), 3)
    assert len(table) == 3
    assert table.rows("soup good") == [1, -1]


@pytest.mark.parametrize("name", ["words.kv", "words.model", "words.pkl", "words.npy", "words.txt"])
def test_pickled_formats_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00cos\nsystem\n.")
    with pytest.raises(InputError, match="pickled"):
        load_vectors(str(path))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no word vectors at"):
        load_vectors(str(tmp_path / "nothing.vec"))
    facebook = tmp_path / "cc.en.300.bin"
    facebook.write_bytes(struct.pack("<ii", 793712314, 12) + bytes(64))
    with pytest.raises(InputError, match=r"\.vec"):
        load_vectors(str(facebook))
    prose = tmp_path / "prose.txt"
    prose.write_text("this is no table\nof anything at all\n")
    with pytest.raises(InputError, match="no word vectors that can be read"):
        load_vectors(str(prose))


# --- the backbone ----------------------------------------------------------------------------------------------------

EXAMPLES = [
    Example("The soup was good", "soup", Polarity.POSITIVE),
    Example("bad, bad screen", "great screen"),
    Example("?!", "...", Polarity.NEGATIVE),
]


def test_the_aspect_comes_first(file: Path) -> None:
    batch = make(file).collate(EXAMPLES, [5, 6, 7])
    assert batch.inputs["mask"].sum(dim=1).tolist() == [5, 5, 1]
    assert torch.equal(batch.inputs["states"][0], torch.from_numpy(TABLE[[1, 0, 1, 2, 3]]))
    assert torch.equal(batch.inputs["states"][1], torch.from_numpy(TABLE[[12, 10, 4, 4, 10]]))
    assert not batch.inputs["states"][2].any()
    assert (batch.labels.tolist(), batch.rows.tolist()) == ([0, -1, 1], [5, 6, 7])
    assert make(file).lengths(EXAMPLES) == [5, 5, 1]


def test_the_gated_network_reads_aspect_and_sentence_apart(file: Path) -> None:
    backbone = make(file, trunk="gated")
    batch = backbone.collate(EXAMPLES)
    assert torch.equal(batch.inputs["states"][0], torch.from_numpy(TABLE[[0, 1, 2, 3]]))
    assert torch.equal(batch.inputs["aspect_states"][1], torch.from_numpy(TABLE[[12, 10]]))
    assert batch.inputs["mask"].sum(dim=1).tolist() == [4, 3, 1]
    assert batch.inputs["aspect_mask"].sum(dim=1).tolist() == [1, 2, 1]
    other = backbone.collate([Example("The soup was good", "great screen")])
    with torch.no_grad():
        assert not torch.equal(backbone(batch)[0], backbone(other)[0])


@pytest.mark.parametrize("trunk", ["kim", "kim_fc", "gated", "gru", "mean"])
def test_every_trunk_runs(file: Path, trunk: str) -> None:
    backbone = make(file, trunk=trunk)
    with torch.no_grad():
        features = backbone(backbone.collate(EXAMPLES))
    assert features.shape == (3, backbone.features)
    assert bool(torch.isfinite(features).all())
    assert torch.equal(backbone.tokens(backbone.collate(EXAMPLES)), backbone.collate(EXAMPLES).inputs["states"])
    assert list(backbone.plastic()) == list(backbone.trunk.plastic())


def test_long_texts_are_cut_at_the_end_and_said_to_be(file: Path) -> None:
    backbone = make(file, max_length=4)
    assert backbone.lengths(EXAMPLES) == [4, 4, 1]
    assert backbone.truncated(EXAMPLES) == [True, True, False]
    assert torch.equal(backbone.collate(EXAMPLES).inputs["states"][0], torch.from_numpy(TABLE[[1, 0, 1, 2]]))


def test_the_surface_is_the_mean_word_and_never_changes(file: Path) -> None:
    batch = make(file).collate(EXAMPLES)
    wanted = torch.from_numpy(TABLE[[1, 0, 1, 2, 3]].mean(axis=0))
    assert torch.allclose(make(file).surface(batch)[0], wanted, atol=1e-6)
    assert torch.equal(make(file, 1).surface(batch), make(file, 2).surface(batch))


def learned(path: Path, method: str, trunk: str, tasks: tuple[Task, ...]) -> Method:
    changes = {"backbone.vectors": str(path), "backbone.trunk": trunk}
    made = build(SystemConfig.preset(method=method, backbone="w2v", changes=changes), 0)
    for task in tasks:
        learn_task(made, task, TRAIN, Seeds(0))
    return made.eval()


@pytest.mark.parametrize(
    ("method", "trunk"),
    [("ncl", "kim"), ("ncl", "gated"), ("ncl", "gru"), ("hat", "kim"), ("hat", "kim_fc"), ("hat", "gated")],
)
def test_learning_over_it(file: Path, toy_tasks: tuple[Task, ...], method: str, trunk: str) -> None:
    made = learned(file, method, trunk, toy_tasks[:1])
    batch = made.model.backbone.collate(toy_tasks[0].test)
    first = made.output(batch, 0) if isinstance(made, Hat) else None
    learn_task(made, toy_tasks[1], TRAIN, Seeds(0))
    made.eval()
    again = learned(file, method, trunk, ())
    again.restore(made.facts(), {name: tensor.clone() for name, tensor in made.tensors().items()})
    for task in (None, 0, 1):
        assert torch.equal(again.logits(batch, task), made.logits(batch, task))
        assert bool(torch.isfinite(made.logits(batch, task)).all())
    if first is not None and isinstance(made, Hat):
        assert torch.equal(made.output(batch, 0).features, first.features)
        assert torch.equal(made.output(batch, 0).logits, first.logits)


def test_a_copy_shares_the_table(file: Path) -> None:
    import copy

    backbone = make(file)
    other = copy.deepcopy(backbone)
    assert isinstance(other._vectors, WordVectors)
    assert other._vectors is backbone._vectors
