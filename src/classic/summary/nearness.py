"""How near names are by the embedded encoder: cosines of its mean states. Needs torch; without it, spellings decide."""

from __future__ import annotations

from collections.abc import Sequence

from classic.summary.names import Similarity

_TOGETHER = 64


def nearness() -> Similarity | None:
    """Compares names by the embedded MiniLM, whatever a store's own encoder is: what counts as near is known of that one.

    None where it is not installed. It is read when it is needed, and let go of afterwards.
    """
    try:
        from classic.backbones.encoder import EMBEDDED, encoder_folder
        from classic.errors import InputError
    except ModuleNotFoundError:  # a light installation
        return None
    try:
        encoder_folder(EMBEDDED)
    except InputError:
        return None
    return _compare


def _compare(names: Sequence[str]) -> list[list[float]]:
    import torch

    from classic.backbones.encoder import EMBEDDED, encoder_folder, load_encoder, pool_mean, read_tokenizer

    folder = encoder_folder(EMBEDDED)
    network, tokenizer = load_encoder(folder).eval(), read_tokenizer(folder)
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    parts = []
    with torch.inference_mode():
        for start in range(0, len(names), _TOGETHER):
            encodings = tokenizer.encode_batch(list(names[start : start + _TOGETHER]))
            ids = torch.tensor([encoding.ids for encoding in encodings])
            mask = torch.tensor([encoding.attention_mask for encoding in encodings])
            states = network(input_ids=ids, attention_mask=mask).last_hidden_state
            parts.append(torch.nn.functional.normalize(pool_mean(states, mask), dim=1))
        vectors = torch.cat(parts)
        found: list[list[float]] = (vectors @ vectors.T).tolist()
        return found
