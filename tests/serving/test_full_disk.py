"""A disk that is full or read-only: one sentence, nothing lost, nothing left, and disk and memory say the same."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from classic import files
from classic.cli.main import run
from classic.files import write_synced
from classic.serving.jobs import JobBook
from classic.store.store import Store

from .conftest import Serve, begin, wait

Full = Callable[[Path], bool]


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, Full]:
    """A disk that is full for the files `disk["full"]` names."""
    state: dict[str, Full] = {"full": lambda _: False}

    def write(path: Path, data: bytes) -> None:
        if state["full"](path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write_synced(path, data)

    monkeypatch.setattr(files, "write_synced", write)
    monkeypatch.setattr("classic.store.store.write_synced", write)
    return state


def on_disk(store: Path, job: str) -> dict[str, Any]:
    return dict(json.loads((store / "service" / "jobs" / job / "job.json").read_bytes()))


def test_a_job_that_fails_on_a_full_disk_is_over_on_disk_too_and_its_upload_is_gone(
    serve: Serve, taught_store: Path, upload: bytes, disk: dict[str, Full]
) -> None:
    """The disk is full until the upload goes. On the old code the job was "failed" in memory, "running" on disk."""
    client = serve(taught_store)
    disk["full"] = lambda path: path.name == ".job.json.tmp" and (path.parent / "branch").exists()
    job = wait(client, begin(client, upload)["id"])
    assert job["state"] == "failed" and "no space left" in job["error"]["message"]
    assert on_disk(taught_store, job["id"])["state"] == "failed"
    assert not (taught_store / "service" / "jobs" / job["id"] / "data").exists()
    assert client.get("/v1/status").json()["open_job"] is None


def test_a_job_that_cannot_even_be_ended_is_ended_when_there_is_room(
    serve: Serve, taught_store: Path, upload: bytes, disk: dict[str, Full], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classic.serving.service._LOOK", 0.05)
    client = serve(taught_store)
    job = wait(client, begin(client, upload)["id"], "ready", "held")
    disk["full"] = lambda path: path.name == ".job.json.tmp"
    refused = client.post(f"/v1/jobs/{job['id']}/discard")
    assert refused.status_code == 507 and refused.json()["error"]["code"] == "disk"
    assert "bytes are needed" in refused.json()["error"]["message"] and str(taught_store) not in refused.text
    assert not (taught_store / "service" / "jobs" / job["id"] / "data").exists()  # it goes whichever way
    assert client.get(f"/v1/jobs/{job['id']}").json()["state"] == on_disk(taught_store, job["id"])["state"]
    disk["full"] = lambda _: False
    assert wait(client, job["id"])["state"] == "discarded" == on_disk(taught_store, job["id"])["state"]


def test_a_job_whose_rows_are_gone_is_not_taught_again_after_a_restart(
    serve: Serve, taught_store: Path, upload: bytes
) -> None:
    client = serve(taught_store)
    job = wait(client, begin(client, upload)["id"], "ready", "held")
    book = JobBook(taught_store / "service")
    for entry in list(book.path(job["id"]).iterdir()):  # as a kill leaves it between deleting and saying so
        if entry.is_dir():
            entry.rename(taught_store / f"gone-{entry.name}")
    client.post(f"/v1/jobs/{job['id']}/discard")
    book.save(book.jobs[job["id"]], state="running")
    again = serve(taught_store)
    assert again.get(f"/v1/jobs/{job['id']}").json()["state"] == "failed"


def test_publish_and_rollback_on_a_full_disk_leave_the_old_version_answering(
    serve: Serve, taught_store: Path, upload: bytes, disk: dict[str, Full]
) -> None:
    client = serve(taught_store, margin=100.0)
    job = wait(client, begin(client, upload)["id"], "ready", "held")
    disk["full"] = lambda path: path.name == ".current.tmp"
    for answer in (
        client.post(f"/v1/jobs/{job['id']}/publish", json={"override": True, "reason": "it is fine"}),
        client.post("/v1/rollback", json={"version": 1}),
    ):
        assert answer.status_code == 507 and answer.json()["error"]["code"] == "disk", answer.text
    assert client.get("/v1/status").json()["version"] == 3 == Store.open(taught_store).current
    disk["full"] = lambda _: False
    published = client.post(f"/v1/jobs/{job['id']}/publish", json={"override": True, "reason": "it is fine"})
    assert published.json()["state"] == "published" and client.get("/v1/status").json()["version"] == 4
    Store.open(taught_store).verify()


def test_an_upload_that_does_not_fit_is_answered_with_507_and_removed(
    client: TestClient, taught_store: Path, upload: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("classic.serving.routes_teach.os.fsync", full)
    for path in ("/v1/teach?domain=router", "/v1/teach/check"):
        answer = client.post(path, content=upload, headers={"Content-Type": "application/jsonl"})
        assert answer.status_code == 507, answer.text
    assert not list((taught_store / "service" / "jobs").iterdir())
    assert not list((taught_store / "service" / "incoming").iterdir())


def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *command: str) -> str:
    """What the command line says before it ends with code 1; anything but a SystemExit would be a traceback."""
    monkeypatch.setattr("sys.argv", ["classic", *command])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 1
    return capsys.readouterr().err


def test_learn_on_a_full_disk_is_one_sentence_and_goes_on_when_there_is_room(
    taught_store: Path, tmp_path: Path, upload: bytes, disk: dict[str, Full], capsys: Any, monkeypatch: Any
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(upload)
    learn = (
        "learn",
        str(taught_store),
        str(tmp_path / "rows.jsonl"),
        "--domain",
        "router",
        "--json",
        "--device",
        "cpu",
    )
    before = Store.open(taught_store).verify()
    for name in (".checkpoint.safetensors.tmp", "delta.safetensors", ".current.tmp"):
        disk["full"] = lambda path, name=name: path.name == name
        said = told(capsys, monkeypatch, *learn)
        assert said.startswith("Error: ") and "no space left on device" in said and "bytes are needed" in said, said
        assert Store.open(taught_store).digest() == before
        assert not list((taught_store / "versions").glob(".*"))  # what is half-written would be in the way
    disk["full"] = lambda _: False
    monkeypatch.setattr("sys.argv", ["classic", *learn])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0 and Store.open(taught_store).domains()[-1] == "router"


@pytest.mark.parametrize("command", ["rollback", "serve", "learn"])
def test_a_read_only_disk_is_one_sentence(
    command: str, taught_store: Path, tmp_path: Path, upload: bytes, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(upload)
    opened = Path.open

    def read_only(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if set(mode) & set("wax+") and taught_store in path.parents:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(path, mode, *rest, **named)

    monkeypatch.setattr(Path, "open", read_only)
    monkeypatch.setenv("CLASSIC_TOKEN", "given")
    options = {
        "rollback": ("store", "rollback", str(taught_store), "1"),
        "serve": ("serve", str(taught_store), "--port", "0"),
        "learn": ("learn", str(taught_store), str(tmp_path / "rows.jsonl"), "--domain", "router", "--json"),
    }
    said = told(capsys, monkeypatch, *options[command])
    assert "cannot be written: read-only file system" in said and "How to mend it" in said, said
