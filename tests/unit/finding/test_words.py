"""Sentences cut out of reviews, words cut out of sentences, and labels turned into places."""

from __future__ import annotations

import html
import re
from itertools import product
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classic.data.marked import Marked, marked_of, read_marked
from classic.errors import DataError
from classic.runtime.sentences import sentences_of, unescaped
from classic.runtime.words import BEGIN, INSIDE, OUTSIDE, marks_of
from classic.types import Example


@given(st.text(alphabet="ab. !?\n,Mr(e.g)Z", max_size=60))
def test_sentences_stand_where_they_say_and_lose_nothing_but_space(text: str) -> None:
    pieces = list(sentences_of(text))
    assert all(text[start : start + len(piece)] == piece and piece.strip() == piece for start, piece in pieces)
    assert "".join("".join(piece.split()) for _, piece in pieces) == "".join(text.split())


def test_a_long_text_without_an_end_is_cut() -> None:
    text = "and the soup, " * 200
    assert max(len(piece) for _, piece in sentences_of(text)) <= 400


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I paid 3.50 for it. Cheap!", 2),
        ("Dr. Lee was kind.", 1),
        ("The U.S. plug is odd. Fine.", 2),
        ("Nice... but noisy.", 1),
        ("Good zoom\n\nBad lens", 2),
        ("Good zoom.<br/>Bad lens<BR >Fine.&nbsp; Soft.", 4),
        ("<p class='a'>Good zoom</p>\n<p>A < b, R&D.</p>", 2),
        ("", 0),
    ],
)
def test_where_a_sentence_ends(text: str, count: int) -> None:
    pieces = list(sentences_of(text))
    assert len(pieces) == count
    assert all(text[start : start + len(piece)] == piece and "<p" not in piece.casefold() for start, piece in pieces)


@given(st.text(alphabet="ab&;#39x<amp>/", max_size=40))
def test_entities_and_tags_are_read_as_what_they_mean_and_places_are_kept(text: str) -> None:
    clean, places = unescaped(text)
    untagged = re.sub(r"</?[ab]/?>", " ", text)
    assert clean == re.sub(r"&(?:#\d+|#x[0-9a-fA-F]+|[a-z][a-z0-9]+);", lambda found: html.unescape(found[0]), untagged)
    assert len(places) == len(clean) + 1 and list(places) == sorted(places) and places[-1] == len(text)
    assert all(text[place] in (character, "&", "<") for character, place in zip(clean, places, strict=False))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("The <b>cable</b> is <I class='x'>short</I>.", "The  cable  is  short ."),
        ('<a href="http://x.y/z?a=1">Lens</a> of R&amp;D', " Lens  of R&D"),
        ("I <3 it, a<b and c>d, <basket> of 5", "I <3 it, a<b and c>d, <basket> of 5"),
    ],
)
def test_a_tag_within_a_line_is_a_space_and_what_looks_like_one_is_text(text: str, clean: str) -> None:
    found, places = unescaped(text)
    assert found == clean
    if "cable" in found:
        start = found.index("cable")
        assert text[places[start] : places[start + len("cable")]] == "cable"


@given(st.lists(st.tuples(*[st.floats(-4, 4)] * 3), min_size=1, max_size=5))
def test_the_likeliest_labels_are_found(logits: list[tuple[float, float, float]]) -> None:
    places = [(2 * word, 2 * word + 1) for word in range(len(logits))]
    marks = marks_of(logits, places, 0.0)
    logs = [[value - log(sum(map(exp, row))) for value in row] for row in logits]

    def allowed(labels: tuple[int, ...]) -> bool:
        return all(now != INSIDE or before != OUTSIDE for before, now in zip((OUTSIDE, *labels), labels, strict=False))

    best = max(
        sum(row[label] for row, label in zip(logs, labels, strict=True))
        for labels in product(range(3), repeat=len(logits))
        if allowed(labels)
    )
    said = [OUTSIDE] * len(logits)
    for mark in marks:
        for word in range(mark.start // 2, (mark.end + 1) // 2):
            said[word] = BEGIN if 2 * word == mark.start else INSIDE
        assert 0 <= mark.confidence <= 1
    assert sum(row[label] for row, label in zip(logs, said, strict=True)) == pytest.approx(best, abs=1e-6)


def test_rows_of_a_sentence_mark_it_together() -> None:
    text = "The zoom lens beats the zoom of yours."
    rows = [Example(text, "zoom lens", None, (4, 13)), Example(text, "zoom", None, (24, 28)), Example(text, "zoom")]
    assert marked_of(rows) == [Marked(text, ((4, 13), (24, 28)))]
    assert marked_of([Example("Fine.", "price")]) == []


def test_complete_annotations_are_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    tokens = tmp_path / "a.json"
    tokens.write_text('{"1": {"id": "1", "tokens": ["Good", "zoom", "lens"], "labels": ["O", "B", "I"]}}')
    assert read_marked(tokens) == [Marked("Good zoom lens", ((5, 14),), complete=True)]
    xml = tmp_path / "a.xml"
    xml.write_text(
        '<sentences><sentence id="1"><text>Good zoom</text><aspectTerms>'
        '<aspectTerm term="zoom" polarity="conflict" from="5" to="9"/></aspectTerms></sentence>'
        '<sentence id="2"><text>Nothing.</text></sentence></sentences>'
    )
    assert read_marked(xml) == [Marked("Good zoom", ((5, 9),), True), Marked("Nothing.", (), True)]


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"tokens": ["a"], "labels": []}', "<a", "<!DOCTYPE a><a/>"])
def test_what_is_no_annotation_is_refused(tmp_path, text: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a").write_text(text)
    with pytest.raises(DataError):
        read_marked(tmp_path / "a")
