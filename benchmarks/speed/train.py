"""What a training step of CLASSIC costs, from the naive schedule to ours, one saving after the other.

    python benchmarks/speed/train.py --task 10

The naive schedule is that of the released code, re-created from our own parts: every text padded to 128 tokens, and every
earlier model run anew in every step, once for CED and once more for CKS. Then, one by one: the two share their passes;
batches are padded to their own longest; earlier models are asked once per task instead of once per step; matrix products in
bfloat16. Dropout is off, so that all schedules must give the same losses and gradients, and the program ends with an error
if they do not. CPU time, in one process, schedules in turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
NAIVE, SHARED, BUCKETS, CACHED, LOW = (
    "naive: padded to 128, earlier models run twice per step",
    "CED and CKS share their passes",
    "padded to the longest of the batch",
    "earlier models asked once per task",
    "bfloat16",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", type=int, default=10, help="at the how many-th task; its earlier ones are pretended")
    parser.add_argument("--width", type=int, default=2000, help="of the adapters; 2000 in the paper")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()

    import torch
    from torch.nn.functional import pad

    sys.path.insert(0, str(HERE))
    from step_by_task import pretend_learned

    from classic.batching import shuffled_rows
    from classic.data.demo import DEMO_DOMAINS, load_demo
    from classic.files import write_json
    from classic.runinfo import peak_memory, surroundings
    from classic.seeding import Seeds
    from classic.systems import SystemConfig, build
    from classic.training.optimiser import build_optimiser
    from classic.types import Batch, Step

    torch.set_num_threads(arguments.threads)
    config = SystemConfig.preset("default", changes={"backbone.width": arguments.width})
    task = load_demo(DEMO_DOMAINS[0])
    method = build(config, 0)
    pretend_learned(method, arguments.task - 1)
    clock = time.process_time()
    method.start_task(task, Seeds(0))  # asks the earlier models, once
    teachers_once = time.process_time() - clock
    (phase,) = method.plan(task)
    optimiser = build_optimiser(phase.groups, config.train)
    for module in method.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    backbone = method.model.backbone
    lengths = backbone.lengths(task.train)
    batches = shuffled_rows(lengths, arguments.batch_size, Seeds(0).generator("benchmark"))

    def widened(batch: Batch) -> Batch:
        missing = 128 - batch.inputs["input_ids"].shape[1]
        return Batch({name: pad(value, (0, missing)) for name, value in batch.inputs.items()}, batch.labels, batch.rows)

    def ask_earlier_models(batch: Batch) -> None:
        method.eval()
        with torch.no_grad():
            for earlier in range(method.learned):
                with method.acting_as(earlier):
                    output = method.model(batch, earlier)
                    method._teacher_features[batch.rows, earlier] = output.features
                    method._teacher_logits[batch.rows, earlier] = output.logits
        method.train()

    weights = [parameter for group in phase.groups for parameter in group.parameters]

    def one_step(schedule: str, rows: list[int], number: int) -> tuple[float, float, torch.Tensor]:
        clock = time.process_time()
        method.model.precision = "bfloat16" if schedule == LOW else "float32"
        batch = backbone.collate([task.train[row] for row in rows], rows)
        if schedule in (NAIVE, SHARED):
            batch = widened(batch)
        for _ in range({NAIVE: 2, SHARED: 1, BUCKETS: 1}.get(schedule, 0)):
            ask_earlier_models(batch)
        method.train()
        step = Step(method.learned, 0, 1, number, arguments.rounds)
        total = torch.stack(list(method.loss(batch, step).values())).sum()
        optimiser.zero_grad(set_to_none=True)
        total.backward()
        method.edit_gradients(step)
        spent = time.process_time() - clock
        gradient = torch.cat([w.grad.flatten() for w in weights if w.grad is not None])
        return spent, float(total.detach()), gradient  # no update: every schedule sees the same weights

    schedules = (NAIVE, SHARED, BUCKETS, CACHED, LOW)
    seconds: dict[str, list[float]] = {schedule: [] for schedule in schedules}
    gaps: dict[str, float] = dict.fromkeys(schedules, 0.0)
    turns: dict[str, float] = dict.fromkeys(schedules, 0.0)
    one_step(CACHED, batches[0], 0)  # warms up
    for number in range(arguments.rounds):
        rows = batches[number % len(batches)]
        losses, gradients = {}, {}
        for schedule in reversed(schedules):  # the naive one overwrites the cached answers of its batch
            spent, losses[schedule], gradients[schedule] = one_step(schedule, rows, number)
            seconds[schedule].append(spent)
        for schedule in schedules:
            gaps[schedule] = max(gaps[schedule], abs(losses[schedule] / losses[CACHED] - 1))
            away = (gradients[schedule] - gradients[CACHED]).norm() / gradients[CACHED].norm()
            turns[schedule] = max(turns[schedule], float(away))
    medians = {schedule: statistics.median(spent) for schedule, spent in seconds.items()}
    result = {
        "command": f"python benchmarks/speed/train.py --task {arguments.task} --rounds {arguments.rounds}",
        "surroundings": surroundings(),
        "task": arguments.task,
        "width": arguments.width,
        "batch_size": arguments.batch_size,
        "tokens_of_a_text": statistics.mean(lengths),
        "steps": {
            schedule: {
                "median_cpu_seconds": medians[schedule],
                "least_and_most": [min(seconds[schedule]), max(seconds[schedule])],
                "times_less_than_naive": medians[NAIVE] / medians[schedule],
                "largest_relative_gap_of_the_loss": gaps[schedule],
                "largest_relative_gap_of_the_gradient": turns[schedule],
            }
            for schedule in schedules
        },
        "asking_earlier_models_once": {
            "cpu_seconds": teachers_once,
            "per_step_over_4_epochs": teachers_once / (4 * len(batches)),
        },
        "peak_memory_bytes": peak_memory(),
    }
    write_json(HERE / f"train_task{arguments.task}.json", result)
    print(json.dumps(result, indent=2))
    if max(gaps[schedule] + turns[schedule] for schedule in schedules if schedule != LOW) > 1e-3:
        sys.exit("the schedules do not compute the same losses and gradients")


if __name__ == "__main__":
    main()
