"""`classic predict STORE` answers from the export beside the version, without torch, and the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from classic.export.keeping import keep_export
from classic.prediction.kept import find_kept, kept_folder
from classic.store.store import Store

ASK = """
import json, sys
from classic.cli.main import app
app({arguments!r}, standalone_mode=False)
print(json.dumps("torch" in sys.modules))
"""


def ask(store: Path, *more: str) -> tuple[dict[str, object], bool]:
    """The answer, and whether torch was loaded for it."""
    arguments = ["predict", str(store), "the soup is good", "--aspect", "soup", "--json", *more]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    code = ASK.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    answer, loaded = done.stdout.splitlines()
    return json.loads(answer), json.loads(loaded)


def test_the_export_beside_a_version_answers_the_same_without_torch(taught_store: Path) -> None:
    slow, loaded = ask(taught_store)
    assert loaded
    store = Store.open(taught_store)
    assert keep_export(store) == taught_store / "exports" / "0003"
    quick, loaded = ask(taught_store)
    assert not loaded
    assert {name: quick[name] for name in ("polarity", "nearest_domain", "unfamiliar", "version")} == {
        name: slow[name] for name in ("polarity", "nearest_domain", "unfamiliar", "version")
    }
    assert all(abs(quick[name] - slow[name]) < 1e-4 for name in ("positive", "negative", "neutral"))  # type: ignore[operator]
    assert store.verify() == store.digest()


def test_an_export_that_is_damaged_or_of_another_version_is_not_asked(taught_store: Path) -> None:
    store = Store.open(taught_store)
    keep_export(store)
    shutil.copytree(kept_folder(store, 3), kept_folder(store, 2))
    assert find_kept(store, 2) is None  # it is of version 3
    with (kept_folder(store, 3) / "model.onnx").open("ab") as file:
        file.write(b"x")
    assert find_kept(store, 3) is None
    store.rollback(2)
    assert keep_export(store) == kept_folder(store, 2)  # made anew
    assert find_kept(store, 2) is not None
    assert not kept_folder(store, 3).exists()  # one is kept
