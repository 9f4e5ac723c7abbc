"""Every setting that is not simply its field's default: one table.

A field of a configuration says its default; a rule here says where it is something else. Rules are read from top to bottom,
and the last one that fits decides. `default` is what we found best within the time a laptop has, `paper` is what the paper
prints, and `authors` is what the released code does where it differs. Does not import torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from classic.config import PresetName
from classic.types import Scenario

_TOKENS = ("bert_frozen", "w2v")  # small networks over token states that never change
_MASKED = ("hat", "classic", "bcl")
_PUBLISHED = ("paper", "authors")


@dataclass(frozen=True)
class Asked:
    """What settings are asked for.

    Attributes:
        preset: ``default``, ``paper`` or ``authors``.
        budget: ``quick`` (minutes) or ``full``.
        method, backbone, scenario: The system.
        average: Whether its weights are averaged; None where that is not known yet.
        encoder: The name of its encoder; None for the usual one.
    """

    preset: PresetName
    budget: str
    method: str
    backbone: str
    scenario: Scenario
    average: bool | None = None
    encoder: str | None = None


def rule(settings: dict[str, Any], **where: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings, and where they hold: fields of `Asked` with the value, or the values, they must have."""
    return settings, {name: value if isinstance(value, tuple) else (value,) for name, value in where.items()}


def recipe(asked: Asked) -> dict[str, Any]:
    """The settings of a system by dotted key, as far as they differ from the defaults of their fields."""
    found: dict[str, Any] = {}
    for settings, where in RULES:
        if all(getattr(asked, name) in values for name, values in where.items()):
            found |= settings
    return found


# What the option +reader of a system's name stands for.
READER: dict[str, Any] = {
    "additions.shares": "set_aside",
    "additions.domains": "inferred",
    "additions.faded": 0.25,
}

_TRAINING = (
    # Sec. 4.3: Adam, 3e-5, batch 32, 10 epochs for SemEval and 30 for the others
    rule(
        {
            "train.learning_rate": 3e-5,
            "train.epochs": 30,
            "train.large_epochs": 10,
            "train.batch_size": 32,
            "train.warmup": 0.0,
            "train.schedule": "constant",
        },
        preset="paper",
    ),
    # Released code: 5e-5, BertAdam with decay 0.01, schedule applied twice
    rule(
        {
            "train.learning_rate": 5e-5,
            "train.epochs": 30,
            "train.large_epochs": 10,
            "train.batch_size": 32,
            "train.optimiser": "authors_adam",
            "train.weight_decay": 0.01,
            "train.schedule": "linear_twice",
        },
        preset="authors",
    ),
    # Small domains want six passes (benchmarks/research/recipe.md). Large ones have learned what they can after three, since
    # features are taken at the aspect (docs/research, section 17).
    rule(
        {
            "train.epochs": 6,
            "train.large_epochs": 3,
            "train.selection": "last",
            "train.joined": 0.5,
            "train.precision": "fastest",
        },
        preset="default",
        budget="full",
        backbone=("bert", "bert_adapter"),
    ),
    # The larger encoder learns a small domain in half of the passes, and each takes seven times as long (docs/research,
    # section 34).
    rule({"train.epochs": 3}, preset="default", budget="full", backbone="bert_adapter", encoder="mpnet"),
    # A whole encoder bears only small steps.
    rule({"train.learning_rate": 1e-4}, preset="default", backbone="bert"),
    rule({"train.epochs": 2, "train.large_epochs": 1, "train.precision": "fastest"}, budget="quick"),
    # Small networks over frozen states; word vectors know less and so take longer to learn.
    rule(
        {"train.epochs": 16, "train.large_epochs": 6, "train.warmup": 0.0, "train.schedule": "constant"},
        preset="default",
        backbone=_TOKENS,
    ),
    rule({"train.epochs": 40, "train.large_epochs": 12}, preset="default", backbone="w2v"),
    rule({"train.precision": "float32"}, budget="quick", backbone=_TOKENS),
    rule({"train.epochs": 4, "train.large_epochs": 2}, preset="default", budget="quick", backbone=_TOKENS),
    rule({"train.epochs": 8, "train.large_epochs": 3}, preset="default", budget="quick", backbone="w2v"),
    # Released code: plain SGD, which learns little from the few hundred examples of a domain
    rule(
        {
            "train.learning_rate": 0.05,
            "train.optimiser": "sgd",
            "train.weight_decay": 0.0,
            "train.epochs": 100,
            "train.large_epochs": 100,
            "train.clip_norm": 10_000.0,
            "train.warmup": 0.0,
            "train.schedule": "constant",
        },
        preset=_PUBLISHED,
        backbone=_TOKENS,
    ),
    # Sec. 4.3: batch 64; stop after 5 epochs without improvement, no cuts (the floor is the rate itself)
    rule(
        {"train.batch_size": 64, "train.patience": 5, "train.rate_floor": 0.05},
        preset="paper",
        backbone=_TOKENS,
    ),
    # Run scripts: patience 3 and six cuts to 1e-4; other values for some methods
    rule({"train.batch_size": 32, "train.patience": 3}, preset="authors", backbone=_TOKENS),
    rule({"train.batch_size": 64}, preset="authors", backbone="bert_frozen", method=("ncl", "derpp")),
    rule(
        {"train.batch_size": 256},
        preset="authors",
        backbone="bert_frozen",
        method=("one", "ncl"),
        scenario=Scenario.TIL,
    ),
    rule({"train.batch_size": 128}, preset="authors", backbone="w2v", method="srk"),
    rule(
        {"train.clip_norm": 100.0, "train.patience": 5},
        preset="authors",
        backbone=_TOKENS,
        method=("owm", "ucl"),
    ),
    rule({"train.momentum": 0.9, "train.rate_floor": 2e-6}, preset="authors", backbone=_TOKENS, method="owm"),
    rule({"train.rate_floor": 2e-4}, preset="authors", backbone=_TOKENS, method="ucl"),  # 0.05 / 3^5
    rule(
        {"train.epochs": 20, "train.large_epochs": 20, "train.patience": 2},
        preset=_PUBLISHED,
        budget="quick",
        backbone=_TOKENS,
    ),
)

