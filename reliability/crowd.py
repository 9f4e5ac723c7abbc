"""C9: several processes publish, go back, prune, delete and read at once, each by its own draw.

What must hold, at every step of everybody: a change is done or refused with "busy"; what was answered is there for whoever
holds the lock next; a reader finds a whole version, unless the pointer moved while it read. At the end the store is
whole, and nothing half-written is left after one sweep.
"""

from __future__ import annotations

import os
import random
import tempfile
import traceback
from pathlib import Path
from typing import Any

from classic.errors import BusyError, InputError, StoreError
from classic.store.deletion import delete_domain
from classic.store.store import Store
from reliability.power import toy

ACTIONS = ("publish", "publish", "publish", "rollback", "prune", "delete", "read", "read")


def run(sequences: int = 500, steps: int = 30, processes: int = 4, seed: int = 9) -> dict[str, Any]:
    """So many stores, each changed by so many processes; returns what did not hold."""
    wrong: list[str] = []
    counts = {"done": 0, "busy": 0}
    for number in range(sequences):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            store = toy(folder / "store")
            children = [_start(folder, f"{seed} {number} {each}", steps, each) for each in range(processes)]
            for pid, told in children:
                os.waitpid(pid, 0)
                lines = told.read_text().splitlines() if told.is_file() else ["a process died"]
                wrong += [f"sequence {number}: {line}" for line in lines if line not in counts]
                for name in counts:
                    counts[name] += lines.count(name)
            wrong += [f"sequence {number}, at the end: {problem}" for problem in _end(store)]
    numbers = {"sequences": sequences, "steps": steps, "processes": processes, "seed": seed}
    return {**numbers, **counts, "violations": wrong[:20]}


def _start(folder: Path, seed: str, steps: int, number: int) -> tuple[int, Path]:
    told = folder / f"told{number}"
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            told.write_text(
                "".join(f"{line}\n" for line in _work(folder / "store", random.Random(seed), steps, number))
            )
            code = 0
        finally:
            os._exit(code)
    return pid, told


def _work(path: Path, draw: random.Random, steps: int, number: int) -> list[str]:
    said = []
    for step in range(steps):
        action = draw.choice(ACTIONS)
        try:
            _act(path, draw, action, f"p{number}s{step}")
            said.append("done")
        except BusyError:
            said.append("busy")
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            said.append(f"{action}: {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})")
    return said


def _act(path: Path, draw: random.Random, action: str, name: str) -> None:
    if action == "read":
        return _read(path)
    store = Store.open(path)
    if action == "publish":
        with store.lock():
            before = store.domains()
            tensors = {key: tensor.clone() for key, tensor in store.tensors().items()}
            tensors["w"][draw.randrange(8)] = draw.random()
            store.publish(tensors, {"domain": name, "domains": [*before, name]}, {}, "# card\n")
            assert store.domains() == [*before, name], "what was published is not in use"
    elif action == "delete":
        with store.lock():
            known = store.domains()
            domain = draw.choice(known) if known else ""
            if domain:
                found = delete_domain(store, domain)
                assert [*store.domains(), domain, *found.again] == known, "more went than was said"
    elif action == "prune":
        store.prune()
    else:
        with store.lock():
            number = draw.choice(store.numbers())
            store.rollback(number)
            assert store.current == number, "the pointer is elsewhere"
    return None


def _read(path: Path) -> None:
    """A reader has no lock: it may fail only if the pointer moved meanwhile, and then it may try again."""
    for _ in range(1000):
        before = (path / "current").read_bytes()
        try:
            store = Store.open(path)
            number = store.current
            store.tensors(number)
            assert store.chain(number) or number == 0
            return
        except (StoreError, InputError, OSError):
            if (path / "current").read_bytes() == before:
                raise


def _end(store: Store) -> list[str]:
    try:
        store.prune()
        store.verify()
        left = [entry.name for entry in (store.path / "versions").iterdir() if entry.name.startswith(".")]
        return [f"left: {left}"] if left else []
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
