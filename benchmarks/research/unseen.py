"""How does the final model do on a domain it never saw? One source of data is left out, and tested at the end.

    python benchmarks/research/unseen.py --systems classic@bert_adapter,ncl@bert_adapter,joint@bert_adapter
    python benchmarks/research/unseen.py --systems classic@bert,ncl@bert --sources Ding9 --budget full

Order 0 without the domains of one source; the final model answers on the test sets of that source. The
sources are the paper's four (Sec. 4.1). Results lie in benchmarks/research/unseen; what is done is not repeated, what was
killed goes on.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from statistics import mean

RESULTS = Path(__file__).parent / "unseen"
SOURCES = ("SemEval14", "HL5", "Liu3", "Ding9")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default="classic@bert_adapter,ncl@bert_adapter,joint@bert_adapter")
    parser.add_argument("--sources", default=",".join(SOURCES))
    parser.add_argument("--budget", default="quick")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/unseen"))
    parser.add_argument("--list", action="store_true", help="only show what is there")
    arguments = parser.parse_args()
    if not arguments.list:
        for source in arguments.sources.split(","):
            for system in arguments.systems.split(","):
                run(f"{system}/dil", source, arguments)
    show()


def run(system: str, source: str, arguments: argparse.Namespace) -> None:
    import torch

    from classic.benchmark.runs.spec import Spec, key_of
    from classic.data.domains import DOMAINS
    from classic.data.tasks import load_domain
    from classic.files import write_json
    from classic.learning.learner import load_learner
    from classic.learning.sequence import learn_sequence
    from classic.learning.testing import confusion

    torch.set_num_threads(arguments.threads)
    left_out = [domain.name for domain in DOMAINS if domain.source == source]
    # `joint` must know how many tasks there are.
    changes = {"method.tasks": 19 - len(left_out)} if system.startswith("joint") else {}
    spec = Spec(system, budget=arguments.budget, changes=changes)
    tasks = [task for task in spec.tasks() if task.name not in left_out]
    determined = spec.determined_by(tasks, arguments.threads)
    key = key_of(determined)
    path = RESULTS / f"{system.replace('/', '-')}-without-{source}-{key[:12]}.json"
    if path.exists() and told_one_by_one(path):
        return
    config = spec.config()
    if "cache_folder" in config.backbone_config:
        cached = config.backbone_config | {"cache_folder": str(arguments.work / "states")}
        config = dataclasses.replace(config, backbone_config=cached)
    store, _ = learn_sequence(
        arguments.work / key[:16],
        tasks,
        config,
        rows="last",
        on_task=lambda version, _: print(system, "without", source, version.domain, flush=True),
    )
    learner = load_learner(store)
    answers = {}
    for name in left_out:
        test = load_domain(name).test
        learner.method.model.backbone.prepare(test, dataset=True)
        answers[name] = confusion(learner, name, test, ordered=True)
    RESULTS.mkdir(exist_ok=True)
    write_json(
        path,
        {
            "system": system,
            "budget": arguments.budget,
            "left_out": source,
            "answers": answers,
            "determined_by": determined,
            "key": key,
        },
    )


def told_one_by_one(path: Path) -> bool:
    """Whether a result tells every answer, as paired tests need it. Early ones have counts only."""
    return all("said" in counted for counted in json.loads(path.read_bytes())["answers"].values())


def show() -> None:
    """Means over the domains of each source, and over all 19."""
    from classic.evaluation.scores import score

    found: dict[str, dict[str, dict]] = {}
    for file in sorted(RESULTS.glob("*.json")):
        result = json.loads(file.read_bytes())
        name = f"{result['system']}, {result.get('budget', 'quick')}"
        found.setdefault(name, {})[result["left_out"]] = result["answers"]
    print("| system | left out | domains | accuracy | macro-F1 | own classes |")
    print("| :-- | :-- | --: | --: | --: | --: |")
    for system, by_source in found.items():
        everything = []
        for source in (name for name in SOURCES if name in by_source):
            scores = [score(counted) for counted in by_source[source].values()]
            everything += scores
            print(line(system, source, scores))
        if len(by_source) == len(SOURCES):
            print(line(system, "each in turn", everything))


def line(system: str, source: str, scores: list[dict[str, float]]) -> str:
    means = (f"{mean(each[metric] for each in scores):.4f}" for metric in ("accuracy", "macro_f1", "own_f1"))
    return f"| {system} | {source} | {len(scores)} | {' | '.join(means)} |"


if __name__ == "__main__":
    main()
