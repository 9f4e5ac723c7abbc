"""GPT-2: a language model that reads an example as a question, answers it in words and writes examples of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from classic.backbones.base import Backbone, Need
from classic.backbones.encoder import check_encoder, encoder_folder, load_encoder, pool_mean
from classic.errors import IncompatibleError, InputError
from classic.types import POLARITIES, Batch, Example, Polarity

_ASK, _END = " What is the sentiment towards", "?"
_SAMPLED_TOGETHER = 64


@dataclass(frozen=True)
class Gpt2Config:
    """Which GPT-2.

    Attributes:
        encoder: A folder or a Hugging Face id; the paper's LAMOL has ``openai-community/gpt2``. None is embedded.
        max_length: Longest example in tokens, question and answer included; 128 as for every backbone of the paper.
    """

    encoder: str = ""
    max_length: int = 128


class Gpt2(Backbone):
    """GPT-2 over ``sentence question [ANS] answer <end>``; every weight trains.

    The special tokens have ids behind the tokenizer's own: [ANS], [PAD], and generation tokens, of which there may be
    one per task (`make_room`). The tokenizer does not know them, so no text, read or written, can spell one.
    Features are the state at [ANS]. Padding is on the right, where causal attention never looks from a real token.
    """

    version: ClassVar[int] = 1
    provides: ClassVar[frozenset[Need]] = frozenset({Need.LANGUAGE_MODEL})
    original: Tensor

    def __init__(self, config: Gpt2Config, generator: torch.Generator) -> None:
        super().__init__()
        if not config.encoder:
            raise InputError(
                "there is no embedded GPT-2",
                fix="set backbone.encoder to the folder of a saved GPT-2 or a Hugging Face id, openai-community/gpt2",
            )
        folder = encoder_folder(config.encoder)
        self.config = config
        self._sha256 = check_encoder(config.encoder, folder)
        self.encoder = load_encoder(folder)
        shape: Any = self.encoder.config
        if shape.model_type != "gpt2" or not shape.tie_word_embeddings:
            raise IncompatibleError(
                f"{config.encoder!r} is a {shape.model_type} model, not a GPT-2 with tied embeddings",
                fix="set backbone.encoder to a GPT-2",
            )
        self.features = int(shape.n_embd)
        # One position is the generation token's, which stands before the example.
        self.longest = min(config.max_length, int(shape.n_positions) - 1)
        self._tokenizer = _read_tokenizer(folder)
        self._words = self._embeddings.num_embeddings
        self.eos = -1 if shape.eos_token_id is None else int(shape.eos_token_id)
        if not 0 <= self.eos < self._words:
            raise InputError(f"{config.encoder!r} has no end-of-text token", fix="name its eos_token_id in config.json")
        self.ans, self.pad = self._words, self._words + 1
        self.answers = {polarity: self._ids(f" {polarity}") for polarity in POLARITIES}
        self._ask, self._end = self._ids(_ASK), self._ids(_END)
        # For sentence and aspect. The answer is counted in even where unknown: a label must not decide what is read.
        answer = max(len(words) for words in self.answers.values()) + 1
        self._room = self.longest - len(self._ask) - len(self._end) - 1 - answer
        if self._room < 2:
            raise InputError(
                f"{self.longest} tokens leave no room for a sentence beside its question",
                fix="raise backbone.max_length, or choose a model with more positions",
            )
        # The embeddings train, but what a text is about must stay the same in every version; half precision is enough.
        self.register_buffer("original", self._embeddings.weight.detach().half(), persistent=False)
        self.make_room(1, generator)

    # --- tokens -----------------------------------------------------------------------------------------------------

    @property
    def _embeddings(self) -> nn.Embedding:
        table = self.encoder.wte
        assert isinstance(table, nn.Embedding)
        return table

    def start(self, number: int) -> int:
        """The generation token of that number."""
        return self._words + 2 + number

    def make_room(self, starts: int, generator: torch.Generator) -> None:
        """Lengthens the embeddings until there are that many generation tokens.

        A new row starts near the mean of all rows. GPT-2's logits lie far below 0, so a row near 0 would be the most
        probable of all tokens at every place of every text.
        """
        old = self._embeddings.weight.detach()
        lacking = self.start(starts) - len(old)
        if lacking > 0:
            noise = 0.02 * torch.randn(lacking, self.features, generator=generator)
            rows = old[: self._words].mean(dim=0) + noise.to(old)
            self.encoder.wte = nn.Embedding.from_pretrained(torch.cat([old, rows]), freeze=False)  # type: ignore[no-untyped-call]

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _parts(self, example: Example) -> tuple[list[int], list[int], list[int], int]:
        """Sentence, aspect and answer as tokens, the first two cut to fit, and how much was cut."""
        answer = [] if example.polarity is None else [*self.answers[example.polarity], self.eos]
        sentence, aspect = self._ids(example.sentence), self._ids(f" {example.aspect}")
        kept_aspect = aspect if len(sentence) + len(aspect) <= self._room else aspect[: self._room // 2]
        kept_sentence = sentence[: self._room - len(kept_aspect)]
        cut = len(sentence) + len(aspect) - len(kept_sentence) - len(kept_aspect)
        return kept_sentence, kept_aspect, answer, cut

    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        """A batch of ``sentence question [ANS] answer <end>``; without answer and end where the polarity is unknown.

        Inputs: input_ids (B, L); topic (B, L), 1 at the tokens of sentence and aspect; prompt and length (B,), tokens
        up to and including [ANS] and in all.
        """
        texts, topics, prompts = [], [], []
        for example in examples:
            sentence, aspect, answer, _ = self._parts(example)
            prompt = [*sentence, *self._ask, *aspect, *self._end, self.ans]
            topics.append([1] * len(sentence) + [0] * len(self._ask) + [1] * len(aspect))
            texts.append(torch.tensor(prompt + answer))
            prompts.append(len(prompt))
        ids = nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=self.pad)
        topic = torch.zeros_like(ids)
        for row, marks in enumerate(topics):
            topic[row, : len(marks)] = torch.tensor(marks)
        inputs = {
            "input_ids": ids,
            "topic": topic,
            "prompt": torch.tensor(prompts),
            "length": torch.tensor([len(text) for text in texts]),
        }
        labels = torch.tensor([-1 if e.polarity is None else e.polarity.column for e in examples])
        return Batch(inputs, labels, torch.tensor(list(range(len(examples)) if rows is None else rows)))

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        fixed = len(self._ask) + len(self._end) + 1
        return [fixed + sum(len(part) for part in self._parts(example)[:3]) for example in examples]

    def truncated(self, examples: Sequence[Example]) -> list[bool]:
        return [self._parts(example)[3] > 0 for example in examples]

    def parse(self, ids: Sequence[int]) -> Example | None:
        """The example a sequence spells, or None if it is malformed: the inverse of `collate` for one row."""
        if ids.count(self.ans) != 1 or ids.count(self.eos) != 1 or ids[-1] != self.eos:
            return None
        if any(token >= self._words and token != self.ans for token in ids):
            return None
        middle = ids.index(self.ans)
        text = self._tokenizer.decode(list(ids[:middle]), skip_special_tokens=False)
        answer = self._tokenizer.decode(list(ids[middle + 1 : -1]), skip_special_tokens=False).strip()
        sentence, asked, aspect = text.rpartition(_ASK)
        sentence, aspect = sentence.strip(), aspect.removesuffix(_END).strip()
        if answer not in list(Polarity) or not (asked and text.endswith(_END) and sentence and aspect):
            return None
        if "\ufffd" in text:  # bytes that are no letter
            return None
        return Example(sentence, aspect, Polarity(answer))

    # --- the network ------------------------------------------------------------------------------------------------

    def states(self, ids: Tensor) -> Tensor:
        """States (B, L, d) of token ids (B, L) padded on the right."""
        states: Tensor = self.encoder(input_ids=ids, use_cache=False).last_hidden_state
        return states

    def vocabulary(self, states: Tensor) -> Tensor:
        """Logits of the next token (..., V) from states (..., d): GPT-2's output layer is its embeddings."""
        return nn.functional.linear(states, self._embeddings.weight)

    def tokens(self, batch: Batch) -> Tensor:
        return self.states(batch.inputs["input_ids"])

    def forward(self, batch: Batch) -> Tensor:
        return self.tokens(batch)[torch.arange(len(batch)), batch.inputs["prompt"] - 1]

    def surface(self, batch: Batch) -> Tensor:
        ids = batch.inputs["input_ids"].clamp(max=self._words - 1)  # special tokens are no topic
        return pool_mean(self.original[ids].float(), batch.inputs["topic"])

    def fingerprint(self) -> dict[str, str]:
        return {"encoder": self.config.encoder, "sha256": self._sha256}

    @torch.no_grad()
    def sample(
        self, starts: Sequence[int], longest: int, top_k: int, temperature: float, generator: torch.Generator
    ) -> list[list[int]]:
        """What the model writes after each start token, the end token included; a text that finds no end is cut."""
        written: list[list[int]] = []
        for first in range(0, len(starts), _SAMPLED_TOGETHER):
            written += self._sample(starts[first : first + _SAMPLED_TOGETHER], longest, top_k, temperature, generator)
        return written

    def _sample(
        self, starts: Sequence[int], longest: int, top_k: int, temperature: float, generator: torch.Generator
    ) -> list[list[int]]:
        device = self._embeddings.weight.device
        ids, cache = torch.tensor(starts, device=device).unsqueeze(1), None
        texts = torch.zeros(len(starts), 0, dtype=torch.long)
        for _ in range(min(longest, self.longest)):
            output = self.encoder(input_ids=ids, past_key_values=cache, use_cache=True)
            cache = output.past_key_values
            scores, tokens = self.vocabulary(output.last_hidden_state[:, -1]).cpu().topk(min(top_k, self._words))
            drawn = torch.multinomial((scores / temperature).softmax(dim=-1), 1, generator=generator)
            texts = torch.cat([texts, tokens.gather(1, drawn)], dim=1)
            if bool((texts == self.eos).any(dim=1).all()):
                break
            ids = texts[:, -1:].to(device)
        rows: list[list[int]] = texts.tolist()
        return [row[: row.index(self.eos) + 1] if self.eos in row else row for row in rows]


def _read_tokenizer(folder: Path) -> Tokenizer:
    if not (folder / "tokenizer.json").is_file():
        raise InputError(
            f"GPT-2 folder {str(folder)!r} has no tokenizer.json",
            fix="write it with transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(folder)",
        )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "<|endoftext|>" in a review is text, not the end of it
    return tokenizer
