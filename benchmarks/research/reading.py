"""Is it the reading of answers, their level, or what was learned, that errs? One model, read in many ways.

    CLASSIC_DATA=FOLDER python benchmarks/research/reading.py learn --work FOLDER [--largest 1500] [--set KEY=VALUE]
    CLASSIC_DATA=FOLDER python benchmarks/research/reading.py read --work FOLDER
    CLASSIC_DATA=FOLDER python benchmarks/research/reading.py levels --work FOLDER

`learn` teaches a system an order of the paper with a fifth of every training set held out (half an hour), and keeps what the
network says about these examples and where they lie. `read` turns that into answers by other readers: how sharply words tell
the domain, whether large domains are likelier, how far label shares are believed, how far faded classes are raised; and, as
a bound, with the domain told. Its table is written to reading.md. `levels` tells, lesson after lesson, what has become of
"neutral" where a domain has it: how good answers are with the domain told, how often they are neutral, and what the best
constant added to the logit of "neutral" would give. Test sets are not touched.
"""

from __future__ import annotations

import argparse
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import recipe as short

HERE = Path(__file__).parent
SHARPNESS, SIZE, BELIEF, FADED = (0.4, 1.0, 2.0), (0.0, 0.5, 1.0), (0.25, 0.5, 0.75), (0.0, 0.25, 0.5)
CHOSEN = (0.4, 0.0, 0.5, 0.0)
WITH_NEUTRAL = ("Laptop", "Rest")
LEVELS = [step / 4 for step in range(-16, 17)]
HEADER = "| sharpness | weight of size | belief | faded | accuracy | own F1 | macro-F1 | Laptop | Rest |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("learn", "read", "levels"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--order", type=int, default=0)
    parser.add_argument("--system", default="classic@bert_adapter")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; VALUE is JSON")
    parser.add_argument("--largest", type=int, help="train on so many examples of a domain, ask a third of it, at most")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    from classic.data.sequences import order
    from classic.data.tasks import load_domain

    parts = {name: short.held_out(load_domain(name)) for name in order(arguments.order)}
    if most := arguments.largest:
        parts = {n: (replace(task, train=task.train[:most]), asked[: most // 3]) for n, (task, asked) in parts.items()}
    said = arguments.work / "said.safetensors"
    if arguments.what == "learn":
        arguments.work.mkdir(parents=True, exist_ok=True)
        changes = {key: json.loads(value) for key, value in (setting.split("=", 1) for setting in arguments.set)}
        learn(parts, arguments.system, changes, said)
    elif arguments.what == "levels":
        print("\n".join(levels(parts, said)))
    else:
        table = "\n".join(read(parts, said)) + "\n"
        (HERE / "reading.md").write_text(table, encoding="utf-8")
        print(table)


def learn(parts: dict[str, Any], system: str, changes: dict[str, Any], out: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from classic.batching import sorted_batches
    from classic.learning.learner import new_learner, surfaces
    from classic.seeding import Seeds
    from classic.systems.names import parse
    from classic.training.loop import learn_task

    config = parse(system, "default", changes)
    learner = new_learner(config, 0)
    method = learner.method

    def say(asked: Any) -> torch.Tensor:
        logits = torch.zeros(len(asked), 3)
        method.eval()
        with torch.no_grad(), method.acting_as(None):
            for batch in sorted_batches(method.model.backbone, asked, 64):
                logits[batch.rows] = method.model(batch, None).logits
        return logits

    kept: dict[str, torch.Tensor] = {}
    for place, (name, (task, asked)) in enumerate(parts.items()):
        learn_task(method, task, config.train, Seeds(0))
        learner.map.add(surfaces(method, task.train), surfaces(method, task.valid))
        print(name, {k: round(v, 3) for k, v in short.scores(method, asked).items() if k != "right"}, flush=True)
        so_far = list(parts)[: place + 1]
        kept |= {f"course/{place}/{old}": say(parts[old][1]) for old in WITH_NEUTRAL if old in so_far}
    kept |= {"shares": method.answers.shares, "means": learner.map.means, "whitener": learner.map.whitener()}
    for name, (_, asked) in parts.items():
        kept |= {f"logits/{name}": say(asked), f"surfaces/{name}": surfaces(method, asked)}
    save_file({name: tensor.contiguous() for name, tensor in kept.items()}, out)


def levels(parts: dict[str, Any], said: Path) -> list[str]:
    import torch
    from safetensors.torch import load_file

    from classic.evaluation import macro_f1

    kept, lines = (
        load_file(said),
        ["| after | domain | told | neutral said, of | best level | at |", "| :-- " * 6 + "|"],
    )
    for domain in WITH_NEUTRAL:
        true = [example.polarity.column for example in parts[domain][1]]
        shares = kept["shares"][list(parts).index(domain)]
        for place, name in enumerate(parts):
            if f"course/{place}/{domain}" not in kept:
                continue
            logits = kept[f"course/{place}/{domain}"] + CHOSEN[2] * shares.log()
            tried = {level: (logits + torch.tensor([0.0, 0.0, level])).argmax(dim=1).tolist() for level in LEVELS}
            best = max(LEVELS, key=lambda level: macro_f1(true, tried[level]))
            counts = f"{tried[0.0].count(2)} of {true.count(2)}"
            scores = f"{macro_f1(true, tried[0.0]):.3f} | {counts} | {macro_f1(true, tried[best]):.3f} | {best:+.2f}"
            lines.append(f"| {name} | {domain} | {scores} |")
    return lines


def read(parts: dict[str, Any], said: Path) -> list[str]:
    import torch
    from safetensors.torch import load_file

    from classic.evaluation import accuracy, macro_f1

    kept = load_file(said)
    shares, turn = kept["shares"], kept["whitener"]
    ago = (shares > 0).flip(0).long().argmax(dim=0).float().log1p()
    sizes = torch.tensor([float(len(task.train)) for task, _ in parts.values()]).log()
    gaps = {name: torch.cdist(kept[f"surfaces/{name}"] @ turn.T, kept["means"] @ turn.T).square() / 2 for name in parts}

    def answers(
        name: str, sharpness: float, size: float, belief: float, faded: float, told: int | None
    ) -> torch.Tensor:
        expected = torch.where(shares > 0, belief * shares.clamp(min=1e-12).log(), -1e4) + faded * ago
        if told is not None:
            return kept[f"logits/{name}"] + expected[told]
        domain = (size * sizes - sharpness * gaps[name]).log_softmax(dim=1)
        answer = (kept[f"logits/{name}"].unsqueeze(1) + expected).log_softmax(dim=2)
        return (domain.unsqueeze(2) + answer).logsumexp(dim=1)

    def row(chosen: tuple[float, ...], *, told: bool = False) -> str:
        found = {}
        for place, (name, (_, asked)) in enumerate(parts.items()):
            answered = answers(name, *chosen, place if told else None).argmax(dim=1).tolist()
            true = [example.polarity.column for example in asked]
            own = macro_f1(true, answered, labels=sorted(set(true)))
            found[name] = accuracy(true, answered), own, macro_f1(true, answered)
        means = [short.mean(one[metric] for one in found.values()) for metric in range(3)]
        numbers = [*means, found["Laptop"][1], found["Rest"][1]]
        ways = ["told", "", *map(str, chosen[2:])] if told else [str(value) for value in chosen]
        return f"| {' | '.join(ways)} | {' | '.join(f'{number:.4f}' for number in numbers)} |"

    grid = [chosen for chosen in itertools.product(SHARPNESS, SIZE, BELIEF, FADED) if chosen != CHOSEN]
    rows = [row(CHOSEN, told=True), row(CHOSEN), *(row(chosen) for chosen in grid)]
    return [HEADER, "| --: " * 9 + "|", *rows]


if __name__ == "__main__":
    main()
