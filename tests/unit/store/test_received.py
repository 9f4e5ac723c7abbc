"""A store from somebody else: its sums are right, its contents may be anything. One clear error before the first use."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, save

from classic.errors import ClassicError, InputError, StoreError
from classic.files import json_bytes
from classic.learning.learner import load_learner
from classic.prediction.predictor import Predictor
from classic.store.archive import _MOST_TEXT, pack, unpack
from classic.store.store import Store

Tensors = dict[str, torch.Tensor]
Change = Callable[[Tensors], Tensors]


def forge(store: Path, number: int, name: str, data: bytes) -> None:
    """Replaces a file of a version and makes all sums right again, as a sender could."""
    parent: bytes = b""
    (store / "versions" / f"{number:04d}" / name).write_bytes(data)
    for each in sorted((store / "versions").iterdir()):
        manifest = json.loads((each / "manifest.json").read_bytes())
        for file in manifest["files"]:
            content = (each / file).read_bytes()
            manifest["files"][file] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        if manifest["parent"]:
            manifest["parent"]["sha256"] = hashlib.sha256(parent).hexdigest()
        parent = json_bytes(manifest)
        (each / "manifest.json").write_bytes(parent)
    (store / "current").write_bytes(f"3 {hashlib.sha256(parent).hexdigest()}\n".encode())


def forge_settings(store: Path, change: Callable[[dict[str, Any]], None]) -> None:
    settings = json.loads((store / "store.json").read_bytes())
    change(settings)
    (store / "store.json").write_bytes(json_bytes(settings))
    record = json.loads((store / "versions" / "0000" / "record.json").read_bytes())
    record["settings"] = hashlib.sha256(json_bytes(settings)).hexdigest()
    forge(store, 0, "record.json", json_bytes(record))


def one_entry(value: float) -> Change:
    def change(tensors: Tensors) -> Tensors:
        name = next(name for name, tensor in tensors.items() if tensor.is_floating_point() and tensor.numel())
        tensors[name].view(-1)[0] = value
        return tensors

    return change


def map_all(change: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    return lambda tensors: {name: change(tensor) for name, tensor in tensors.items()}


CHANGES: dict[str, Change] = {
    "a NaN": one_entry(float("nan")),
    "an infinity": one_entry(float("inf")),
    "another type": map_all(lambda t: t.double() if t.is_floating_point() else t),
    "other shapes": map_all(lambda t: t[..., :1].contiguous() if t.dim() > 1 else t),
    "one axis more": map_all(lambda t: t.unsqueeze(0)),
    "no tensors": lambda _: {},
    "an index too far": lambda ts: {n: t + 10**6 if ".at/" in n else t for n, t in ts.items()},
    "an unknown name": lambda ts: ts | {"whole/method/nobody": torch.zeros(2)},
}


@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("change", CHANGES)
def test_tensors_that_are_no_model_of_the_system_are_refused(taught_store: Path, change: str, number: int) -> None:
    file = taught_store / "versions" / f"{number:04d}" / "delta.safetensors"
    tensors = load(file.read_bytes())
    data = save(CHANGES[change](tensors), metadata={"format": "pt"})
    if data == file.read_bytes():
        pytest.skip("nothing of the kind in this version")
    forge(taught_store, number, "delta.safetensors", data)
    Store.open(taught_store).verify()  # every sum is right
    with pytest.raises(ClassicError):
        load_learner(Store.open(taught_store), number)


@pytest.mark.parametrize("key", ["domains", "classes", "temperature", "counts", "scores", "facts", "data"])
@pytest.mark.parametrize("value", [None, "x", 7, [], {}, [float(10**30), -1], [[99]], {"train": 1}])
def test_a_record_of_another_form_is_one_clear_error(taught_store: Path, tmp_path: Path, key: str, value: Any) -> None:
    record = json.loads((taught_store / "versions" / "0002" / "record.json").read_bytes())
    forge(taught_store, 2, "record.json", json_bytes(record | {key: value}))
    try:
        predictor = Predictor.open(taught_store)
    except ClassicError:
        return
    assert key in ("scores", "facts", "domains", "data")  # read from other versions, or may be empty
    assert len(predictor.predict("the screen is good", ["screen"])) == 1


@pytest.mark.parametrize("change", [{"parent": 0}, {"parent": None}, {"domain": 7}])
def test_a_record_that_says_something_else_than_its_manifest_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    store = Store.create(tmp_path / "a.store", {"system": {"method": "toy"}, "seed": 0}, {"whole/w": torch.zeros(4, 2)})
    with store.lock():
        for number in (1, 2, 3):
            record = {"domain": f"d{number}", "domains": [f"d{each}" for each in range(1, number + 1)]}
            store.publish({"w": torch.full((4, 2), float(number))}, record, {}, "# card\n")
    file = store.path / "versions" / "0002" / "record.json"
    forge(store.path, 2, "record.json", json_bytes(json.loads(file.read_bytes()) | change))
    with pytest.raises(StoreError, match="does not fit its manifest"):
        Store.open(store.path).version(2)


@pytest.mark.parametrize("name", ["someone/some-encoder", "bert-base-uncased"])
def test_an_encoder_that_is_not_here_is_not_fetched_unless_the_user_says_so(
    taught_store: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def fetch(*_: Any, local_files_only: bool, **__: Any) -> str:
        from huggingface_hub.errors import LocalEntryNotFoundError

        asked.append(local_files_only)
        raise LocalEntryNotFoundError("not there")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)

    def rename(settings: dict[str, Any]) -> None:
        settings["system"]["backbone_config"]["encoder"] = settings["encoder"]["encoder"] = name

    forge_settings(taught_store, rename)
    with pytest.raises(InputError, match="--allow-download"):
        load_learner(Store.open(taught_store))
    monkeypatch.setenv("CLASSIC_ALLOW_DOWNLOAD", "1")
    with pytest.raises(InputError):
        load_learner(Store.open(taught_store))
    assert asked == [True, False]


@pytest.mark.parametrize("key", ["system", "seed", "encoder", "labels"])
def test_settings_of_another_form_are_one_clear_error(taught_store: Path, key: str) -> None:
    for value in (None, 3.5, "x", [], {"a": 1}):
        forge_settings(taught_store, lambda settings, value=value: settings.update({key: value}))
        with pytest.raises(ClassicError):
            load_learner(Store.open(taught_store))


def test_a_pack_of_too_many_or_too_large_files_is_refused_before_it_is_written(
    taught_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "toy.packed"
    pack(Store.open(taught_path), file)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("versions/0009/run.json", b" " * (_MOST_TEXT + 1))
    with pytest.raises(StoreError, match=r"run\.json of more than"):
        unpack(file, tmp_path / "other")
    many = tmp_path / "many.packed"
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(5_001):
            archive.writestr(f"versions/{number:04d}/run.json", b"")
    with pytest.raises(StoreError, match="5,001 files"):
        unpack(many, tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.packed", "toy.packed"]


_UNPACK = """
import os, shutil, signal, sys
from pathlib import Path
shutil.copyfileobj = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from classic.store.archive import unpack
unpack(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_what_a_killed_unpack_left_is_swept_by_the_next(taught_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "toy.packed"
    pack(Store.open(taught_path), file)
    killed = subprocess.run([sys.executable, "-c", _UNPACK, str(file), str(tmp_path / "other")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".other.*"))) == 1
    (tmp_path / ".other.mine").mkdir()  # not one of ours by its name
    unpack(file, tmp_path / "other").verify()
    assert [path.name for path in tmp_path.glob(".*")] == [".other.mine"]
