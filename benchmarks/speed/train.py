"""What training CLASSIC costs, from the naive schedule to ours, one saving after the other.

    python benchmarks/speed/train.py                          # a step at tasks 1, 2, 5, 10 and 19; a whole task
    python benchmarks/speed/train.py --tasks 10 --whole 0     # only the step at the tenth task
    python benchmarks/speed/train.py --order benchmarks/results/classic@bert_adapter-dil-order0-seed0-default-KEY.json

The naive schedule is that of the released code, re-created from our own parts: every text padded to 128 tokens, and every
earlier model run anew in every step, once for CED and once more for CKS. Then, one by one: the two share their passes;
batches are padded to their own longest; earlier models are asked once per task instead of once per step; matrix products in
bfloat16. Dropout is off, so that all schedules must give the same losses and gradients, and the program ends with an error
if they do not. CPU time, in one process, schedules in turn.

A whole task is trained twice from the same weights, naively and as we do it. A whole order is measured for us (its result
file says so) and reckoned for the naive schedule: its cost at a task, which grows in a straight line, times the steps.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAIVE, SHARED, BUCKETS, CACHED, LOW = SCHEDULES = (
    "naive: padded to 128, earlier models run twice per step",
    "CED and CKS share their passes",
    "padded to the longest of the batch",
    "earlier models asked once per task",
    "bfloat16",
)
PASSES = {NAIVE: 2, SHARED: 1, BUCKETS: 1}  # over the earlier models, in every step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, nargs="*", default=[1, 2, 5, 10, 19], help="earlier ones are pretended")
    parser.add_argument("--whole", type=int, default=2, help="the task that is trained to its end; 0 for none")
    parser.add_argument("--width", type=int, default=2000, help="of the adapters; 2000 in the paper")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--order", type=Path, help="a result file: what would its order have cost, naively?")
    arguments = parser.parse_args()

    import torch

    from classic.files import write_json
    from classic.learning.environment import peak_memory, surroundings

    torch.set_num_threads(arguments.threads)
    if arguments.order is not None:
        found = whole_order(arguments.order)
        write_json(HERE / "train_order.json", found)
        print(json.dumps(found, indent=2))
        return
    result: dict[str, Any] = {
        "command": "python benchmarks/speed/train.py",
        "surroundings": surroundings() | {"threads": arguments.threads},
        "width": arguments.width,
        "batch_size": arguments.batch_size,
        "rounds": arguments.rounds,
        "steps": {},
    }
    for number in arguments.tasks:
        result["steps"][number] = steps(Trainer(number, arguments.width, arguments.batch_size), arguments.rounds)
        print(json.dumps({number: result["steps"][number]}, indent=2), flush=True)
    if arguments.whole:
        result["whole_task"] = whole_task(arguments.whole, arguments.width, arguments.batch_size)
        print(json.dumps(result["whole_task"], indent=2))
    write_json(HERE / "train.json", json.loads(json.dumps(result | {"peak_memory_bytes": peak_memory()})))


class Trainer:
    """CLASSIC at the beginning of a task whose earlier ones are pretended, and one step of it by any schedule."""

    def __init__(self, number: int, width: int, batch_size: int) -> None:
        import torch

        sys.path.insert(0, str(HERE))
        from step_by_task import pretend_learned

        from classic.batching import shuffled_rows
        from classic.data.demo import DEMO_DOMAINS, load_demo
        from classic.seeding import Seeds
        from classic.systems.system import SystemConfig, build
        from classic.training.optimiser import build_optimiser

        changes = {"backbone.width": width, "train.batch_size": batch_size}
        self.config = SystemConfig.preset("default", changes=changes)
        self.task = load_demo(DEMO_DOMAINS[0])
        self.method = build(self.config, 0)
        pretend_learned(self.method, number - 1)
        clock = time.process_time()
        self.method.start_task(self.task, Seeds(0))  # asks the earlier models, once
        self.asking = time.process_time() - clock
        (phase,) = self.method.plan(self.task)
        self.shared = self.method.weights()
        self.begun = [parameter.detach().clone() for parameter in self.shared]
        self.weights = [parameter for group in phase.groups for parameter in group.parameters]
        self.optimiser = build_optimiser(phase.groups, self.config.train)
        for module in self.method.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        self.lengths = self.method.model.backbone.lengths(self.task.train)
        self.batches = shuffled_rows(self.lengths, batch_size, Seeds(0).generator("benchmark"))

    def step(self, schedule: str, number: int, *, update: bool = False) -> tuple[float, float]:
        """CPU seconds and loss of a step; the gradients are left in the weights."""
        import torch

        from classic.types import Step

        method, rows = self.method, self.batches[number % len(self.batches)]
        clock = time.process_time()
        method.model.precision = "bfloat16" if schedule == LOW else "float32"
        batch = method.model.backbone.collate([self.task.train[row] for row in rows], rows)
        if schedule in (NAIVE, SHARED):
            batch = widened(batch)
        for _ in range(PASSES.get(schedule, 0)):
            self._ask_earlier_models(batch)
        method.train()
        step = Step(method.learned, 0, 1, number, len(self.batches))
        total = torch.stack(list(method.loss(batch, step).values())).sum()
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()
        method.edit_gradients(step)
        if update:
            torch.nn.utils.clip_grad_norm_(self.weights, self.config.train.clip_norm)
            self.optimiser.step()
            method.after_update(step)
        return time.process_time() - clock, float(total.detach())

    def _ask_earlier_models(self, batch: Any) -> None:
        import torch

        method = self.method
        method.eval()
        with torch.no_grad(), self._as_they_were():
            for earlier in range(method.learned):
                with method.acting_as(earlier):
                    output = method.model(batch, earlier, as_trained=True)
                    method._teacher_features[batch.rows, earlier] = output.features
                    method._teacher_logits[batch.rows, earlier] = output.logits
        method.train()

    @contextmanager
    def _as_they_were(self) -> Iterator[None]:
        """Earlier models are asked with the weights the task began with, which training has left since."""
        now = [parameter.detach().clone() for parameter in self.shared]
        for parameter, value in zip(self.shared, self.begun, strict=True):
            parameter.copy_(value)
        yield
        for parameter, value in zip(self.shared, now, strict=True):
            parameter.copy_(value)


def widened(batch: Any) -> Any:
    """Padded to 128 tokens."""
    from torch.nn.functional import pad

    missing = 128 - batch.inputs["input_ids"].shape[1]
    inputs = {name: pad(value, (0, missing)) for name, value in batch.inputs.items()}
    return type(batch)(inputs, batch.labels, batch.rows)


def steps(trainer: Trainer, rounds: int) -> dict[str, Any]:
    """Every schedule's cost of the same steps; no updates, so that all see the same weights."""
    import torch

    seconds: dict[str, list[float]] = {schedule: [] for schedule in SCHEDULES}
    gaps = dict.fromkeys(SCHEDULES, 0.0)
    turns = dict.fromkeys(SCHEDULES, 0.0)
    trainer.step(CACHED, 0)  # warms up
    for number in range(rounds):
        losses, gradients = {}, {}
        for schedule in reversed(SCHEDULES):  # the naive one overwrites the cached answers of its batch
            spent, losses[schedule] = trainer.step(schedule, number)
            seconds[schedule].append(spent)
            gradients[schedule] = torch.cat([w.grad.flatten() for w in trainer.weights if w.grad is not None])
        for schedule in SCHEDULES:
            gaps[schedule] = max(gaps[schedule], abs(losses[schedule] / losses[CACHED] - 1))
            away = (gradients[schedule] - gradients[CACHED]).norm() / gradients[CACHED].norm()
            turns[schedule] = max(turns[schedule], float(away))
    if max(gaps[schedule] + turns[schedule] for schedule in SCHEDULES if schedule != LOW) > 1e-3:
        sys.exit("the schedules do not compute the same losses and gradients")
    medians = {schedule: statistics.median(spent) for schedule, spent in seconds.items()}
    return {
        "tokens_of_a_text": statistics.mean(trainer.lengths),
        "asking_earlier_models_once": trainer.asking,
        "schedules": {
            schedule: {
                "median_cpu_seconds": medians[schedule],
                "least_and_most": [min(seconds[schedule]), max(seconds[schedule])],
                "times_less_than_naive": medians[NAIVE] / medians[schedule],
                "largest_relative_gap_of_the_loss": gaps[schedule],
                "largest_relative_gap_of_the_gradient": turns[schedule],
            }
            for schedule in SCHEDULES
        },
    }


