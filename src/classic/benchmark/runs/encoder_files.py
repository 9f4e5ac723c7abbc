"""An encoder in a folder as result files tell of it: by the folder's name and its files' hashes, wherever it lies."""

from __future__ import annotations

from pathlib import Path

# All that can change what a folder's encoder says of a text.
_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "merges.txt")


def name_of(encoder: str) -> str:
    """The name of an encoder's folder; the embedded one, and one of the hub, go by the name they have."""
    folder = _folder_of(encoder)
    return encoder if folder is None else folder.resolve().name


def hashes_of(encoder: str) -> dict[str, str]:
    """sha256 of every file that an encoder in a folder is read from; nothing for one that has no folder of the user's."""
    from classic.backbones.encoder import file_sha256

    folder = _folder_of(encoder)
    return {} if folder is None else {name: file_sha256(folder / name) for name in _FILES if (folder / name).is_file()}


def _folder_of(encoder: str) -> Path | None:
    folder = Path(encoder).expanduser()
    if not (folder / "config.json").is_file():
        return None
    from classic.backbones.encoder import EMBEDDED

    return None if encoder == EMBEDDED else folder  # a folder of that name here is not the one that is meant
