"""Settings that change nothing in a system, because another setting takes their place. Does not import torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from classic.errors import InputError

if TYPE_CHECKING:
    from classic.systems.system import SystemConfig

Values = dict[str, Any]


def _is(key: str, *wanted: Any) -> Callable[[Values], bool]:
    return lambda values: key not in values or values[key] in wanted


def _given(*keys: str) -> Callable[[Values], bool]:
    return lambda values: any(key not in values or values[key] not in (0, None, False) for key in keys)


_SOFT, _HARD = _is("method.gates.form", "soft"), _is("method.gates.form", "hard")
_STARTED = _is("method.gates.init", "reuse", "carry")
_LOSSES = ("method.csc", "method.ced", "method.cks")

# Settings, when they have an effect, and why they have none otherwise.
_EFFECTS: tuple[tuple[tuple[str, ...], Callable[[Values], bool], str], ...] = (
    (("method.gates.s_max", "method.gates.anneal", "method.gates.compensate"), _SOFT, "hard masks are not annealed"),
    (("method.gates.hard_scale",), _HARD, "soft masks have the scale of their annealing"),
    (("method.gates.init_std",), _is("method.gates.init", "normal"), "embeddings do not start at random"),
    (
        ("method.gates.init_size", "method.gates.fresh_first", "method.gates.fresh"),
        _STARTED,
        "embeddings start at random",
    ),
    (
        ("method.gates.learning_rate",),
        lambda values: values.get("method.gates.travel") is None,
        "the rate of the embeddings follows from method.gates.travel",
    ),
    (("method.missing",), _is("additions.shares", "learned"), "label shares are set aside, absent classes with them"),
    (
        ("additions.belief",),
        _is("additions.shares", "set_aside"),
        "label shares are learned, so logits have them already",
    ),
    (("additions.belief", "additions.faded"), _is("additions.domains", "inferred"), "answers are blind to the domain"),
    (("method.temperature",), _given("method.csc", "method.cks", "method.ced"), "no loss has a weight"),
    (("method.pull.weighing",), _given(*_LOSSES), "no loss has a weight"),
    (
        ("method.pull.ced_temperature", "method.pull.ced_reading", "method.teachers", "method.teacher_head"),
        _given("method.ced"),
        "method.ced is 0",
    ),
    (("method.attention", "method.view_ce"), _given("method.cks"), "method.cks is 0"),
    (
        ("method.normalised", "method.contrast", "method.reading"),
        _given("method.csc", "method.cks"),
        "no loss contrasts",
    ),
    (("method.pull.projection",), _is("method.contrast", "features"), "logits are contrasted, not features"),
    (
        ("method.most_teachers", "method.teachers"),
        _is("additions.average", False),
        "where weights are averaged there is one teacher, the model as it answered before",
    ),
    (("train.momentum",), _is("train.optimiser", "sgd"), "only train.optimiser=sgd has momentum"),
    (("train.rate_floor",), _given("train.patience"), "no train.patience is given, so the rate is never cut"),
    (
        ("backbone.cache_mb", "backbone.cache_folder"),
        _given("backbone.layers"),
        "all layers have adapters, so no states can be kept; backbone.layers says how many have",
    ),
    (("backbone.hidden", "backbone.hidden_bias"), _is("backbone.trunk", "kim_fc"), "this trunk has no such layers"),
)


def idle(config: SystemConfig) -> dict[str, str]:
    """The settings that change nothing in this system, and why."""
    values = flat(config)
    found: dict[str, str] = {}
    for keys, works, why in _EFFECTS:
        if not works(values):
            found |= {key: why for key in keys if key in values and key not in found}
    if config.backbone != "bert_adapter":  # other backbones keep all their states, or none
        found = {key: why for key, why in found.items() if not key.startswith("backbone.cache")}
    return found


def refuse_idle(config: SystemConfig, keys: Iterable[str]) -> None:
    """Refuses a setting that was asked for and changes nothing, with a sentence."""
    found = idle(config)
    for key in keys:
        if key in found:
            raise InputError(
                f"{key} has no effect in this system: {found[key]}", fix="leave it out, or change the other"
            )


def flat(config: SystemConfig) -> Values:
    """Every setting of a system by dotted key."""
    plain = config.complete().to_dict()
    parts = {"method": plain["method_config"], "backbone": plain["backbone_config"]}
    parts |= {name: plain[name] for name in ("train", "head", "additions")}
    return _flat(parts, "")


def _flat(values: dict[str, Any], before: str) -> Values:
    found: Values = {}
    for name, value in values.items():
        found |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found
