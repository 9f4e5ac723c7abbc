"""Answers as a person reads them."""

from __future__ import annotations

import pytest

from classic.cli.predict_shown import show_answers
from classic.types import Polarity, Prediction, Probabilities


@pytest.mark.parametrize(("nearest", "told"), [("hotel", True), ("starter", False)])
def test_only_where_something_was_taught_a_text_is_called_unlike_it(
    nearest: str, told: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shares = Probabilities(0.9, 0.1, 0.0)
    show_answers([Prediction("Soft bed.", "bed", (5, 8), Polarity.POSITIVE, shares, nearest, True)])
    said = capsys.readouterr().out
    assert nearest in said and ("unlike anything learned" in said) == told
