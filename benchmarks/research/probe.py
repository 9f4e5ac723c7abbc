"""One system with some settings changed, over a whole order, scored on the validation sets: for choosing, not for reporting.

    python benchmarks/research/probe.py classic@bert_adapter --order 0 --set method.belief=0
    python benchmarks/research/probe.py --list

Budget ``quick`` unless told. Results lie in benchmarks/research/results; a finished probe is not repeated, a killed one
goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SEMEVAL = ("Laptop", "Rest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", nargs="?", help="such as classic@bert_adapter")
    parser.add_argument("--order", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", choices=("quick", "default"), default="quick")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; VALUE is JSON")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/research"))
    parser.add_argument("--list", action="store_true", help="only show what is there")
    arguments = parser.parse_args()
    if arguments.system and not arguments.list:
        run(arguments)
    show()


def run(arguments: argparse.Namespace) -> None:
    from classic.benchmark.runs.engines import find
    from classic.benchmark.runs.runner import carry_out, plan
    from classic.benchmark.runs.spec import Spec

    changes = dict(setting.split("=", 1) for setting in arguments.set)
    spec = Spec(
        arguments.system if "/" in arguments.system else f"{arguments.system}/dil",
        order=arguments.order,
        seed=arguments.seed,
        budget=arguments.budget,
        valid=True,
        changes={key: json.loads(value) for key, value in changes.items()},
    )

    def tell(event: dict) -> None:
        print(*(f"{key} {value}" for key, value in event.items() if key != "run"), file=sys.stderr)

    wanted = plan([spec], RESULTS, arguments.work, arguments.threads)
    for _ in carry_out(wanted, find("local"), RESULTS, tell):
        pass


def show() -> None:
    """One line per probe: means over the 19 validation sets, the two domains with "neutral", and the others pooled."""
    from classic.benchmark.runs.results import read_results
    from classic.evaluation import accuracy, macro_f1
    from classic.evaluation.scores import expand, score

    print("accuracy  paper F1  own F1   Laptop  Rest     two-class domains pooled: accuracy, F1   what")
    for result in read_results(RESULTS):
        answers, scores = result["final_answers"], result["scores"]
        own = {task: score(answers[task])["own_f1"] for task in SEMEVAL if task in answers}
        pooled = [expand(counted) for task, counted in answers.items() if task not in SEMEVAL]
        true, said = [t for ts, _ in pooled for t in ts], [s for _, ss in pooled for s in ss]
        means = "   ".join(f"{scores[f'final_{metric}']:.4f}" for metric in ("accuracy", "macro_f1", "own_f1"))
        rest = "  ".join(f"{own.get(task, float('nan')):.3f}" for task in SEMEVAL)
        two = f"{accuracy(true, said):.4f}  {macro_f1(true, said, labels=[0, 1]):.4f}"
        spec = result["spec"]
        at = f"at {result['commit'][:7]}" if result.get("commit") else ""  # a default may have changed since
        where = f"order {spec['order']} seed {spec['seed']} {spec['budget']}"
        what = " ".join([spec["system"], where, at, json.dumps(spec["changes"])])
        print(f"{means}   {rest}   {two}   {what}")


if __name__ == "__main__":
    main()
