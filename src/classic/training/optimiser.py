"""Optimisers and learning-rate schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from classic.config import TrainConfig
from classic.methods.base import Group

RATE_CUT = 3  # what the rate is divided by when patience ends (released code)


def build_optimiser(groups: Sequence[Group], config: TrainConfig, steps: int = 1) -> torch.optim.Optimizer:
    """A fresh optimiser: momentum of an earlier task would move weights this task must not touch.

    Args:
        groups: What is trained.
        config: How.
        steps: How many steps there will be; groups with a travel share it out among them.
    """
    settings: list[dict[str, Any]] = []
    for group in groups:
        rate = config.learning_rate if group.learning_rate is None else group.learning_rate
        if group.travel is not None:
            rate = group.travel / sum(rate_factor(config, step, steps) for step in range(steps))
        settings.append({"params": list(group.parameters), "lr": rate, "base_lr": rate})
    if config.optimiser == "authors_adam":
        return AuthorsAdam(settings, weight_decay=config.weight_decay, clip=config.clip_norm)
    if config.optimiser == "sgd":
        return torch.optim.SGD(settings, momentum=config.momentum, weight_decay=config.weight_decay)
    return torch.optim.AdamW(settings, weight_decay=config.weight_decay, fused=True)


def set_rate(optimiser: torch.optim.Optimizer, config: TrainConfig, step: int, steps: int, cuts: int = 0) -> None:
    """Sets every group's rate for a step; nothing to save, the rate is a function of the step and the cuts."""
    factor = rate_factor(config, step, steps) / RATE_CUT**cuts
    for group in optimiser.param_groups:
        group["lr"] = group["base_lr"] * factor


def rate_factor(config: TrainConfig, step: int, steps: int) -> float:
    """Share of the full rate at a step counted from 0."""
    progress = (step + 1) / max(1, steps)
    if progress <= config.warmup:
        climb = progress / config.warmup
        return climb * climb if config.schedule == "linear_twice" else climb
    if config.schedule == "constant":
        return 1.0
    left = (1 - step / max(1, steps)) / (1 - config.warmup)
    left = min(1.0, left)
    # The released code decays in its loop and once more inside its optimiser.
    return left * (1 - step / max(1, steps)) if config.schedule == "linear_twice" else left


def clip_gradients(parameters: Sequence[nn.Parameter], config: TrainConfig) -> None:
    """Clips the norm of these gradients together; AuthorsAdam clips each tensor by itself."""
    if config.optimiser != "authors_adam":
        nn.utils.clip_grad_norm_(parameters, config.clip_norm)


class AuthorsAdam(torch.optim.Optimizer):
    """The released code's optimiser: Adam without bias correction, eps 1e-6, each tensor's gradient clipped."""

    def __init__(self, params: Any, weight_decay: float, clip: float) -> None:
        super().__init__(params, {"lr": 5e-5, "weight_decay": weight_decay, "clip": clip})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["exp_avg"] = torch.zeros_like(parameter)
                    state["exp_avg_sq"] = torch.zeros_like(parameter)
                nn.utils.clip_grad_norm_(parameter, group["clip"])
                grad = parameter.grad
                state["exp_avg"].mul_(0.9).add_(grad, alpha=0.1)
                state["exp_avg_sq"].mul_(0.999).addcmul_(grad, grad, value=0.001)
                update = state["exp_avg"] / (state["exp_avg_sq"].sqrt() + 1e-6)
                if parameter.dim() > 1:  # the released code spares biases and LayerNorms
                    update.add_(parameter, alpha=group["weight_decay"])
                parameter.add_(update, alpha=-group["lr"])


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The optimiser's state as named tensors."""
    named: dict[str, torch.Tensor] = {}
    for index, state in optimiser.state_dict()["state"].items():
        for key, value in state.items():
            named[f"{index}.{key}"] = value
    return named


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    """Takes on a saved state."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in tensors.items():
        index, key = name.split(".")
        state.setdefault(int(index), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
