"""A model is a backbone and a head."""

from __future__ import annotations

from torch import nn

from classic.backbones.base import Backbone
from classic.modules.heads import Head
from classic.types import Batch, Output


class Model(nn.Module):
    """Text to features to logits."""

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(self, batch: Batch, task: int | None = None) -> Output:
        """Features (B, D) and logits (B, C); ``task`` selects the head in TIL."""
        features = self.backbone(batch)
        return Output(features, self.head(features, task))
