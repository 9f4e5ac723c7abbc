"""The finder: adapters and a head for words over an encoder of its own that never learns.

It shares nothing that trains with the model that judges, so it cannot change a polarity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from classic.backbones.bert_adapter import adapter_sites
from classic.backbones.encoder import check_encoder, encoder_folder, load_encoder, read_tokenizer
from classic.backbones.pairs import pair_tokenizer
from classic.modules.adapter import Adapter
from classic.runtime.words import WordReader

LABELS = 3  # OUTSIDE, BEGIN, INSIDE of `classic.runtime.words`
_HALVED_FROM = 1000  # numbers in a tensor that is kept in half precision
_PARTS = ("adapters", "norms", "head")


@dataclass(frozen=True)
class FinderConfig:
    """The finder's shape and how it learns; a store keeps what it was made with.

    Attributes:
        width: Hidden width of an adapter.
        max_length: Longest sentence in tokens.
        learning_rate: Adam's step size.
        epochs: Passes over the sentences of a small lesson.
        large_epochs: Passes over at least ``large_from`` sentences.
        large_from: Where "large" begins.
        batch_size: Sentences in a batch.
        dropout: Before the head.
        outside: Weight of an unmarked word of a sentence that may have unmarked aspects; a marked word has 1.
        rehearsed: Sentences of the starter corpus that are rehearsed in a lesson, for each sentence of the lesson.
        keep: Share of the version before in the weights that a small lesson ends with; the rest is what it learned. Nothing
            of the starter stays so.
        large_keep: The same of a lesson of at least ``large_from`` sentences, which has more to say.
        encoder: Name or folder of the encoder it is over; none means the store's own.
    """

    width: int = 64
    max_length: int = 128
    learning_rate: float = 1e-3
    epochs: int = 5
    large_epochs: int = 5
    large_from: int = 1000
    batch_size: int = 16
    dropout: float = 0.1
    outside: float = 0.5
    rehearsed: float = 0.3
    keep: float = 0.5
    large_keep: float = 0.15
    encoder: str | None = None


class Finder(nn.Module):
    """Tokens to labels of words.

    Args:
        encoder: Name or folder of an encoder of the BERT family.
        config: Its shape.
        generator: Source of the initial weights.
    """

    def __init__(self, encoder: str, config: FinderConfig, generator: torch.Generator) -> None:
        super().__init__()
        folder = encoder_folder(encoder)
        check_encoder(encoder, folder)
        self.config = config
        network = load_encoder(folder).requires_grad_(False)
        shape: Any = network.config
        width = int(shape.hidden_size)
        self.adapters, self.norms = nn.ModuleList(), nn.ModuleList()
        for site in adapter_sites(network):
            adapter = Adapter(width, config.width, generator)
            site.dropout = nn.Sequential(site.dropout, adapter)
            self.adapters.append(adapter)
            self.norms.append(site.LayerNorm.requires_grad_(True))
        self.head = nn.Linear(width, LABELS)
        self.dropout = nn.Dropout(config.dropout)
        with torch.no_grad():
            self.head.weight.normal_(0.0, 0.02, generator=generator)
            self.head.bias.zero_()
        self.encoder = network  # last: what learns has the names given above
        pairs = pair_tokenizer(folder, network, config.max_length)
        self.segments = pairs.segments
        self.reader = WordReader(read_tokenizer(folder), pairs.max_length, pairs.pad_id)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Logits (B, L, 3) of every token; those of a word's first token count."""
        segments = {"token_type_ids": token_type_ids} if self.segments else {}
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **segments).last_hidden_state
        logits: Tensor = self.head(self.dropout(states))
        return logits

    def learned(self) -> list[nn.Parameter]:
        """What trains, in a fixed order."""
        return [parameter for part in _PARTS for parameter in getattr(self, part).parameters()]

    def tensors(self) -> dict[str, Tensor]:
        """Everything to be kept, by name, large ones in half precision."""
        named = {f"{part}.{name}": t for part in _PARTS for name, t in getattr(self, part).state_dict().items()}
        return {name: (t.half() if t.numel() >= _HALVED_FROM else t).cpu().contiguous() for name, t in named.items()}

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Takes on kept tensors.

        Raises:
            ValueError: They are not those of a finder of this shape.
        """
        own = self.tensors()
        if own.keys() != tensors.keys() or any(own[name].shape != tensors[name].shape for name in own):
            raise ValueError("not the tensors of this finder")
        if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values()):
            raise ValueError("numbers that are not finite")
        for part in _PARTS:
            ours = {
                name.removeprefix(f"{part}."): t.float() for name, t in tensors.items() if name.startswith(f"{part}.")
            }
            getattr(self, part).load_state_dict(ours)
