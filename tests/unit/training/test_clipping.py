"""Groups are clipped each by itself: the compensated gradient of mask embeddings must not crowd out the weights."""

from __future__ import annotations

from collections.abc import Callable

import torch

from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Step, Task


def test_compensated_embeddings_do_not_crowd_out_the_weights(
    tiny_system: Callable[..., SystemConfig], toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system("paper", changes={"train.epochs": 1})
    method = build(config, 0)
    norms: list[tuple[float, float]] = []

    def look(step: Step) -> None:
        weights = torch.cat([w.grad.reshape(-1) for w in method.weights() if w.grad is not None])
        assert method.gates.embedding.grad is not None
        norms.append((float(weights.norm()), float(method.gates.embedding.grad.norm())))

    before: list[tuple[float, float]] = []

    class Spy(type(method)):  # type: ignore[misc]
        def edit_gradients(self, step: Step) -> None:
            super().edit_gradients(step)
            look(step)
            before.append(norms.pop())

        def after_update(self, step: Step) -> None:
            look(step)
            super().after_update(step)

    method.__class__ = Spy
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    assert max(embedding for _, embedding in before) > 2.0  # the compensation makes it large
    for (raw, _), (clipped, embedding) in zip(before, norms, strict=True):
        assert embedding <= 1.0001
        assert clipped > 0.99 * min(raw, 1.0)


def test_what_a_method_does_to_gradients_is_clipped_after_it(
    tiny_system: Callable[..., SystemConfig], toy_tasks: tuple[Task, ...]
) -> None:
    """A method may make gradients large: clipped before, they would move the weights by as much."""
    config = tiny_system("paper", method="ncl", changes={"train.epochs": 1})
    method = build(config, 0)
    largest: list[float] = []

    class Loud(type(method)):  # type: ignore[misc]
        def edit_gradients(self, step: Step) -> None:
            for weight in self.weights():
                if weight.grad is not None:
                    weight.grad.mul_(1e6)

        def after_update(self, step: Step) -> None:
            grads = [w.grad.reshape(-1) for w in self.weights() if w.grad is not None]
            largest.append(float(torch.cat(grads).norm()))

    method.__class__ = Loud
    assert config.train.clip_norm > 0
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    assert largest and max(largest) < 1e4, "clipped first and made large afterwards"
