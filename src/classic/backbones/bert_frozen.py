"""Frozen BERT: token states computed once, a small trainable network over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from classic.backbones.base import Backbone, Need
from classic.backbones.encoder import check_encoder, encoder_folder, load_encoder, pool_mean
from classic.backbones.pairs import pair_tokenizer, run_encoder
from classic.backbones.states import FrozenStates, make_batch, pad_states
from classic.modules.plastic import Plastic
from classic.modules.trunks import build_trunk
from classic.types import Batch, Example


@dataclass(frozen=True)
class BertFrozenConfig:
    """Which encoder is read, by which network.

    Attributes:
        encoder: ``minilm`` (embedded), a folder, or a Hugging Face id of the BERT family.
        trunk: ``kim`` (the paper's CNN), ``kim_fc`` (fully connected layers behind it, for HAT and OWM), ``gru``, or
            ``mean`` (nothing trained, for methods that bring networks of their own).
        hidden: Widths of the fully connected layers of ``kim_fc``; none given means two as wide as a token state (HAT's
            network). OWM's are 300, 300.
        hidden_bias: Whether those have a bias; OWM's have none.
        max_length: Longest input in tokens; 128 in the paper.
        precision: In which token states are kept; ``float16`` takes half the memory and is right to three digits.
        cache_mb: Most memory for token states, in MB. All 19 domains of the paper take 500 MB over ``minilm``; a domain
            that does not fit is encoded anew in every epoch.
        cache_folder: Where the token states of training sets are kept from run to run, if at all: one file per set.
    """

    encoder: str = "minilm"
    trunk: Literal["kim", "kim_fc", "gru", "mean"] = "kim"
    hidden: tuple[int, ...] = ()
    hidden_bias: bool = True
    max_length: int = 128
    precision: Literal["float16", "float32"] = "float32"
    cache_mb: int = 512
    cache_folder: str | None = None


class BertFrozen(Backbone):
    """A frozen encoder of the BERT family under a trainable trunk.

    Paper: Sec. 4.2, the "BERT (Frozen)" rows. The encoder runs in evaluation mode, once per text; the released code
    runs it in every step with its dropout on, which costs an encoder's pass per step for a little noise.
    """

    version: ClassVar[int] = 1
    provides: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.CONTAINED, Need.FROZEN_TOKENS})

    def __init__(self, config: BertFrozenConfig, generator: torch.Generator) -> None:
        super().__init__()
        folder = encoder_folder(config.encoder)
        self.config = config
        self._sha256 = check_encoder(config.encoder, folder)
        self.encoder = load_encoder(folder).eval()
        self.encoder.requires_grad_(False)
        self._tokenizer = pair_tokenizer(folder, self.encoder, config.max_length)
        width = int(self.encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.trunk = build_trunk(config.trunk, width, generator, config.hidden, config.hidden_bias)
        self.features, self.token_width = self.trunk.features, width
        self._states = FrozenStates(
            self._encode,
            self.lengths,
            (self._sha256, self._tokenizer.sha256, self._tokenizer.max_length, config.precision),
            torch.float16 if config.precision == "float16" else torch.float32,
            config.cache_mb * 1_000_000,
            config.cache_folder,
        )

    def train(self, mode: bool = True) -> BertFrozen:
        """Sets the mode of the trunk; the encoder stays in evaluation mode."""
        super().train(mode)
        self.encoder.eval()
        return self

    def _encode(self, examples: Sequence[Example]) -> Tensor:
        batch = self._tokenizer.collate(examples).to(next(self.encoder.parameters()).device)
        states: Tensor = run_encoder(self.encoder, batch, self._tokenizer.segments).last_hidden_state
        return states

    def prepare(self, examples: Sequence[Example], *, dataset: bool = False) -> None:
        self._states.prepare(examples, dataset=dataset)

    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        states, mask = pad_states(self._states.look_up(examples))
        return make_batch({"states": states, "mask": mask}, examples, rows)

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        return self._tokenizer.lengths(examples)

    def truncated(self, examples: Sequence[Example]) -> list[bool]:
        return self._tokenizer.truncated(examples)

    def tokens(self, batch: Batch) -> Tensor:
        return batch.inputs["states"]

    def forward(self, batch: Batch) -> Tensor:
        features: Tensor = self.trunk(batch.inputs["states"], batch.inputs["mask"])
        return features

    def plastic(self) -> dict[str, Plastic]:
        return self.trunk.plastic()

    def surface(self, batch: Batch) -> Tensor:
        return pool_mean(batch.inputs["states"], batch.inputs["mask"])

    def fingerprint(self) -> dict[str, str]:
        return {"encoder": self.config.encoder, "sha256": self._sha256, "tokenizer": self._tokenizer.sha256}
