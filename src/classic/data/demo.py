"""Six small domains that come with the package, so that everything can be tried without any download."""

from __future__ import annotations

from importlib.resources import as_file, files

from classic.data.readers import read_examples
from classic.errors import unknown_name
from classic.types import Example, Task

DEMO_DOMAINS: tuple[str, ...] = (
    "espresso_machine",
    "headphones",
    "city_hotel",
    "running_shoes",
    "banking_app",
    "robot_vacuum",
)


def load_demo(name: str) -> Task:
    """Loads one of the demo domains.

    Raises:
        InputError: There is no such demo domain.
    """
    if name not in DEMO_DOMAINS:
        raise unknown_name("demo domain", name, list(DEMO_DOMAINS))
    return Task(name, *(_read(name, split) for split in ("train", "valid", "test")))


def _read(name: str, split: str) -> tuple[Example, ...]:
    resource = files("classic.data").joinpath("demo", name, f"{split}.jsonl")
    # The package may be imported from a zip file, where resources have no path of their own.
    with as_file(resource) as path:
        return tuple(read_examples(path))
