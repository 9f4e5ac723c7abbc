"""The service as a process: killed, asked to end, and exchanged under load."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from classic.data import load_task
from classic.learning.sequence import learn_sequence
from classic.learning.teach import teach
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Task

from .conftest import BEARER, Process, begin, wait

ASK = {"inputs": [{"sentence": "the screen is good and the soup is bad", "aspects": ["screen", "soup"]}]}
SECRET = "xylophone7731"


def open_request(server: Process, path: str, headers: str) -> socket.socket:
    """A connection with a request whose body is still to come."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), 60)
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {BEARER['Authorization']}\r\n{headers}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def test_a_killed_server_goes_on_teaching_and_ends_with_the_same_bytes(
    tmp_path: Path,
    launch: Callable[..., Process],
    tiny_system: Callable[..., SystemConfig],
    toy_tasks: tuple[Task, ...],
    upload: bytes,
) -> None:
    upload += json.dumps({"sentence": f"the {SECRET} is good", "aspect": SECRET, "polarity": "positive"}).encode()
    path = tmp_path / "served.store"
    learn_sequence(path, toy_tasks[:1], tiny_system(changes={"train.epochs": 40}))
    plain = Store.open(shutil.copytree(path, tmp_path / "plain.store"))
    (tmp_path / "upload.jsonl").write_bytes(upload)
    teach(plain, load_task("router", tmp_path / "upload.jsonl"))

    server = launch(path, "--margin", "100", "--verbose")
    job = begin(server.client, upload, publish="auto", keep_test="false")["id"]
    epochs = 0
    for kill_after in (3, 12):
        while epochs < kill_after:
            found = server.client.get(f"/v1/jobs/{job}").json()
            assert found["state"] in ("queued", "running"), "it ended before it was killed: give it more epochs"
            epochs = len(found["epochs"])
        server.kill()
        assert (path / "service" / "jobs" / job / "data" / "upload").is_file()
        server = launch(path, "--margin", "100", "--verbose")
        found = server.client.get(f"/v1/jobs/{job}").json()
        assert found["state"] in ("queued", "running") and len(found["epochs"]) >= kill_after
    done = wait(server.client, job)
    assert done["state"] == "published"
    assert Store.open(path).verify() == done["sha256"] == plain.digest()
    kept = [file for file in path.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]
    assert kept == []  # the upload is gone, and nothing else holds a word of it
    assert SECRET not in server.log


def test_a_server_that_is_asked_to_end_answers_first_and_ends_streams(
    taught_store: Path, launch: Callable[..., Process], upload: bytes
) -> None:
    server = launch(taught_store)
    job = begin(server.client, upload)["id"]
    seen: list[str] = []
    watching = threading.Event()

    def watch() -> None:
        with httpx2.Client(trust_env=False).stream(
            "GET", f"{server.url}/v1/jobs/{job}/events", headers=BEARER
        ) as stream:
            for line in stream.iter_lines():
                watching.set()
                seen.extend([line] if line.startswith("event: ") else [])

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert watching.wait(60)
    body = json.dumps(ASK | {"deadline_ms": 60000}).encode()
    headers = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue"
    asking = [open_request(server, "/v1/predict", headers) for _ in range(4)]
    replies = [connection.makefile("rb") for connection in asking]
    for reply in replies:  # the server asks for the body: the four have been begun
        assert [reply.readline(), reply.readline()] == [b"HTTP/1.1 100 Continue\r\n", b"\r\n"]
    server.process.send_signal(signal.SIGTERM)
    answers = []
    for connection, reply in zip(asking, replies, strict=True):
        connection.sendall(body)
        answers.append(reply.readline())
        connection.close()
    watcher.join(60)
    assert server.process.wait(60) == 0
    assert answers == [b"HTTP/1.1 200 OK\r\n"] * 4
    assert seen[-1] == "event: bye"
    again = launch(taught_store)  # and the job goes on
    assert wait(again.client, job, "ready", "held")["version"] == 4


