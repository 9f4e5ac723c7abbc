"""From found aspects to figures, and that memory does not grow with the reviews."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from classic.summary.columns import Columns
from classic.summary.counting import count_reviews, sampled
from classic.summary.dates import Periods
from classic.summary.page import render_page, stands_out
from classic.summary.summary import Summary, change_between, share, summarise
from classic.summary.survey import Review, Survey
from classic.summary.tally import SENTENCES, Sentences, Tally
from classic.summary.writing import check_target, to_csv, to_dict, write_summary
from classic.types import Found, Polarity, Prediction, Probabilities
from fake_finder import FakeFinder

HOSTILE = "<img src=x onerror=alert(1)>\"'&</style></title><script>alert(2)</script>"


def found(aspect: str, polarity: Polarity = Polarity.POSITIVE, sentence: str = "", confidence: float = 0.9) -> Found:
    sentence = sentence or f"The {aspect} is here."
    start = sentence.index(aspect)
    shares = [0.05, 0.05, 0.05]
    shares[polarity.column] = 0.9
    span = (start, start + len(aspect))
    said = Prediction(sentence, aspect, span, polarity, Probabilities(*shares), "camera", False)
    return Found(aspect, *span, confidence, said)


def surveyed(**changes: object) -> Survey:
    return Survey(Path("reviews.csv"), Columns("review"), 1, **changes)  # type: ignore[arg-type]


def made(tally: Tally, **changes: object) -> Summary:
    return summarise(tally, surveyed(**changes), title="Cameras", model="nobody", least=1)


def test_counts_are_those_of_the_reviews_and_names_are_joined() -> None:
    tally = Tally()
    tally.add(Review(1, ""), [found("screen"), found("LCD screen", Polarity.NEGATIVE), found("Screens")])
    tally.add(Review(2, ""), [found("screens", Polarity.NEGATIVE), found("menu", Polarity.NEUTRAL)])
    tally.add(Review(3, ""), [])
    summary = made(tally)
    assert (summary.reviews, summary.silent) == (3, 1)
    assert [(each.name, each.counts) for each in summary.aspects] == [("screen", (1, 2, 0)), ("menu", (0, 0, 1))]
    assert summary.aspects[0].names == ("screens", "LCD screen")
    assert summary.everything.counts == (1, 2, 1)


def test_a_capital_that_begins_a_sentence_is_none_of_the_name() -> None:
    tally = Tally()
    tally.add(Review(1, ""), [found("Foam", sentence="Foam is good."), found("USB port", sentence="USB port is good.")])
    tally.add(Review(2, ""), [found("Bluetooth", sentence="I like the Bluetooth here.")])
    assert sorted(aspect.name for aspect in made(tally).aspects) == ["Bluetooth", "USB port", "foam"]


def test_a_review_counts_once_for_a_name_and_polarity() -> None:
    tally = Tally()
    tally.add(Review(1, ""), [found("screen"), found("The screens"), found("screen", Polarity.NEGATIVE)])
    assert made(tally).aspects[0].counts == (1, 1, 0)


def test_shares_have_wilsons_interval() -> None:
    at = share((8, 2, 0), Polarity.POSITIVE)
    assert (at.value, round(at.low, 3), round(at.high, 3)) == (0.8, 0.49, 0.943)
    nothing = share((0, 0, 0), Polarity.POSITIVE)
    assert (nothing.low, nothing.high) == (0.0, 1.0)


def test_a_change_has_newcombes_interval_and_needs_mentions() -> None:
    change = change_between((48, 32, 0), (56, 14, 0))
    assert change is not None and change.after - change.before == pytest.approx(0.2)
    assert change.low < 0.0524 and change.high > 0.3339  # wider than that of 95 %, which is printed below
    assert change_between((4, 5, 0), (90, 9, 0)) is None
    same = change_between((50, 50, 0), (52, 48, 0))
    assert same is not None and not same.sure


def test_the_interval_of_95_is_the_one_newcombe_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Newcombe 1998, Table II, method 10: 56/70 and 48/80 differ by 0.2, from 0.0524 to 0.3339.
    monkeypatch.setattr("classic.summary.summary._SURE", 1.959964)
    change = change_between((48, 32, 0), (56, 14, 0))
    assert change is not None
    assert (round(change.low, 4), round(change.high, 4)) == (0.0524, 0.3339)


def test_the_best_sentences_are_kept_and_each_once() -> None:
    tally = Tally()
    good = "The lens is as sharp as one could wish for."
    tally.add(Review(1, ""), [found("lens", sentence="Good lens")])
    for line in range(2, 30):
        tally.add(Review(line, ""), [found("lens", sentence=good)])
    tally.add(
        Review(30, ""), [found("lens", sentence="The lens of this camera is quite good enough.", confidence=0.95)]
    )
    quotes = made(tally).aspects[0].quotes[Polarity.POSITIVE.column]
    assert [quote.sentence for quote in quotes] == ["The lens of this camera is quite good enough.", good, "Good lens"]
    assert quotes[1].line == -2  # the first of equals
    assert quotes[1].sentence[quotes[1].start : quotes[1].end] == "lens"


def test_a_long_sentence_is_cut_around_its_aspect() -> None:
    tally = Tally()
    tally.add(Review(1, ""), [found("lens", sentence="and so on " * 60 + "the lens is good " + "and so on " * 60)])
    (quote,) = made(tally).aspects[0].quotes[0]
    assert len(quote.sentence) < 300 and quote.sentence[quote.start : quote.end] == "lens"


def test_memory_is_bounded_however_many_names_and_reviews_there_are() -> None:
    most = 200
    tally = Tally(most_names=most)
    letters = itertools.product("abcdefghij", repeat=5)
    for number, name in enumerate(itertools.islice(letters, 20_000)):
        periods, products = number % 36, f"p{number % 12}"
        aspects = [found("screen"), found("".join(name) + "x", Polarity.NEGATIVE)]
        tally.add(Review(number, "", periods, products), aspects)
    assert len(tally.entries) <= most
    assert all(len(each.kept) <= SENTENCES for entry in tally.entries.values() for each in entry.sentences)
    assert all(len(entry.periods) <= 36 and len(entry.products) <= 12 for entry in tally.entries.values())
    assert tally.entries["screen"].mentions == 20_000  # the frequent ones are never let go of
    rest = sum(entry.mentions for key, entry in tally.entries.items() if key != "screen")
    assert rest + tally.dropped == 20_000  # and the rare ones are still counted
    assert tally.everything.mentions == 40_000


def test_spellings_and_sentences_are_bounded_too() -> None:
    tally = Tally()
    for number in range(500):
        tally.add(Review(number, ""), [found("screen", sentence=f"The screen no. {number} is good.")])
    assert len(tally.entries["screen"].sentences[0].kept) == SENTENCES
    for spelling in itertools.islice(itertools.product("sS", "cC", "rR", "eE", "eE", "nN"), 60):
        tally.add(Review(1, ""), [found("".join(spelling))])
    assert len(tally.entries["screen"].spellings) <= 12
    assert Sentences().best() == []


def test_reviews_are_found_and_counted_in_windows() -> None:
    told: list[int] = []
    reviews = (Review(n, "The lens is good. The menu is confusing! It came on Monday.") for n in range(150))
    tally = count_reviews(reviews, FakeFinder(), on_reviews=told.append)
    assert told == [64, 128, 150]
    assert {key: entry.counts for key, entry in tally.entries.items()} == {"lens": [150, 0, 0], "menu": [0, 150, 0]}


@pytest.mark.parametrize(
    ("total", "wanted", "left"), [(10, 3, 3), (10, 10, 10), (10, 99, 10), (10, None, 10), (7, 1, 1)]
)
def test_a_sample_is_spread_evenly(total: int, wanted: int | None, left: int) -> None:
    lines = [review.line for review in sampled((Review(n, "") for n in range(total)), total, wanted)]
    assert len(lines) == left
    gaps = [b - a for a, b in itertools.pairwise(lines)]
    assert not gaps or max(gaps) - min(gaps) <= 1


# --- the page ---------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def full(name: str = "lens") -> Summary:
    tally = Tally()
    for number in range(120):
        worse = number >= 60
        polarity = Polarity.NEGATIVE if number % 10 < (8 if worse else 1) else Polarity.POSITIVE
        aspects = [found(name, polarity), found("menu", Polarity.NEGATIVE), found("price")]
        tally.add(Review(number, "", number // 10, f"{name} {number % 2}"), aspects)
    from datetime import date

    periods = Periods(date(2023, 1, 1), date(2023, 12, 31), "month")
    return made(tally, periods=periods, products=(f"{name} 0", f"{name} 1"), empty=2, undated=1)


def test_the_page_is_one_well_formed_file_that_loads_nothing() -> None:
    page = render_page(full())
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert not {"script", "link", "img", "iframe"} & tags.seen
    assert set(re.findall(r"https?://[^\s\"'<>]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "url(" not in page and "@import" not in page
    for said in ("Criticised more than the rest", "How it changed", "By product", "Typical sentences", "−70.0 points"):
        assert said in tags.text, said
    assert page == render_page(full())


def test_without_dates_and_products_their_parts_are_left_out() -> None:
    tally = Tally()
    tally.add(Review(1, ""), [found("lens")])
    page = render_page(made(tally))
    assert "How it changed" not in page and "By product" not in page
    assert "No aspect is clearly praised" in page
    empty = Tally()
    empty.add(Review(1, ""), [])
    assert "there is nothing to compare" in render_page(made(empty))


def test_reviews_are_escaped_wherever_they_stand() -> None:
    page = render_page(full(HOSTILE))
    tags = Tags()
    tags.feed(page)
    assert not {"img", "script"} & tags.seen and HOSTILE in tags.text and HOSTILE not in page
    assert page.count("</style>") == 1


def test_what_stands_out_is_clearly_above_the_rest() -> None:
    summary = full()
    assert [aspect.name for aspect in stands_out(summary, Polarity.POSITIVE)] == ["price"]
    assert [aspect.name for aspect in stands_out(summary, Polarity.NEGATIVE)] == ["menu"]


def test_json_and_csv_have_the_same_figures(tmp_path: Path) -> None:
    summary = full()
    for form in ("json", "csv", "html"):
        write_summary(summary, tmp_path / f"s.{form}")
    told = json.loads((tmp_path / "s.json").read_text())
    assert told == json.loads(json.dumps(to_dict(summary)))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "s.csv").read_text())))
    assert [row["aspect"] for row in rows] == [each["aspect"] for each in told["aspects"]]
    for row, each in zip(rows, told["aspects"], strict=True):
        assert int(row["positive"]) == each["counts"]["positive"]
        assert math.isclose(float(row["negative_low"]), each["shares"]["negative"]["low"], abs_tol=1e-4)
    assert told["halves_at"] == "2023-07" and told["period_unit"] == "month"
    assert told["aspects"][0]["products"][0]["counts"]["positive"] > 0


def test_a_spreadsheet_never_runs_a_review() -> None:
    tally = Tally()
    tally.add(Review(1, ""), [found("=HYPERLINK", sentence="=HYPERLINK is good here, I say it once more.")])
    assert "'=HYPERLINK" in to_csv(made(tally))


def test_a_wrong_target_is_refused_before_any_work(tmp_path: Path) -> None:
    from classic.errors import InputError

    source = tmp_path / "r.csv"
    source.write_text("review\n")
    for target in (tmp_path / "s.pdf", tmp_path / "no" / "s.html", source):
        with pytest.raises(InputError):
            check_target(target, source)
