"""A learning process is killed, again and again: the store ends as if nothing had happened.

CLASSIC_KILLS=200 makes more random kills; CLASSIC_KILL_POINTS=all kills before every single change of a file.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from classic.store.store import Store
from classic.types import Task

SEED = int(os.environ.get("CLASSIC_KILL_SEED", "20210"))
KILLS = int(os.environ.get("CLASSIC_KILLS", "10"))
POINTS = os.environ.get("CLASSIC_KILL_POINTS", "12")


class Driver:
    """The fork server of driver.py."""

    def __init__(self, encoder: Path, tasks: Path) -> None:
        command = [sys.executable, str(Path(__file__).with_name("driver.py")), str(encoder), str(tasks)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def learn(self, store: Path, tasks: int = 4, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"store": str(store), "tasks": tasks} | request) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["status"] != "failed", "the child ended with an error; see its traceback"
        return answer


@pytest.fixture(scope="module")
def driver(
    tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Path, toy_tasks: tuple[Task, ...]
) -> Iterator[Driver]:
    file = tmp_path_factory.mktemp("driver") / "tasks.json"
    tasks = [(task.name, (task.train, task.valid, task.test)) for task in toy_tasks]
    plain = [[name, [[[e.sentence, e.aspect, e.polarity] for e in part] for part in parts]] for name, parts in tasks]
    file.write_text(json.dumps(plain))
    started = Driver(tiny_encoder, file)
    yield started
    assert started.process.stdin is not None
    started.process.stdin.close()
    assert started.process.wait(timeout=30) == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, driver: Driver) -> tuple[Path, float]:
    """A store that was learned in one go, and how long that took."""
    path = tmp_path_factory.mktemp("whole") / "store"
    return path, driver.learn(path)["seconds"]


def check(path: Path, most: int) -> None:
    """What must hold at any time, right after a kill too: no store yet, or a whole one."""
    if Store.exists(path):
        store = Store.open(path)
        store.verify()
        assert store.current <= most


def leftovers(path: Path) -> list[str]:
    strange = [entry.name for entry in path.iterdir() if entry.name.startswith(".") or entry.name == "work"]
    return strange + [entry.name for entry in (path / "versions").iterdir() if entry.name.startswith(".")]


def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    driver: Driver, whole: tuple[Path, float], tmp_path: Path
) -> None:
    digest, seconds = Store.open(whole[0]).verify(), whole[1]
    print(f"CLASSIC_KILL_SEED={SEED}")
    draw = random.Random(SEED)
    kills, stores = 0, 0
    while kills < KILLS:
        path = tmp_path / f"store{stores}"
        stores += 1
        while kills < KILLS:
            answer = driver.learn(path, kill_after=draw.uniform(0.05, 0.6) * seconds)
            check(path, most=4)
            if answer["status"] == "done":
                break
            kills += 1
        driver.learn(path)
        store = Store.open(path)
        assert store.verify() == digest
        assert store.numbers() == [0, 1, 2, 3, 4]
        assert leftovers(path) == []


def test_killed_before_a_change_of_a_file_it_ends_with_the_same_bytes(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "counted"
    changes = driver.learn(path, tasks=1, count=True)["changes"]
    digest = Store.open(path).verify()
    assert {"open", "os.fsync", "os.rename", "os.mkdir", "os.remove", "os.rmdir"} == set(changes)
    print(f"{len(changes)} changes of files, CLASSIC_KILL_SEED={SEED}")
    points = list(range(1, len(changes) + 1))
    if POINTS != "all":
        points = sorted(random.Random(SEED).sample(points, int(POINTS)))
    for point in points:
        path = tmp_path / f"point{point}"
        assert driver.learn(path, tasks=1, kill_before=point)["status"] == "killed"
        check(path, most=1)
        assert driver.learn(path, tasks=1)["status"] == "done"
        assert Store.open(path).verify() == digest, f"killed before change {point}, {changes[point - 1]}"
        assert leftovers(path) == [], f"killed before change {point}, {changes[point - 1]}"


def test_one_process_for_each_domain_gives_the_same_bytes_as_one_for_all(
    driver: Driver, whole: tuple[Path, float], tmp_path: Path
) -> None:
    for count in range(1, 5):
        driver.learn(tmp_path / "store", tasks=count)
    assert Store.open(tmp_path / "store").verify() == Store.open(whole[0]).digest()


def test_another_seed_gives_other_bytes(driver: Driver, whole: tuple[Path, float], tmp_path: Path) -> None:
    driver.learn(tmp_path / "store", tasks=1, seed=1)
    assert Store.open(tmp_path / "store").verify() != Store.open(whole[0]).digest(1)