def test_no_request_fails_while_versions_are_exchanged(taught_store: Path, launch: Callable[..., Process]) -> None:
    server = launch(taught_store)
    stop = threading.Event()
    answers: list[tuple[int, Any]] = []

    def load() -> None:
        with httpx2.Client(base_url=server.url, headers=BEARER, timeout=60, trust_env=False) as client:
            while not stop.is_set():
                answer = client.post("/v1/predict", json=ASK)
                answers.append((answer.status_code, answer.json().get("version")))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in [1, 2, 3] * 8 + [3]:  # 25 moves of the pointer, forwards and back
        assert server.client.post("/v1/rollback", json={"version": number}).status_code == 200
        assert server.client.post("/v1/predict", json=ASK).json()["version"] == number
    stop.set()
    for thread in threads:
        thread.join(60)
    assert len(answers) > 25 and {status for status, _ in answers} == {200}
    assert {version for _, version in answers} <= {1, 2, 3}


def test_it_listens_on_loopback_only_and_refuses_more_without_names(taught_store: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from classic.cli.main import app

    for options in (["--host", "0.0.0.0"], ["--host", "0.0.0.0", "--allow-host", "a.example", "--no-token"]):
        result = CliRunner().invoke(app, ["serve", str(taught_store), "--port", "0", *options])
        assert result.exit_code != 0 and "other machines" in str(result.exception)
    assert "no store is named" in str(CliRunner().invoke(app, ["serve"]).exception)
    other = CliRunner().invoke(app, ["serve", str(taught_store), "--port", "0", "--encoder", "mpnet"])
    assert "not 'mpnet'" in str(other.exception)  # a store keeps its encoder
    assert "there is no store" in str(CliRunner().invoke(app, ["serve", str(tmp_path / "none")]).exception)


def test_an_endless_body_is_cut_off(taught_store: Path, launch: Callable[..., Process]) -> None:
    server = launch(taught_store)
    sent = 0
    chunked = "Content-Type: text/csv\r\nTransfer-Encoding: chunked"
    with open_request(server, "/v1/teach/check", chunked) as endless, suppress(OSError):
        while sent < 64 << 20:
            endless.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536
    assert sent < 64 << 20  # the server stopped reading
    assert server.client.get("/healthz").status_code == 200
    assert not list((taught_store / "service" / "incoming").iterdir())


def test_a_second_service_on_one_store_is_refused_and_touches_nothing(
    launch: Callable[..., Process], taught_store: Path
) -> None:
    first = launch(taught_store)
    coming = taught_store / "service" / "incoming" / "an-upload-of-the-first"
    coming.write_bytes(b"half of it")
    with pytest.raises(AssertionError, match="is served already"):
        launch(taught_store)
    assert coming.is_file()  # a second one would have swept it away, and taught the first one's job again
    first.kill()
    again = launch(taught_store)  # the lock died with its holder
    assert again.client.get("/readyz").status_code == 200 and not coming.exists()


def memory_of(pid: int) -> bytes:
    """All that a process may write to, read from outside."""
    found = bytearray()
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in maps:
            area, rights, *_ = line.split()
            start, end = (int(place, 16) for place in area.split("-"))
            if rights.startswith("rw"):
                with suppress(OSError, OverflowError):  # some of the kernel's own areas cannot be read
                    memory.seek(start)
                    found += memory.read(end - start)
    return bytes(found)


def test_nothing_that_was_taught_stays_in_the_memory_of_the_service(
    taught_store: Path, launch: Callable[..., Process], upload: bytes
) -> None:
    """Without overwriting freed memory, pieces of the upload are found there."""
    row = {"aspect": "good", "polarity": "positive"}
    rows = [{"sentence": f"the {SECRET}{number} is good", **row} for number in range(32)]
    upload += b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    server = launch(taught_store, "--margin", "100")
    job = begin(server.client, upload, publish="auto", keep_test="false")["id"]
    assert wait(server.client, job)["state"] == "published"
    assert server.client.post("/v1/predict", json=ASK).status_code == 200
    held = memory_of(server.process.pid)
    assert b"router" in held  # the name of the domain stays, and the search finds it
    for form in (SECRET.encode(), SECRET.encode("utf-16-le"), SECRET.encode("utf-32-le")):
        assert held.count(form) == 0
