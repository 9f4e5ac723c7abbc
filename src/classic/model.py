"""A model is a backbone and a head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from classic.backbones.base import Backbone
from classic.config import Precision
from classic.modules.heads import Head
from classic.types import Batch, Output


class Model(nn.Module):
    """Text to features to logits.

    Args:
        backbone: Text to features.
        head: Features to logits.
        precision: Of the matrix products in training. Weights, losses and answers are always in float32.
    """

    def __init__(self, backbone: Backbone, head: Head, precision: Precision = "float32") -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.precision = precision

    def features(self, batch: Batch) -> Tensor:
        """Features (B, D)."""
        mixed = self.training and self.precision == "bfloat16"
        with torch.autocast(batch.labels.device.type, torch.bfloat16, enabled=mixed):
            features: Tensor = self.backbone(batch)
        return features.float()

    def forward(self, batch: Batch, task: int | None = None) -> Output:
        """Features (B, D) and logits (B, C); ``task`` selects the head in TIL."""
        features = self.features(batch)
        return Output(features, self.head(features, task))