def whole_task(number: int, width: int, batch_size: int) -> dict[str, Any]:
    """A task trained to its end twice, from the same weights: CPU seconds, and how far the weights end apart."""
    import torch

    ours = Trainer(number, width, batch_size)
    naive = copy.copy(ours)
    kept = (ours.method, ours.shared, ours.weights, ours.optimiser)
    naive.method, naive.shared, naive.weights, naive.optimiser = copy.deepcopy(kept)
    epochs = ours.config.train.epochs_for(len(ours.task.train))
    found: dict[str, Any] = {"task": number, "steps": epochs * len(ours.batches)}
    for name, trainer, schedule in (("ours", ours, CACHED), ("naive", naive, NAIVE)):
        spent = [trainer.step(schedule, step, update=True) for step in range(found["steps"])]
        found[name] = {"cpu_seconds": sum(cpu for cpu, _ in spent), "last_loss": spent[-1][1]}
    found["ours"]["cpu_seconds"] += ours.asking  # the naive schedule asks within its steps
    found["times_less_than_naive"] = found["naive"]["cpu_seconds"] / found["ours"]["cpu_seconds"]
    ends = [torch.cat([weight.detach().flatten() for weight in trainer.weights]) for trainer in (ours, naive)]
    found["relative_gap_of_the_weights"] = float((ends[0] - ends[1]).norm() / ends[0].norm())
    return found


def whole_order(path: Path) -> dict[str, Any]:
    """The measured cost of an order beside the reckoned cost of the naive schedule."""
    from classic.benchmark.runs.spec import Spec

    done = json.loads(path.read_text("utf-8"))
    spec = Spec(**done["spec"])
    config = spec.config()
    width, size = config.backbone_config["width"], config.train.batch_size
    at = {number: Trainer(number, width, size).step(NAIVE, 0)[0] for number in (1, 4)}
    growth = (at[4] - at[1]) / 3
    sizes = [len(task.train) for task in spec.tasks()]
    counts = [config.train.epochs_for(examples) * -(-examples // size) for examples in sizes]
    reckoned = sum(count * (at[1] + growth * index) for index, count in enumerate(counts))
    return {
        "command": "python benchmarks/speed/train.py --order RESULT",
        "result": path.name,
        "steps": sum(counts),
        "naive_step_at_tasks_1_and_4": [at[1], at[4]],
        "naive_cpu_hours_reckoned": reckoned / 3600,
        "ours_cpu_hours_measured": done["cpu_seconds"] / 3600,
        "times_less_than_naive": reckoned / done["cpu_seconds"],
        "ours_peak_memory_bytes": done["peak_memory_bytes"],
    }


if __name__ == "__main__":
    main()
