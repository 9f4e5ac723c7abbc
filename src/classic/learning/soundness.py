"""Whether a store's tensors are a model of its system: its sums may be right, and a stranger may have made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from classic.errors import StoreError
from classic.store.store import Store
from classic.types import POLARITIES, Example

if TYPE_CHECKING:
    from classic.learning.learner import Learner

# What wrong numbers, shapes and facts raise, wherever they first meet the code.
UNSOUND = (
    KeyError,
    TypeError,
    ValueError,
    RuntimeError,
    IndexError,
    AttributeError,
    AssertionError,
    OverflowError,
    NotImplementedError,
)


def check_settings(settings: dict[str, Any], store: Store) -> None:
    """Refuses settings that are not as `Store.create` gets them."""
    encoder, labels = settings.get("encoder"), settings.get("labels")
    fits = (
        isinstance(settings.get("system"), dict)
        and type(settings.get("seed")) is int
        and isinstance(encoder, dict)
        and all(isinstance(value, str) for value in encoder.values())
        and labels == [str(polarity) for polarity in POLARITIES]
    )
    if not fits:
        raise StoreError(f"{store.path / 'store.json'} is not the settings of a store", fix="do not use this store")


def check_tensors(tensors: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Refuses tensors that are not finite, or of another type or number of axes than the system's own."""
    for name, tensor in tensors.items():
        own = expected.get(name)
        if own is not None and (own.dtype != tensor.dtype or own.dim() != tensor.dim()):
            raise ValueError(
                f"tensor {name} is {tensor.dtype} {tuple(tensor.shape)}, not {own.dtype} {tuple(own.shape)}"
            )
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"tensor {name} is not finite")


def check_answers(learner: Learner) -> None:
    """Asks one question of a model that was just read: what does not fit together fails here, not at the first user."""
    method, domains = learner.method, len(learner.domains)
    width = learner.map.scatter.shape
    shapes = [tuple(tensor.shape) for tensor in (learner.map.means, learner.map.reach, learner.map.count)]
    if shapes != [(domains, width[0]), (domains,), ()] or width != (width[0], width[0]):
        raise ValueError(f"the map of {domains} domains has the shapes {shapes}")
    if method.learned != domains:
        raise ValueError(f"the model says that it learned {method.learned} domains, the records name {domains}")
    if not domains:
        return
    was_training = method.training
    method.eval()
    with torch.inference_mode():
        batch = method.model.backbone.collate([Example("The probe is fine.", "probe")]).to(method.present.device)
        logits = method.logits(batch, domains - 1)
        learner.map.locate(method.model.backbone.surface(batch).cpu(), learner.map.whitener())
    method.train(was_training)
    if logits.shape != (1, len(POLARITIES)) or bool(torch.isnan(logits).any()):
        raise ValueError("its answers are no numbers")
