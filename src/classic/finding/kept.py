"""A store's finder between lessons: numbers without a network, which is built when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from classic.backbones.base import Backbone
from classic.backbones.encoder import EMBEDDED, FAMILY, LARGER
from classic.data.marked import Marked
from classic.finding.finder import Finder, FinderConfig
from classic.finding.training import learn
from classic.seeding import Seeds

_PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass
class KeptFinder:
    """What a version has learned about finding.

    Attributes:
        encoder: Name or folder of the store's encoder.
        config: Shape and recipe.
        seed: Root of all randomness.
        tensors: As `Finder.tensors` gives them; None before the first lesson.
    """

    encoder: str
    config: FinderConfig
    seed: int
    tensors: dict[str, Tensor] | None = None

    @property
    def own_encoder(self) -> str:
        """Name or folder of the encoder that the finder is over."""
        return self.config.encoder or self.encoder

    def build(self, device: str = "cpu") -> Finder:
        """The network.

        Raises:
            ValueError: The tensors are not those of such a finder.
        """
        finder = Finder(self.own_encoder, self.config, Seeds(self.seed).generator("finder"))
        if self.tensors is not None:
            finder.load(self.tensors)
        return finder.to(device).eval()

    def learn(
        self,
        sentences: Sequence[Marked],
        lesson: int,
        *,
        keep: bool = True,
        device: str = "cpu",
        precision: str = "float32",
        on_step: Callable[[int, int], None] | None = None,
    ) -> Finder:
        """Learns a domain (`classic.finding.training`); returns the network that did.

        Args:
            sentences: What it learns from.
            lesson: Number of the domain, from 0.
            keep: Whether a share of the version before stays (`FinderConfig.keep`).
            device: Where to compute.
            precision: Of the products in training.
            on_step: Told after every step how many are made, and of how many.
        """
        finder = self.build(device)
        teacher = self.tensors is not None
        told = _PRECISIONS[precision]
        seeds = Seeds(self.seed)
        learn(finder, sentences, seeds, lesson, teacher=teacher, keep=keep, precision=told, on_step=on_step)
        self.tensors = finder.tensors()
        return finder


def finder_of(encoder: str) -> FinderConfig:
    """The finder of a new store. Beside the larger encoder it is over the embedded one, which finds as fast as ever."""
    return FinderConfig(encoder=EMBEDDED) if encoder == LARGER else FinderConfig()


def can_find(backbone: Backbone) -> bool:
    """Whether there can be a finder over a backbone's encoder."""
    encoder = getattr(backbone, "encoder", None)
    return getattr(getattr(encoder, "config", None), "model_type", "") in FAMILY
