"""Runs one of the paper's task orders and writes a result file. Kill and restart it at will.

python benchmarks/order.py --method classic --order 0 --threads 2
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="classic")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--scenario", default="dil", choices=["dil", "til"])
    parser.add_argument("--order", type=int, default=0)
    parser.add_argument("--domains", default="", metavar="A,B,...", help="these domains instead of an order")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", default="all", choices=["all", "last"], help="which rows of the matrix to test")
    parser.add_argument("--score", default="test", choices=["test", "valid"], help="choose on valid, report on test")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="e.g. train.epochs=2")
    parser.add_argument("--label", default="", help="added to the result's name")
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs", help="where stores are kept meanwhile")
    arguments = parser.parse_args()

    import torch

    from classic.config import check_preset
    from classic.data.sequences import order
    from classic.data.tasks import load_domain
    from classic.files import write_json
    from classic.sequence import learn_sequence, summary
    from classic.systems import SystemConfig
    from classic.types import Scenario

    torch.set_num_threads(arguments.threads)
    changes = {key: json.loads(value) for key, value in (entry.split("=", 1) for entry in arguments.set)}
    config = SystemConfig.preset(
        check_preset(arguments.preset), method=arguments.method, scenario=Scenario(arguments.scenario), changes=changes
    )
    names = arguments.domains.split(",") if arguments.domains else order(arguments.order)
    tasks = [load_domain(name) for name in names]
    if arguments.score == "valid":
        tasks = [dataclasses.replace(task, test=task.valid) for task in tasks]
    sequence = "own" if arguments.domains else f"order{arguments.order}"
    name = f"{arguments.method}-{arguments.preset}-{arguments.scenario}-{sequence}-seed{arguments.seed}"
    name += f"-{arguments.label}" if arguments.label else ""

    def tell(version, matrix) -> None:
        line = " ".join(f"{metric} {matrix.final(metric):.4f}" for metric in ("accuracy", "f1", "fair_f1"))
        own = matrix.value("f1", matrix.learned - 1, matrix.learned - 1)
        print(
            f"{version.number:2d} {version.domain:12s} own f1 {own:.4f}  {line}  {version.run['seconds']:.0f} s",
            flush=True,
        )

    store, matrix = learn_sequence(
        arguments.work / name, tasks, config, seed=arguments.seed, rows=arguments.rows, on_task=tell
    )
    result = summary(store, matrix) | {"order": names, "name": name, "scored_on": arguments.score}
    (HERE / "results").mkdir(exist_ok=True)
    write_json(HERE / "results" / f"{name}.json", result)
    print(json.dumps(result["scores"], indent=2))


if __name__ == "__main__":
    main()
