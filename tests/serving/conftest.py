"""A service over a tiny store, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from classic.data.drafts import as_values
from classic.serving.app import create_app
from classic.serving.guard import Access
from classic.serving.service import Service, ServiceConfig
from classic.store.store import Store
from classic.types import Example, Task

TOKEN = "a-token-for-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ENDED = ("published", "discarded", "cancelled", "failed")

Serve = Callable[..., TestClient]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a service over a store in this process; the client bears the token and asks as a loopback host.

    A second one over the same store is a restart: the first is ended before.
    """
    running: dict[Path, ExitStack] = {}
    with ExitStack() as all_of_them:

        def start(store: Path, **changes: Any) -> TestClient:
            if store in running:
                running[store].close()
            stack = running[store] = all_of_them.enter_context(ExitStack())
            config = ServiceConfig(access=Access(TOKEN), **changes)
            client = TestClient(create_app(Service(Store.open(store), config)), base_url="http://127.0.0.1:8321")
            client.headers.update(BEARER)
            return stack.enter_context(client)

        yield start


@pytest.fixture
def client(serve: Serve, taught_store: Path) -> TestClient:
    """A service over the store of three learned domains."""
    return serve(taught_store)


def as_jsonl(examples: tuple[Example, ...]) -> bytes:
    rows = [{name: value for name, value in as_values(e).items() if value is not None} for e in examples]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture(scope="session")
def upload(toy_tasks: tuple[Task, ...]) -> bytes:
    """The fourth toy domain as one JSONL file; the taught store does not know it."""
    task = toy_tasks[3]
    return as_jsonl(task.train + task.valid + task.test)


def begin(client: Any, upload: bytes, domain: str = "router", **query: Any) -> dict[str, Any]:
    """Starts to teach; returns the job."""
    answer = client.post(
        "/v1/teach", params={"domain": domain, **query}, content=upload, headers={"Content-Type": "application/jsonl"}
    )
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def wait(client: Any, job: str, *states: str) -> dict[str, Any]:
    """Waits until a job is in one of the states, or over."""
    for _ in range(6000):
        found = dict(client.get(f"/v1/jobs/{job}").json())
        if found["state"] in (*states, *ENDED):
            return found
        time.sleep(0.1)
    raise AssertionError(f"job is still {found['state']}")


class Process:
    """`classic serve` in a process of its own."""

    def __init__(self, store: Path, *options: str, files: int | None = None) -> None:
        limit = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files})); " if files else ""
        code = limit + "from classic.cli.main import run; run()"
        command = [sys.executable, "-c", code, "serve", str(store), "--port", "0", "--threads", "1", *options]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "CLASSIC_TOKEN": TOKEN, "TOKENIZERS_PARALLELISM": "false"}
        self.errors = store.with_suffix(".log").open("a+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment)
        assert self.process.stdout is not None
        self.url = ""
        for line in self.process.stdout:
            if found := re.match(r"(http://\S+)/#token=", line):
                self.url = found[1]
                break
        if not self.url:
            self.errors.seek(0)
            raise AssertionError(self.errors.read())
        self.client = httpx2.Client(base_url=self.url, headers=BEARER, timeout=60, trust_env=False)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def log(self) -> str:
        self.errors.flush()
        return Path(self.errors.name).read_text()


@pytest.fixture
def launch() -> Iterator[Callable[..., Process]]:
    """Starts processes and ends them with the test."""
    started: list[Process] = []

    def start(store: Path, *options: str, files: int | None = None) -> Process:
        started.append(Process(store, *options, files=files))
        return started[-1]

    yield start
    for process in started:
        process.client.close()
        process.kill()
