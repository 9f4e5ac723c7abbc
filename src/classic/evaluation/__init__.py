"""Evaluation: metrics and the matrix of results. Importing it does not import torch."""

from classic.evaluation.matrix import ResultMatrix
from classic.evaluation.metrics import accuracy, macro_f1

__all__ = ["ResultMatrix", "accuracy", "macro_f1"]
