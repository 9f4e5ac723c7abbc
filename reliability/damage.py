"""C6, damage: every file of a store that is read, flipped, cut, zeroed or missing: found before use, or harmless."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from classic.errors import ClassicError
from classic.store.store import Store
from reliability.power import toy


def damaged(data: bytes, draw: random.Random) -> bytes | None:
    """The file with one thing wrong; None is no file."""
    kind = draw.choice(("flip", "cut", "zero", "empty", "missing", "more", "swap"))
    place = draw.randrange(max(1, len(data)))
    if kind == "flip":
        return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :] if data else b"x"
    if kind == "swap":
        return data[place:] + data[:place]
    return {
        "cut": data[:place],
        "zero": data[:place] + b"\0" * len(data[place : place + 16]) + data[place + 16 :],
        "empty": b"",
        "missing": None,
        "more": data + b"\0",
    }[kind]


def run(each: int = 1000, seed: int = 11) -> dict[str, Any]:
    """Damages every file so often; returns those that changed an answer in silence, or ended in a traceback."""
    draw, tried, found, harmless = random.Random(seed), 0, 0, 0
    silent: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        store = toy(Path(scratch) / "store")
        store.write_scores(2, {"a": {"pairs": [[0, 0, 1]]}})
        truth = _used(store.path)
        files = sorted(file for file in store.path.rglob("*") if file.is_file() and file.name != "lock")
        for file in files:
            data = file.read_bytes()
            for _ in range(each):
                changed = damaged(data, draw)
                if changed == data:
                    continue
                tried += 1
                file.unlink()
                if changed is not None:
                    file.write_bytes(changed)
                try:
                    said = _used(store.path)
                    if said != truth:
                        # What only informs may be missing; then it is missing, not another.
                        gone = [key for key in truth if said[key] != truth[key] and said[key] not in ({}, [{}, {}])]
                        allowed = all(said[key] in (truth[key], {}) for key in ("run", "scores")) and not gone
                        if allowed:
                            harmless += 1
                        else:
                            silent.append(f"{file.relative_to(store.path)}: {gone}")
                    else:
                        harmless += 1
                except ClassicError:
                    found += 1
                except Exception as error:
                    silent.append(f"{file.relative_to(store.path)}: {type(error).__name__}: {error}")
                file.write_bytes(data)
        shutil.rmtree(store.path)
    counts = {"files": len(files), "tried": tried, "found": found, "harmless": harmless}
    return counts | {"seed": seed, "silent": silent}


def _used(path: Path) -> dict[str, Any]:
    """All that a prediction, a list and a report read."""
    store = Store.open(path)
    return {
        "tensors": {name: tensor.tolist() for name, tensor in store.tensors().items()},
        "records": [version.record for version in store.chain()],
        "card": store.card(),
        "digest": store.digest(),
        "run": store.version(2).run,
        "scores": store.read_scores(2),
    }
