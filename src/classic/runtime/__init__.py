"""Prediction from an exported folder, without torch: onnxruntime, tokenizers and numpy are all it needs."""

from __future__ import annotations

from classic.runtime.exported import ExportedPredictor

__all__ = ["ExportedPredictor"]