_NETWORKS = (
    rule({"head.dropout": 0.5}, preset="paper"),  # Sec. 4.3: 0.5 between fully connected layers
    rule({"head.dropout": 0.5}, backbone=_TOKENS),  # paper and released code alike
    rule({"backbone.width": 2000}, preset=_PUBLISHED, backbone="bert_adapter"),  # Sec. 4.3
    rule({"backbone.pooling": "cls"}, preset="paper", backbone=("bert", "bert_adapter")),
    rule({"backbone.pooling": "pooler"}, preset="authors", backbone=("bert", "bert_adapter")),  # released code
    # Features at the aspect's own words: with joined sentences they learn to see it (docs/research, section 17).
    rule({"backbone.pooling": "aspect"}, preset="default", budget="full", backbone=("bert", "bert_adapter")),
    rule({"backbone.layers": 2}, budget="quick", backbone="bert_adapter"),
    # Narrow adapters train and answer faster, and the same width serves every method.
    rule({"backbone.width": 256}, preset="default", budget="full", backbone="bert_adapter"),
    # Twice as many adapters over states twice as wide: half of the units learn the same (docs/research, section 34), and a
    # version stays small.
    rule({"backbone.width": 128}, preset="default", budget="full", backbone="bert_adapter", encoder="mpnet"),
    # The network a method has in the paper where it is not Kim's. ONE and NCL over word vectors have the gated network of
    # Xue & Li (2018) by the parameter table; with +csc the released scripts run Kim's.
    rule({"backbone.trunk": "gated"}, backbone="w2v", method=("one", "ncl")),
    rule({"backbone.trunk": "kim_fc"}, backbone=_TOKENS, method=("hat", "owm")),
    rule({"backbone.hidden": [300, 300], "backbone.hidden_bias": False}, backbone=_TOKENS, method="owm"),
    rule({"backbone.trunk": "mean"}, backbone=_TOKENS, method=("kan", "srk")),
)

