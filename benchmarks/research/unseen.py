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
from typing import Any

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
    """Means over the domains of each source and over all that were left out; and how far the first system is ahead."""
    from classic.evaluation.scores import score

    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for file in sorted(RESULTS.glob("*.json")):
        result = json.loads(file.read_bytes())
        by_system = found.setdefault(result.get("budget", "quick"), {})
        by_system.setdefault(result["system"], {})[result["left_out"]] = result["answers"]
    print("| system | left out | domains | accuracy | macro-F1 | own classes |")
    print("| :-- | :-- | --: | --: | --: | --: |")
    for budget, by_system in found.items():
        for system, by_source in by_system.items():
            name, everything = f"{system}, {budget}", []
            for source in (each for each in SOURCES if each in by_source):
                scores = [score(counted) for counted in by_source[source].values()]
                everything += scores
                print(line(name, source, scores))
            if len(by_source) == len(SOURCES):
                print(line(name, "each in turn", everything))
    for budget, by_system in found.items():
        show_leads(budget, by_system)


def show_leads(budget: str, by_system: dict[str, dict[str, dict[str, Any]]]) -> None:
    """How far CLASSIC is ahead of the others on the same backbone, over the sources that both have answers on."""
    from classic.benchmark.runs.spec import Spec
    from classic.benchmark.tables.numbers import p_value
    from classic.benchmark.tables.paired import compare
    from classic.benchmark.tables.rows import Run
    from classic.benchmark.tables.statistics import holm

    def told(ours: str, theirs: str) -> list[str]:
        systems = [by_system[ours], by_system[theirs]]
        return [
            source
            for source in SOURCES
            if all(source in each and all("said" in set_ for set_ in each[source].values()) for each in systems)
        ]

    def answers(system: str, sources: list[str]) -> list[Run]:
        sets = {name: {"final": each} for source in sources for name, each in by_system[system][source].items()}
        return [Run(Spec(system), {"tasks": sets})]

    for ours in (system for system in by_system if system.startswith("classic@")):
        shared = {
            system: told(ours, system)
            for system in by_system
            if system != ours and system.partition("@")[2] == ours.partition("@")[2]
        }
        leads = {name: compare(answers(ours, of), answers(name, of)) for name, of in shared.items() if of}
        own = holm({name: lead.permutation for name, lead in leads.items()})
        pooled = holm({name: lead.mcnemar for name, lead in leads.items()})
        for name, lead in leads.items():
            mine, other, low, high = (100 * value for value in lead.own_f1)
            print(f"\n{ours} against {name}, {budget}, each in turn of {', '.join(shared[name])}:")
            print(f"- own F1 {mine - other:+.1f} points, 95 % of {low:+.1f} to {high:+.1f}, p {p_value(own[name])}")
            for part, (right, theirs, number) in lead.parts.items():
                p = f", p {p_value(pooled[name])}" if part == "all sentences" else ""
                print(f"- {part}: {right} and {theirs} of {number} right{p}")


def line(system: str, source: str, scores: list[dict[str, float]]) -> str:
    means = (f"{mean(each[metric] for each in scores):.4f}" for metric in ("accuracy", "macro_f1", "own_f1"))
    return f"| {system} | {source} | {len(scores)} | {' | '.join(means)} |"


if __name__ == "__main__":
    main()
