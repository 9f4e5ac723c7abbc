"""Which names mean the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from classic.summary.names import group_names, key_of


@pytest.mark.parametrize(
    ("aspect", "key"),
    [
        ("The Touch-Screens", "touch screen"),
        ("batteries", "battery"),
        ("my  dishes", "dish"),
        ("prices", "price"),
        ("sizes", "size"),
        ("boxes", "box"),
        ("glasses", "glass"),
        ("lens", "lens"),
        ("lenses", "lens"),
        ("staff's", "staff"),
        ("GPS", "gps"),
        ("bus", "bus"),
        ("pies", "pie"),
        ("C++", "c++"),
        ("the", "the"),
        ("…", ""),
    ],
)
def test_spellings_of_one_name_have_one_key(aspect: str, key: str) -> None:
    assert key_of(aspect) == key


def by_table(table: dict[frozenset[str], float]) -> object:
    def compare(names: Sequence[str]) -> list[list[float]]:
        return [[1.0 if a == b else table.get(frozenset((a, b)), 0.0) for b in names] for a in names]

    return compare


def test_a_name_joins_its_head_where_the_head_is_the_more_frequent() -> None:
    found = group_names({"screen": 20, "lcd screen": 8, "touch screen": 30})
    assert found == {"screen": "screen", "lcd screen": "screen", "touch screen": "touch screen"}


def test_heads_that_say_nothing_are_no_reason() -> None:
    counts = {"quality": 50, "sound quality": 5, "build quality": 4}
    assert group_names(counts) == {name: name for name in counts}


def test_an_encoder_joins_synonyms_and_keeps_other_heads_apart() -> None:
    alike = {("photo", "picture"): 0.85, ("screen", "touch screen"): 0.7, ("room", "dining room"): 0.3}
    compare = by_table({frozenset(pair): value for pair, value in alike.items()})
    counts = {"picture": 9, "photo": 5, "screen": 5, "touch screen": 8, "room": 9, "dining room": 3}
    found = group_names(counts, compare)  # type: ignore[arg-type]
    assert found["photo"] == "picture"
    assert found["touch screen"] == "screen"  # the head leads its names, though it is the rarer here
    assert found["dining room"] == "dining room"


def test_groups_do_not_grow_by_way_of_a_third() -> None:
    alike = {frozenset(("a", "b")): 0.9, frozenset(("b", "c")): 0.9}
    found = group_names({"a": 9, "b": 5, "c": 3}, by_table(alike))  # type: ignore[arg-type]
    assert found == {"a": "a", "b": "a", "c": "c"}


def test_a_rare_name_a_letter_away_is_a_misspelling() -> None:
    found = group_names({"battery": 60, "battry": 2, "batterry": 3, "seating": 30, "setting": 20, "usb 2 port": 1})
    assert found["battry"] == found["batterry"] == "battery"
    assert found["setting"] == "setting"


def test_numbers_are_never_misspelt() -> None:
    assert group_names({"windows 10": 50, "windows 11": 2})["windows 11"] == "windows 11"


def test_the_order_of_the_names_does_not_matter() -> None:
    counts = {"screen": 20, "lcd screen": 8, "battery": 60, "battry": 2, "photo": 3}
    turned = dict(reversed(counts.items()))
    assert group_names(counts) == group_names(turned)
