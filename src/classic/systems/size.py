"""How large a system is: its parameters at the paper's size, and what it keeps from task to task."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

import torch

from classic.backbones import encoder, vectors
from classic.data.demo import DEMO_DOMAINS, load_demo
from classic.modules.heads import Head
from classic.seeding import Seeds
from classic.systems.names import parse, read_name
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import POLARITIES, Scenario

PAPER_TASKS = 19
_THREE_CLASSES = 2  # of the paper's domains; the other 17 have no neutral examples
_PAPER_WORDS = 9_777  # rows of the paper's table of word vectors: 9,776 words and the padding
_TABLES = 2  # one for sentences and one for aspects, both counted by the paper


def count_parameters(name: str, tasks: int = PAPER_TASKS) -> int:
    """All parameters of a system of the paper's size after its tasks, trained or not.

    Args:
        name: A system, e.g. ``hat+last@bert_frozen/dil``. GPT-2 is not counted here: its size is its checkpoint's.
        tasks: How many tasks it has learned; the paper's table is for 19 with a head each (TIL).
    """
    parts = read_name(name)
    shape = {"backbone.vectors": vectors.SHAPE} if parts.backbone == "w2v" else {"backbone.encoder": encoder.SHAPE}
    config = parse(name, "authors", shape)
    with torch.device("meta"):
        method = build(config, 0, "meta")
        heads = [module for module in method.modules() if isinstance(module, Head)]  # SRK has three
        for head, task in itertools.product(heads, range(tasks) if parts.scenario is Scenario.TIL else ()):
            head.start_task(POLARITIES if task < _THREE_CLASSES else POLARITIES[:2], torch.Generator())
    total = sum(parameter.numel() for parameter in method.parameters()) + method.published_parameters(tasks)
    if parts.backbone == "w2v":
        total += _TABLES * _PAPER_WORDS * 300  # frozen; here a file mapped into memory, not parameters
    return total


@dataclass(frozen=True)
class Kept:
    """Bytes a method keeps between tasks besides the network and its heads.

    Attributes:
        first: After one task.
        each: What every further task adds.
        texts: Whether some of it are texts, and so depends on theirs.
    """

    first: int
    each: int
    texts: bool


def measure_kept(config: SystemConfig) -> Kept:
    """What a system keeps from task to task, measured: it learns eight sentences of two demo domains each."""
    method = build(config, 0)
    sizes = []
    for name in DEMO_DOMAINS[:2]:
        task = load_demo(name)
        few = dataclasses.replace(task, train=task.train[:8], valid=task.valid[:4], test=())
        learn_task(method, few, dataclasses.replace(config.train, epochs=1, batch_size=8), Seeds(0))
        sizes.append(method.bytes_kept())
    return Kept(sizes[0], sizes[1] - sizes[0], method.keeps_data)
