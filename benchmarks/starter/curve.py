"""How many rows of a new domain does it take, with the starter and without?

    CLASSIC_DATA=FOLDER python benchmarks/starter/curve.py
    CLASSIC_DATA=FOLDER python benchmarks/starter/curve.py --valid --rows 60 150
    CLASSIC_DATA=FOLDER python benchmarks/starter/curve.py --encoder mpnet --starts starter --out FILE

The default system learns the first N rows of a domain, from scratch or on the starter, and is scored on the domain's test
set; with --valid on its validation set, to choose settings by. Results are added to curve.json; curve.md is their table.
Kill it at will: what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS = (25, 50, 100, 200, 400)
DOMAINS = ("Creative", "Nokia6610", "Speaker")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--valid", action="store_true", help="score validation sets")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--domains", nargs="+", default=DOMAINS)
    parser.add_argument("--starts", nargs="+", default=("scratch", "starter"), choices=("scratch", "starter"))
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--out", type=Path, default=HERE / "curve.json")
    arguments = parser.parse_args()
    from classic.files import write_json

    found = json.loads(arguments.out.read_bytes()) if arguments.out.exists() else []
    part = "valid" if arguments.valid else "test"
    for name in arguments.domains:
        for rows in arguments.rows:
            for start in arguments.starts:
                kind = start if arguments.encoder == "minilm" else f"{start}, {arguments.encoder}"
                key = {"domain": name, "part": part, "rows": rows, "start": kind}
                if all(any(other[field] != value for field, value in key.items()) for other in found):
                    found.append(key | learn(name, part, rows, start, arguments.encoder))
                    write_json(arguments.out, found)
                    arguments.out.with_suffix(".md").write_text("\n".join(table(found)) + "\n", encoding="utf-8")
    print("\n".join(table(found)))


def learn(name: str, part: str, rows: int, start: str, encoder: str) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    from classic.data.tasks import load_domain
    from classic.evaluation.answers import answer
    from classic.evaluation.scores import count, score
    from classic.learning.learner import new_learner, surfaces
    from classic.learning.starter import starter_learner
    from classic.seeding import Seeds
    from classic.systems.system import SystemConfig
    from classic.training.loop import learn_task
    from classic.types import TaskId

    whole, config = load_domain(name), SystemConfig.preset(changes={"backbone.encoder": encoder})
    learner = starter_learner(config) if start == "starter" else new_learner(config, 0)
    task = replace(whole, train=whole.train[:rows])
    learn_task(learner.method, task, config.train, Seeds(0))
    learner.map.add(surfaces(learner.method, task.train), surfaces(learner.method, task.valid))
    asked = whole.valid if part == "valid" else whole.test
    said = answer(learner.method, asked, TaskId.LAST, None).argmax(dim=1).tolist()
    scores = score(count(asked, said))
    print(name, rows, start, scores, flush=True)
    return {"accuracy": scores["accuracy"], "own_f1": scores["own_f1"], "examples": len(asked)}


def table(found: list[dict[str, Any]]) -> Iterator[str]:
    """Mean accuracy / own F1 over the domains that have both."""
    for part in sorted({result["part"] for result in found}):
        chosen = [result for result in found if result["part"] == part]
        kinds = sorted({result["start"] for result in chosen})
        rows = sorted({result["rows"] for result in chosen})
        domains = sorted({result["domain"] for result in chosen})
        yield f"Domains: {', '.join(domains)}; {part} sets; mean accuracy / own F1."
        yield ""
        yield "| rows | " + " | ".join(kinds) + " |"
        yield "| --: " * (len(kinds) + 1) + "|"
        for size in rows:
            cells = []
            for start in kinds:
                here = [r for r in chosen if (r["start"], r["rows"]) == (start, size)]
                whole = {r["domain"] for r in here} == set(domains)
                means = [sum(r[metric] for r in here) / len(here) for metric in ("accuracy", "own_f1")] if whole else []
                cells.append(" / ".join(f"{value:.3f}" for value in means) or "–")
            yield f"| {size} | " + " | ".join(cells) + " |"
        yield ""


if __name__ == "__main__":
    main()
