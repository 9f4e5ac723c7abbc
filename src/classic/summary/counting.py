"""From a surveyed file to its counts: a window of reviews at a time, found and judged together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from classic.runtime.answering import Answering
from classic.summary.survey import Review
from classic.summary.tally import Tally

_WINDOW = 64  # reviews
_MOST_CHARACTERS = 40_000  # of a window


def count_reviews(
    reviews: Iterable[Review],
    predictor: Answering,
    *,
    min_confidence: float = 0.5,
    domain: str | None = None,
    batch_size: int = 32,
    on_reviews: Callable[[int], None] | None = None,
) -> Tally:
    """Finds and judges the aspects of reviews, and counts them.

    Args:
        reviews: Read a window at a time.
        predictor: One that finds.
        min_confidence: Aspects that are less certain are left out.
        domain: As in `Predictor.predict`.
        batch_size: Sentences computed at once.
        on_reviews: Told after every window how many reviews are counted.
    """
    tally = Tally()
    for window in _windows(reviews):
        texts = [review.text for review in window]
        found = predictor.find(texts, min_confidence=min_confidence, domain=domain, batch_size=batch_size)
        for review, aspects in zip(window, found, strict=True):
            tally.add(review, aspects)
        if on_reviews:
            on_reviews(tally.reviews)
    return tally


def sampled(reviews: Iterable[Review], total: int, wanted: int | None) -> Iterator[Review]:
    """So many of the reviews, evenly spread over the file; all of them if no number is wanted."""
    if wanted is None or wanted >= total:
        yield from reviews
        return
    for place, review in enumerate(reviews):
        if place * wanted // total != (place + 1) * wanted // total:
            yield review


def _windows(reviews: Iterable[Review]) -> Iterator[list[Review]]:
    """A few dozen reviews at a time, fewer if they are long."""
    window: list[Review] = []
    size = 0
    for review in reviews:
        if window and (len(window) == _WINDOW or size + len(review.text) > _MOST_CHARACTERS):
            yield window
            window, size = [], 0
        window.append(review)
        size += len(review.text)
    if window:
        yield window


def describe(predictor: Answering) -> str:
    """Who answered, in words for the reader of a summary."""
    learned = [name for name in predictor.domains if name != "starter"]
    if not learned:
        return "the starter model of classic-asc"
    shown = ", ".join(learned[:4]) + (f" and {len(learned) - 4} more" if len(learned) > 4 else "")
    return f"a model that has learned {shown} (version {predictor.version})"
