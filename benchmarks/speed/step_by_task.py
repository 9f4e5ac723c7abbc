"""What a training step costs at the first task and at the nineteenth, measured in one run.

    python benchmarks/speed/step_by_task.py --threads 1

The nineteen models are real: random task masks over one network, teachers computed once for the examples that are timed.
Steps of both kinds take turns, so that whatever else the machine does falls on both. CPU time and wall time are given.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--tasks", type=int, nargs="+", default=[1, 2, 5, 10, 19])
    arguments = parser.parse_args()

    import torch

    from classic.batching import shuffled_rows
    from classic.data.demo import DEMO_DOMAINS, load_demo
    from classic.files import write_json
    from classic.learning.environment import peak_memory, surroundings
    from classic.seeding import Seeds
    from classic.systems.system import SystemConfig, build
    from classic.training.optimiser import build_optimiser, set_rate
    from classic.types import Step

    torch.set_num_threads(arguments.threads)
    config = SystemConfig.preset("default")
    task = load_demo(DEMO_DOMAINS[0])
    runs = {}
    for index in arguments.tasks:
        method = build(config, 0)
        pretend_learned(method, index - 1)
        method.start_task(task, Seeds(0))
        (phase,) = method.plan(task)
        runs[index] = (method, phase, build_optimiser(phase.groups, config.train), [])
    lengths = runs[arguments.tasks[0]][0].model.backbone.lengths(task.train)
    batches = shuffled_rows(lengths, config.train.batch_size, Seeds(0).generator("benchmark"))
    for round_number in range(arguments.rounds + 1):
        for index, (method, _, optimiser, seconds) in runs.items():
            rows = batches[round_number % len(batches)]
            step = Step(index - 1, 0, 1, round_number, arguments.rounds + 1)
            wall, cpu = time.perf_counter(), time.process_time()
            method.train()
            batch = method.model.backbone.collate([task.train[row] for row in rows], rows)
            terms = method.loss(batch, step)
            optimiser.zero_grad(set_to_none=True)
            torch.stack(list(terms.values())).sum().backward()
            method.edit_gradients(step)
            set_rate(optimiser, config.train, round_number, arguments.rounds + 1)
            optimiser.step()
            method.after_update(step)
            if round_number:  # the first round warms up
                seconds.append((time.perf_counter() - wall, time.process_time() - cpu))
    first = runs[arguments.tasks[0]][3]
    result = {
        "command": f"python benchmarks/speed/step_by_task.py --threads {arguments.threads}",
        "surroundings": surroundings(),
        "width": config.backbone_config["width"],
        "batch_size": config.train.batch_size,
        "peak_memory_bytes": peak_memory(),
        "tasks": {},
    }
    for index, (_, _, _, seconds) in runs.items():
        ratios = [late[1] / early[1] for late, early in zip(seconds, first, strict=True)]
        result["tasks"][index] = {
            "median_wall_seconds": statistics.median(wall for wall, _ in seconds),
            "median_cpu_seconds": statistics.median(cpu for _, cpu in seconds),
            "median_cpu_ratio_to_first": statistics.median(ratios),
            "quartiles_of_ratio": statistics.quantiles(ratios, n=4)[::2],
        }
    write_json(HERE / "step_by_task.json", result)
    print(json.dumps(result, indent=2))


def pretend_learned(method, tasks: int) -> None:
    """Gives a method earlier tasks with masks of the default's size, without training them."""
    from classic.seeding import Seeds

    for task in range(tasks):
        method.gates.start_task(Seeds(1).generator("pretend", task))
        method.gates.finish_task()
        method.private.keep()
        method.learned += 1


if __name__ == "__main__":
    main()
