"""The starter on what it has never seen: held-out domains by register, and the paper's 19 domains without learning any.

CLASSIC_DATA=FOLDER python benchmarks/starter/score.py [--encoder mpnet]
python benchmarks/starter/score.py --demo STORE      # only the demo's test sets, asked of the store of `classic demo`
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from typing import Any


def sided(examples: list[Any], answers: list[Any]) -> float:
    """How often praise and blame are told apart, where one of them is right; whatever "neutral" is given."""
    from classic.types import Polarity

    pairs = [(e, a.probabilities) for e, a in zip(examples, answers, strict=True) if e.polarity != Polarity.NEUTRAL]
    good, bad = Polarity.POSITIVE, Polarity.NEGATIVE
    return sum((p[good.column] > p[bad.column]) == (e.polarity is good) for e, p in pairs) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--demo", help="the store of `classic demo`")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    from classic.data.demo import DEMO_DOMAINS, load_demo
    from classic.data.starter import HELD_OUT, load_starter
    from classic.evaluation.calibration import calibration_error
    from classic.evaluation.scores import count, in_order, labels_of, score
    from classic.learning.starter import starter_learner, starter_over
    from classic.prediction.predictor import Predictor

    starter = None if arguments.demo else Predictor(starter_learner(starter_over(arguments.encoder)), 1)
    predictor = starter or Predictor.open(arguments.demo)

    def ask(examples: list[Any]) -> tuple[dict[str, Any], list[Any]]:
        answers = list(predictor.stream(examples))
        said = [answer.polarity.column for answer in answers]
        found = score(count(examples, said)) | in_order(examples, said)
        return found | {"sided": sided(examples, answers)}, answers

    def ask_demo(which: str) -> None:
        tests = [ask(list(load_demo(name).test))[0] for name in DEMO_DOMAINS]
        right, asked = (sum(found["mixed"][part] for found in tests) for part in (0, 1))
        print(
            f"the demo's domains, {which}: accuracy {mean(tests, 'accuracy'):.4f}, own F1 {mean(tests, 'own_f1'):.4f}, "
            f"mixed {right / asked:.4f} of {asked}, sided {mean(tests, 'sided'):.4f}"
        )

    if arguments.demo:
        ask_demo("learned")
        return
    by_register: dict[str, list[Any]] = defaultdict(list)
    right = mixed_right = mixed_all = total = unfamiliar = 0
    every, answers_all = [], []
    print("held-out domains: accuracy, own F1, mixed")
    for domain in HELD_OUT:
        sentences = load_starter(domain)
        examples = [example for sentence in sentences for example in sentence.examples]
        found, answers = ask(examples)
        print(
            f"  {domain:20} {found['accuracy']:.3f}  {found['own_f1']:.3f}  {found['mixed'][0] / found['mixed'][1]:.3f}"
        )
        good = [a.polarity == e.polarity for a, e in zip(answers, examples, strict=True)]
        registers = [sentence.register for sentence in sentences for _ in sentence.examples]
        for register, fine in zip(registers, good, strict=True):
            by_register[register].append(fine)
        right, total = right + sum(good), total + len(good)
        mixed_right, mixed_all = mixed_right + found["mixed"][0], mixed_all + found["mixed"][1]
        unfamiliar += sum(answer.unfamiliar for answer in answers)
        every += examples
        answers_all += answers
    shares = torch.tensor([list(answer.probabilities) for answer in answers_all])
    error = calibration_error(shares, torch.tensor(labels_of(every)))
    print(f"  all: accuracy {right / total:.4f}, mixed {mixed_right / mixed_all:.4f}, calibration error {error:.4f}")
    print(f"  between praise and blame alone: {sided(every, answers_all):.4f}")
    print(f"  called unlike anything learned: {unfamiliar / total:.1%}")
    for register, fine in sorted(by_register.items()):
        print(f"  {register:12} {sum(fine) / len(fine):.3f} of {len(fine)}")
    ask_demo("none learned")
    if os.environ.get("CLASSIC_DATA"):
        from classic.data.domains import DOMAINS
        from classic.data.tasks import load_domain

        found_of = {domain.name: ask(list(load_domain(domain.name).test))[0] for domain in DOMAINS}
        print("the paper's 19 domains, none learned: accuracy, own F1, mixed")
        for name in ("Rest", "Laptop"):
            one = found_of[name]
            print(f"  {name:20} {one['accuracy']:.3f}  {one['own_f1']:.3f}  {one['mixed'][0] / one['mixed'][1]:.3f}")
        for metric in ("accuracy", "own_f1", "sided"):
            print(f"  mean {metric}: {mean(list(found_of.values()), metric):.4f}")


def mean(found: list[dict[str, Any]], metric: str) -> float:
    return sum(float(one[metric]) for one in found) / len(found)


if __name__ == "__main__":
    main()
