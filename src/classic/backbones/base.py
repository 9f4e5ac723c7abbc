"""What a backbone is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

from torch import Tensor, nn

from classic.modules.plastic import Plastic
from classic.types import Batch, Example


class Need(StrEnum):
    """What a method may need of a backbone."""

    PLASTIC = "layers that can be gated, measured, projected or made noisy"
    CONTAINED = "all learning but that of LayerNorms in layers that can be gated"
    ADAPTERS = "adapters between the layers of a transformer"
    FROZEN_TOKENS = "token states that never change"
    LANGUAGE_MODEL = "a language model that can generate text"


class Backbone(nn.Module):
    """Text to features.

    A parameter is *frozen* when it never trains under any method. Frozen parameters are not saved with a model: they come
    from the encoder, which is named and checked by its hash.

    Attributes:
        features: Width D of the features.
        token_width: Width d of the token states, of a backbone whose token states a method may read.
        aspect_apart: Whether aspect and sentence are two sequences, not one.
    """

    version: ClassVar[int] = 1
    provides: ClassVar[frozenset[Need]] = frozenset()
    features: int
    token_width: int = 0
    aspect_apart: bool = False

    def prepare(self, examples: Sequence[Example], *, dataset: bool = False) -> None:
        """Tells a backbone which examples it will be asked about, so that it can do slow work on many at once.

        Args:
            examples: What will be collated.
            dataset: Whether they are a training set, which will be seen again and may be cached on disk.
        """

    @abstractmethod
    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        """Turns examples into a batch padded to its own longest, never to a constant."""

    @abstractmethod
    def lengths(self, examples: Sequence[Example]) -> list[int]:
        """How long each example is, in the unit that costs time."""

    @abstractmethod
    def tokens(self, batch: Batch) -> Tensor:
        """Token states (B, L, d)."""

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Features (B, D)."""

    def plastic(self) -> dict[str, Plastic]:
        """The layers a method may act on, by a stable name, inputs before outputs."""
        return {}

    def norms(self) -> list[nn.LayerNorm]:
        """Trainable LayerNorms: few numbers, so every task may own a copy."""
        return []

    @abstractmethod
    def surface(self, batch: Batch) -> Tensor:
        """What a text is about (B, d), before anything that learns: the same in every version of a model."""

    def truncated(self, examples: Sequence[Example]) -> list[bool]:
        """Whether each example is too long to be read whole."""
        return [False] * len(examples)

    @abstractmethod
    def fingerprint(self) -> dict[str, str]:
        """What the frozen part is: name and sha256, so that a store never meets another encoder."""
