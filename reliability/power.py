"""C3, power loss: what is not synced may be gone. Every file operation of a change is logged, and legal states replayed.

A state after a cut holds the names that were synced with their folder, and of the others any beginning of what happened in
each folder; a file that was not synced may be empty, half or whole. Each must be a whole store, at the old version or the
new one, and at the new one once the change had been answered.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from classic.store.store import Store

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_HOOKED: list[Callable[[str, tuple[Any, ...]], None]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    for listen in _HOOKED:
        listen(event, arguments)


sys.addaudithook(_hook)


@dataclass
class Log:
    """Operations below a folder, in their order: (kind, name, ...)."""

    root: Path
    operations: list[tuple[str, ...]] = field(default_factory=list)
    contents: dict[int, bytes] = field(default_factory=dict)  # of an fsync, by its place in the log

    def name(self, path: Any) -> str | None:
        try:
            full = Path(os.fsdecode(path)).absolute()
            return str(full.relative_to(self.root))
        except (TypeError, ValueError):
            return None

    def listen(self, event: str, arguments: tuple[Any, ...]) -> None:
        kinds = {
            "os.rename": "rename",
            "os.mkdir": "mkdir",
            "os.remove": "unlink",
            "os.rmdir": "rmdir",
            "os.link": "link",
        }
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES:
            if (name := self.name(arguments[0])) is not None:
                self.operations.append(("create", name))
        elif event in kinds and (name := self.name(arguments[0])) is not None:
            other = self.name(arguments[1]) if event in ("os.rename", "os.link") else ""
            self.operations.append((kinds[event], name, other or ""))

    def sync(self, handle: int) -> None:
        name = self.name(Path(f"/proc/self/fd/{handle}").readlink())
        if name is None:
            return
        path = self.root / name
        if path.is_dir():
            self.operations.append(("syncdir", name))
        else:
            self.contents[len(self.operations)] = path.read_bytes()
            self.operations.append(("sync", name))


@contextmanager
def logged(root: Path) -> Iterator[Log]:
    log, fsync = Log(root.absolute()), os.fsync

    def listening(handle: int) -> None:
        fsync(handle)
        log.sync(handle)

    _HOOKED.append(log.listen)
    os.fsync = listening  # type: ignore[assignment]
    try:
        yield log
    finally:
        os.fsync = fsync
        _HOOKED.remove(log.listen)


def folder_of(name: str) -> str:
    return str(Path(name).parent)


def state(before: Path, log: Log, cut: int, target: Path, draw: random.Random) -> None:
    """Writes one legal state after a power cut behind the operation `cut`."""
    shutil.copytree(before, target)
    done = log.operations[:cut]
    # A folder's names are on disk up to its last sync, and perhaps a few more, in their order.
    last = {op[1]: place for place, op in enumerate(done) if op[0] == "syncdir"}
    pending: dict[str, list[int]] = {}
    for place, op in enumerate(done):
        where = folder_of(op[2] if op[0] in ("rename", "link") else op[1])
        if op[0] in ("create", "mkdir", "rename", "unlink", "rmdir", "link") and place > last.get(where, -1):
            pending.setdefault(where, []).append(place)
    lost = {place for places in pending.values() for place in places[draw.randint(0, len(places)) :]}
    for place, op in enumerate(done):
        if place in lost:
            continue
        path = target / op[1]
        try:
            if op[0] == "mkdir":
                path.mkdir(exist_ok=True)
            elif op[0] == "create" and not path.exists():
                path.write_bytes(b"")
            elif op[0] == "sync" and path.is_file():
                path.write_bytes(log.contents[place])
            elif op[0] == "rename":
                path.replace(target / op[2])
            elif op[0] == "link":
                shutil.copyfile(path, target / op[2])
            elif op[0] == "unlink":
                path.unlink(missing_ok=True)
            elif op[0] == "rmdir":
                shutil.rmtree(path, ignore_errors=True)
        except (FileNotFoundError, NotADirectoryError, OSError):
            continue  # built on something that was lost
    _tear(target, done, draw)


def _tear(target: Path, done: list[tuple[str, ...]], draw: random.Random) -> None:
    """What was created and never synced may hold anything."""
    synced = {op[1] for op in done if op[0] == "sync"}
    for op in done:
        path = target / op[1]
        if op[0] == "create" and op[1] not in synced and path.is_file() and path.name != "lock":
            path.write_bytes(os.urandom(draw.randint(0, 64)))


def toy(path: Path) -> Store:
    store = Store.create(path, {"system": {"method": "toy"}, "seed": 0}, {"whole/w": torch.zeros(8, 4)})
    for number in (1, 2):
        grow(store, number)
    return store


def grow(store: Store, number: int) -> None:
    tensors = {name: tensor.clone() for name, tensor in store.tensors().items()}
    tensors["w"][number % 8] = number
    record = {"domain": f"d{number}", "domains": [*store.domains(), f"d{number}"]}
    with store.lock():
        store.publish(tensors, record, {"seconds": 1.0}, "# card\n")


def change_scores(store: Store) -> None:
    store.write_scores(2, {"a": {"pairs": [[0, 0, 1]]}})


def go_back_and_prune(store: Store) -> None:
    store.rollback(1)
    store.prune()


CHANGES: dict[str, tuple[Callable[[Store], None], int, int]] = {  # what is done, version before, version after
    "publish": (lambda store: grow(store, 3), 2, 3),
    "rollback": (lambda store: store.rollback(1), 2, 1),
    "rollback and prune": (go_back_and_prune, 2, 1),
    "scores": (change_scores, 2, 2),
}


def run(states: int = 400, seed: int = 20231) -> dict[str, Any]:
    """Replays so many states of every change; returns what was not legal."""
    draw, wrong, tried, points = random.Random(seed), [], 0, 0
    for name, (change, old, new) in CHANGES.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            store = toy(folder / "store")
            before = Path(shutil.copytree(store.path, folder / "before"))
            with logged(store.path) as log:
                change(store)
            points += len(log.operations)
            for number in range(states):
                cut = number % (len(log.operations) + 1)
                target = folder / "after"
                state(before, log, cut, target, draw)
                tried += 1
                problem = _judge(target, old, new, answered=cut == len(log.operations))
                if problem:
                    wrong.append({"change": name, "after": cut, "state": number, "problem": problem})
                shutil.rmtree(target)
    return {"states": tried, "operations": points, "seed": seed, "illegal": wrong}


def _judge(path: Path, old: int, new: int, *, answered: bool) -> str:
    try:
        store = Store.open(path)
        current = store.current
        store.tensors()
        store.verify()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if current not in (old, new) or (answered and current != new):
        return f"version {current} is in use"
    return ""
