"""Backbones: text to token states to features. One file each; every import of `transformers` is here."""
