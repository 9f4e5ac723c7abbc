"""Makes the starter: the default system learns the starter corpus, and becomes a file that is shipped with the package.

    python benchmarks/starter/make.py --work FOLDER
    python benchmarks/starter/make.py --work FOLDER --encoder mpnet --threads 2

Kill it at will; the same command goes on. It prints the sha256 that `classic.learning.starter` must name. The same code on
the same kind of machine gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from classic.learning.learner import Learner
    from classic.types import Task

FOLDER = Path(__file__).parents[2] / "src" / "classic" / "learning"
# As many passes as over any large domain. The larger encoder learns as much in two, and needs no joined sentences to see the
# aspect: half of the corpus is mixed.
RECIPES: dict[str, dict[str, Any]] = {
    "minilm": {"train.large_epochs": 3},
    "mpnet": {"backbone.encoder": "mpnet", "train.large_epochs": 2, "train.joined": 0.0},
}
# How many standard errors below the best the accuracy may be, for saying "neutral" less often (docs/research, section 34).
SLACK = {"minilm": 1.0, "mpnet": 0.0}
SHIFTS = tuple(-step / 2 for step in range(13))  # of the logit of "neutral": 0 to -6


def settle(learner: Learner, record: dict[str, Any], task: Task, slack: float) -> float:
    """Sets the odds of "neutral" and the temperature for domains it has not seen; the shift of that logit.

    Where the words of an opinion are new, a sentence looks like a statement of fact, and the model says "neutral" too often.
    How much too often is read off the training rows of the demo domains, which it never learned; the rows that the demo is
    tested on are not looked at. A fifth of them is neutral, far more than of most reviews, so of all shifts that are within
    so many standard errors of the best the largest is taken.
    """
    import torch

    from classic.data.demo import DEMO_DOMAINS, load_demo
    from classic.evaluation.answers import answer
    from classic.evaluation.calibration import fit_temperature
    from classic.evaluation.scores import labels_of
    from classic.learning.teach import scores_of
    from classic.types import Polarity

    neutral = Polarity.NEUTRAL.column
    rows = [example for name in DEMO_DOMAINS for example in load_demo(name).train]
    said, truth = answer(learner.method, rows), torch.tensor(labels_of(rows))

    def moved(shift: float) -> torch.Tensor:
        return said + shift * torch.nn.functional.one_hot(torch.tensor(neutral), said.shape[1])

    right = {shift: float((moved(shift).argmax(dim=1) == truth).float().mean()) for shift in SHIFTS}
    best = max(right.values())
    enough = best - slack * math.sqrt(best * (1 - best) / len(rows))
    shift = min(each for each in SHIFTS if right[each] >= enough)
    with torch.no_grad():
        learner.method.model.head.current.bias[neutral] += shift
    record["temperature"] = [fit_temperature(moved(shift), truth), len(rows)]
    record["scores"] = {
        part: scores_of(examples, answer(learner.method, examples), task)
        for part, examples in (("valid", task.valid), ("test", task.test))
    }
    return shift


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where the store lies meanwhile")
    parser.add_argument("--encoder", choices=list(RECIPES), default="minilm")
    parser.add_argument("--threads", type=int, default=1, help="of torch; another number makes other last bits")
    parser.add_argument("--out", type=Path, help="default: the file that is shipped")
    arguments = parser.parse_args()

    import torch

    torch.set_num_threads(arguments.threads)
    from classic.cli.progress import TrainingProgress
    from classic.data.starter import starter_task
    from classic.files import write_bytes
    from classic.learning.learner import begin
    from classic.learning.starter import SHIPPED, pack
    from classic.learning.teach import teach
    from classic.systems.system import SystemConfig

    config = SystemConfig.preset(changes=RECIPES[arguments.encoder])
    store, ready = begin(arguments.work / f"{arguments.encoder}.store", config)
    task = starter_task()
    with TrainingProgress() as progress:
        version, learner = teach(store, task, watcher=progress, learner=ready)
    record = {name: value for name, value in version.record.items() if name != "parent"}
    shift = settle(learner, record, task, SLACK[arguments.encoder])
    data = pack(learner, record)
    out = arguments.out or FOLDER / SHIPPED[arguments.encoder].file
    write_bytes(out, data)
    scores = record["scores"]["test"]
    print(f"{out.name}: {len(data) / 1e6:.1f} MB, sha256 {hashlib.sha256(data).hexdigest()}")
    print(f"the logit of neutral was moved by {shift:+.1f}, the temperature is {record['temperature'][0]:.2f}")
    print(f"held-out domains: accuracy {scores['accuracy']:.4f}, own F1 {scores['own_f1']:.4f}")


if __name__ == "__main__":
    main()