_METHODS = (
    # Eq. (2)-(5); compensation and sparsity from HAT, which the paper builds on.
    rule(
        {
            "method.gates.anneal": "epoch",
            "method.gates.form": "soft",
            "method.gates.init": "normal",
            "method.gates.travel": None,
            "method.gates.sparsity": 0.75,
            "method.gates.pressure": 0.0,
            "method.gates.clamp": 6.0,
            "method.gates.compensate": True,
        },
        preset=_PUBLISHED,
        method=_MASKED,
    ),
    rule({"method.gates.anneal": "epoch_short"}, preset="authors", method=_MASKED),
    # Eq. (7) and (14), Sec. 4.3
    rule(
        {
            "method.csc": 1.0,
            "method.ced": 1.0,
            "method.cks": 1.0,
            "method.absent": 0.0,
            "method.temperature": 1.0,
            "method.teachers": "sum",
            "method.teacher_head": "current",
            "method.missing": "plain",
            "method.pull.weighing": "fixed",
            "method.pull.ced_temperature": None,
            "method.pull.ced_reading": "paper",
            "method.pull.helper_rate": None,
        },
        preset=_PUBLISHED,
        method="classic",
    ),
    # Released code: last teacher only, both views as anchors, extra cross-entropy
    rule(
        {
            "method.teachers": "last",
            "method.reading": "authors",
            "method.attention": "tasks",
            "method.view_ce": 1.0,
        },
        preset="authors",
        method="classic",
    ),
    rule({"method.most_teachers": 5}, budget="quick", method="classic"),
    rule(READER, preset="default", method="classic"),
    rule({"additions.average": True}, preset="default", method="classic", scenario=Scenario.DIL),
    # Where weights are averaged a rare class is said too seldom as it is, so shares are not believed on top (docs/research,
    # section 26). In TIL nothing is averaged, and half of them is right (section 9).
    rule({"additions.belief": 0.5}, preset="default", method="classic", scenario=Scenario.TIL),
    # Averaged units go on learning with every domain, so a new one wants hardly any of its own: one per adapter, however
    # small the share; and nothing is won by shutting them, so hardly anything presses (docs/research, section 21).
    # Protected ones leave room for domains to come.
    rule({"method.gates.fresh_first": 0.5}, preset="default", method=_MASKED, backbone="bert_adapter"),
    rule(
        {"method.gates.fresh": 0.0, "method.gates.pressure": 0.03},
        preset="default",
        method="classic",
        backbone="bert_adapter",
        scenario=Scenario.DIL,
        average=True,
    ),
    # The hidden units of an encoder know something before the first lesson: all are open, and not easily shut.
    rule(
        {
            "method.gates.fresh_first": 1.0,
            "method.gates.fresh": 0.0,
            "method.gates.init_size": 0.8,
            "method.gates.pressure": 0.03,
        },
        preset="default",
        method=("classic", "hat"),
        backbone="bert",
    ),
    # HAT's masks over a small network that is trained from nothing: a mask that moves as far as an adapter's shuts units
    # before they have learned anything.
    rule(
        {
            "method.gates.fresh_first": 0.6,
            "method.gates.fresh": 0.05,
            "method.gates.pressure": 0.05,
            "method.gates.travel": 0.4,
            "method.gates.clamp": 0.4,
        },
        preset="default",
        method="hat",
        backbone=_TOKENS,
    ),
    rule({"method.fisher_mode": "train"}, preset="authors", method="ewc"),
    # The released code's regulariser never runs; that is not a preset.
    rule({"method.scale": 1.0, "method.rho_rate": None}, preset="authors", method="ucl"),
    rule({"method.batch_size": 32}, preset=_PUBLISHED, method="owm"),
    rule({"method.update": "step"}, preset="authors", method="owm"),
    rule({"method.replay": 32}, preset=_PUBLISHED, method="derpp"),  # as large as the preset's batches
    rule({"method.replay": 16}, budget="quick", method="derpp"),
    rule({"method.init_std": 1.0, "method.learning_rate": None}, preset=_PUBLISHED, method="kan"),
    rule({"method.compensate": False}, preset="authors", method="kan"),
    rule({"method.decay": 10.0}, preset="paper", method="srk"),  # SRK's own publication
    rule({"method.leak": 0.001, "method.floor": 0.1}, preset="authors", method="srk"),
    # LAMOL's paper at its best, or its code as it comes
    rule({"method.pseudo_share": 0.05, "method.starts": "common"}, preset="authors", method="lamol"),
)

RULES = _TRAINING + _NETWORKS + _METHODS
