"""Forgetting a domain: byte for byte the store from before, and its name nowhere."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from classic.cli.main import run
from classic.errors import BusyError, InputError
from classic.learning.learner import open_or_create
from classic.learning.teach import teach
from classic.serving.forgetting import forget_domain
from classic.serving.jobs import lock_service
from classic.store.deletion import delete_domain, files_with
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Task

NAME = "codenameQuokka"


@pytest.fixture
def stores(tmp_path: Path, quick_system: SystemConfig, toy_tasks: tuple[Task, ...]) -> tuple[Store, dict[str, bytes]]:
    """A store of three domains, the second secret, and the files it had before that."""
    store = open_or_create(tmp_path / "store", quick_system)
    teach(store, toy_tasks[0])
    before = content(store.path)
    teach(store, replace(toy_tasks[1], name=NAME))
    teach(store, toy_tasks[2])
    return store, before


def content(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_what_is_left_is_the_store_from_before_and_later_domains_are_named(
    stores: tuple[Store, dict[str, bytes]],
) -> None:
    store, before = stores
    promised = store.digest(1)
    assert files_with(store.path, NAME.encode())  # else the search finds nothing anyway
    done = delete_domain(store, NAME)
    assert (done.version, done.gone, done.again) == (1, [2, 3], ["lens"])
    assert done.sha256 == promised == store.verify()
    assert content(store.path) == before
    assert files_with(store.path, NAME.encode()) == []


def test_the_first_domain_can_be_forgotten_and_one_that_was_rolled_back(stores: tuple[Store, dict[str, bytes]]) -> None:
    store, _ = stores
    store.rollback(1)
    assert delete_domain(store, NAME).gone == [2, 3]  # not in use, but there
    assert store.domains() == ["screen"]
    assert delete_domain(store, "screen").version == 0 and store.domains() == []


def test_scores_of_other_versions_lose_the_name(stores: tuple[Store, dict[str, bytes]]) -> None:
    store, _ = stores
    pairs = {"pairs": [[0, 0, 3]]}
    store.write_scores(1, {"screen": pairs, NAME: pairs, f"{NAME} (by entropy)": pairs})
    assert delete_domain(store, NAME).scores == ["scores/0001.json"]
    assert store.read_scores(1) == {"screen": pairs} and files_with(store.path, NAME.encode()) == []


def test_a_domain_nobody_learned_is_refused_and_nothing_changes(stores: tuple[Store, dict[str, bytes]]) -> None:
    store, _ = stores
    before = content(store.path)
    with pytest.raises(InputError, match="nobody") as caught:
        delete_domain(store, "nobody")
    assert caught.value.fix == f"it knows {', '.join(store.domains())}" and NAME in caught.value.fix
    assert content(store.path) == before


def test_it_can_be_finished_after_a_kill(
    stores: tuple[Store, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before each of its steps, it ends as if it had not been."""
    store, before = stores
    saved = Path(shutil.copytree(store.path, store.path.with_name("saved")))
    for step in ("rollback", "prune", "verify"):
        shutil.rmtree(store.path)
        shutil.copytree(saved, store.path)
        with monkeypatch.context() as patch:
            patch.setattr(Store, step, _kill)
            with pytest.raises(KeyboardInterrupt):
                delete_domain(store, NAME)
        if NAME in store.domains() or files_with(store.path, NAME.encode()):
            delete_domain(store, NAME)
        assert content(store.path) == before, step


def _kill(*_: Any) -> None:
    raise KeyboardInterrupt


def test_the_service_forgets_it_too(stores: tuple[Store, dict[str, bytes]], capsys: Any, monkeypatch: Any) -> None:
    store, _ = stores
    service = store.path / "service"
    for job, domain, state in (("a" * 32, NAME, "published"), ("b" * 32, "screen", "published")):
        (service / "jobs" / job).mkdir(parents=True)
        (service / "jobs" / job / "job.json").write_text(json.dumps({"domain": domain, "state": state}))
    (service / "tests").mkdir()
    for number in (1, 2):
        (service / "tests" / f"{store.digest(number)}.{'0' * 64}.jsonl").write_text('{"sentence": "a kept row"}\n')
    entries = [{"action": "publish", "domain": name, "reason": None} for name in ("screen", NAME)]
    (service / "audit.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries) + '{"half')
    monkeypatch.setattr(
        "sys.argv", ["classic", "store", "delete", str(store.path), "--domain", NAME, "--yes", "--json"]
    )
    with pytest.raises(SystemExit) as ended:
        run()
    said = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0 and said["name_still_in"] == [] and said["again"] == ["lens"]
    assert [path.name for path in (service / "jobs").iterdir()] == ["b" * 32]
    assert [path.name.split(".")[0] for path in (service / "tests").iterdir()] == [store.digest(1)]
    lines = (service / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["domain"] for line in lines] == ["screen", None]


def test_it_is_refused_while_a_service_runs_or_teaches_it(stores: tuple[Store, dict[str, bytes]]) -> None:
    store, _ = stores
    service = store.path / "service"
    held = lock_service(service)
    with pytest.raises(BusyError, match="served already"):
        forget_domain(service, NAME, set())
    held.close()
    (service / "jobs" / ("c" * 32)).mkdir(parents=True)
    (service / "jobs" / ("c" * 32) / "job.json").write_text(json.dumps({"domain": NAME, "state": "running"}))
    with pytest.raises(InputError, match="being taught"):
        forget_domain(service, NAME, set())


def test_nobody_publishes_between_the_steps_of_a_deletion(
    stores: tuple[Store, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process published there would go, and nobody would be told."""
    store, prune, refused = stores[0], Store.prune, []

    def between(self: Store) -> list[int]:
        try:
            with Store.open(store.path).lock():
                pass
        except BusyError:
            refused.append(True)
        return prune(self)

    monkeypatch.setattr(Store, "prune", between)
    delete_domain(store, NAME)
    assert refused == [True]

    def as_another_thread() -> None:
        with pytest.raises(BusyError), store.lock():
            pass
        refused.append(True)

    with store.lock(), store.lock():  # who holds the lock may take it again, and gives it back once
        thread = threading.Thread(target=as_another_thread)
        thread.start()
        thread.join()
    assert refused == [True, True]  # another thread is another one, with the same object, too
    with Store.open(store.path).lock():
        pass
