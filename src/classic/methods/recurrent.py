"""What KAN and SRK have in common: they read frozen token states with recurrent networks of their own."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from classic.backbones.base import Backbone, Need
from classic.errors import IncompatibleError
from classic.methods.base import Method
from classic.model import Model
from classic.modules.recurrent import clear
from classic.types import Batch


class RecurrentMethod(Method):
    """A method whose features are states of a recurrent network, as wide as a token state.

    The backbone gives token states and nothing else: its own trunk, if it has one, is neither trained nor kept.
    """

    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.FROZEN_TOKENS})

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.width = model.head.features
        model.backbone.requires_grad_(False)

    @classmethod
    def feature_width(cls, backbone: Backbone) -> int:
        if backbone.aspect_apart:
            raise IncompatibleError(
                f"{cls.__name__} reads aspect and sentence as one sequence, but this backbone's trunk keeps them apart",
                fix="set backbone.trunk to 'mean': the method brings networks of its own",
            )
        return backbone.token_width

    def read(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Token states (B, L, d) and their mask (B, L)."""
        with torch.no_grad():
            return self.model.backbone.tokens(batch), batch.inputs["mask"]

    def own(self) -> tuple[nn.Module, ...]:
        """The networks the method adds; drawn when the first task starts, since a method is made without a seed."""
        return ()

    def _clear_own(self) -> None:
        for module in self.own():
            clear(module)

    def weights(self) -> tuple[nn.Parameter, ...]:
        own = tuple(parameter for module in self.own() for parameter in module.parameters())
        return own + tuple(self.model.head.current.parameters())
