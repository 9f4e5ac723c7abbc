"""Aspects that light up by themselves in Try, and a whole file in Overview."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from classic.prediction.predictor import Predictor
from classic.runtime.sentences import Mark

from .conftest import PATIENCE, PHONES, Site, Visit, go

expect.set_options(timeout=PATIENCE)

ASPECTS = re.compile("screen|battery|soup|waiter|lens|zoom")


@pytest.fixture(autouse=True)
def finder(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Aspects by a list of words, and spellings only; returns the sentences that were searched."""
    seen: list[list[str]] = []

    def mark(_self: Predictor, sentences: list[str], _least: float) -> list[list[Mark]]:
        seen.append(sentences)
        return [[Mark(*each.span(), 0.9) for each in ASPECTS.finditer(sentence)] for sentence in sentences]

    monkeypatch.setattr(Predictor, "finds", property(lambda _: True))
    monkeypatch.setattr(Predictor, "mark", mark)
    monkeypatch.setattr("classic.serving.routes_find.nearness", lambda: None)
    return seen


def write(page: Page, text: str) -> None:
    page.get_by_label("Review", exact=True).fill(text)


def headings(page: Page, *names: str) -> None:
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(list(names))


def word(page: Page, text: str) -> None:
    page.locator("#words .word").filter(has_text=text).first.click()


def test_aspects_light_up_by_themselves_and_a_tap_corrects_them(page: Page, finder: list[list[str]]) -> None:
    write(page, "😀 The lens is good. I think the soup is bad and the zoom is okay.")
    headings(page, "lens", "soup", "zoom")
    expect(page.locator("#words mark")).to_have_count(3)
    expect(page.get_by_text("Found by itself (90 % sure).")).to_have_count(3)
    searched = len(finder)
    word(page, "soup")  # takes it away
    headings(page, "lens", "zoom")
    word(page, "think")  # marks another
    headings(page, "lens", "think", "zoom")
    assert len(finder) == searched  # a correction is no reason to search again
    write(page, "😀 The lens is good. Today I think the soup is bad and the zoom is okay.")
    headings(page, "lens", "think", "zoom")  # what was taken away does not come back, what was marked stays
    page.reload()
    headings(page, "lens", "think", "zoom")
    page.get_by_role("button", name="Remove zoom").click()
    headings(page, "lens", "think")


def test_an_explanation_is_of_the_sentence_that_was_judged(page: Page) -> None:
    write(page, "Nothing here. The lens is good.")
    headings(page, "lens")
    expect(page.get_by_text("Looking for the words that decided it …")).to_have_count(0)
    expect(page.get_by_role("article")).not_to_contain_text("Nothing here")
    write(page, "The lens is good. The soup is bad. The zoom is okay. The screen is so good.")
    headings(page, "lens", "soup", "zoom", "screen")
    page.get_by_role("button", name="Why is zoom").click()
    expect(page.get_by_role("button", name="Why is zoom")).to_have_count(0)


def test_nothing_found_is_said_and_words_can_still_be_marked(page: Page) -> None:
    write(page, "It came on Monday.")
    expect(page.get_by_text("It found nothing to judge.")).to_be_visible()
    word(page, "Monday")
    headings(page, "Monday")


def choose(page: Page, name: str, content: str | bytes) -> None:
    go(page, "Overview")
    data = content.encode() if isinstance(content, str) else content
    files = [{"name": name, "mimeType": "text/csv", "buffer": data}]
    page.locator("#gather-file").set_input_files(files)  # type: ignore[arg-type]


def reviews(count: int) -> str:
    rows = ["id,comment,created_at,sku"]
    for number in range(count):
        said = ["The lens is good. The <x>soup</x> is bad.", "I think the lenses are good.", ""][number % 3]
        rows.append(f"{number},{said},2024-{1 + number % 12:02}-01,{'AB'[number % 2]}")
    return "\n".join(rows)


def test_a_file_goes_in_and_its_summary_comes_out(page: Page, tmp_path: Path) -> None:
    choose(page, "cameras.csv", reviews(60))
    expect(page.locator("#gather-sentence")).to_have_value("1")
    expect(page.locator("#gather-date")).to_have_value("2")
    expect(page.locator("#gather-product")).to_have_value("3")
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_text("40 reviews read. 20 rows without a text left out. Found and judged")).to_be_visible()
    table = page.locator(".said-table tbody tr")
    expect(table.locator("th > span:first-child")).to_have_text(["lens", "soup"])
    expect(table.first).to_contain_text("40")
    expect(page.get_by_role("heading", name="By product")).to_be_visible()
    expect(page.get_by_role("heading", name="What changed")).to_be_visible()
    expect(page.locator("#overview b:text('soup')").first).to_be_visible()
    assert Axe().run(page).violations_count == 0, Axe().run(page).generate_report()
    for name in ("html", "csv"):
        with page.expect_download() as found:
            page.get_by_role("button", name=f"Download cameras.summary.{name}").click()
        found.value.save_as(tmp_path / f"s.{name}")
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as handle:
        assert {row["aspect"]: row["mentions"] for row in csv.DictReader(handle)} == {"lens": "40", "soup": "20"}
    assert "&lt;x&gt;" in (tmp_path / "s.html").read_text(encoding="utf-8")
    go(page, "Try")
    go(page, "Overview")
    expect(table).to_have_count(2)  # it is still there


def test_fewer_reviews_are_taken_evenly_and_reading_can_be_stopped(page: Page) -> None:
    choose(page, "cameras.csv", reviews(300))
    page.get_by_label("How many of the 300 reviews").fill("30")
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_text(re.compile(r"^(19|20|21) reviews read\."))).to_be_visible()
    held = []
    page.route("**/v1/find", lambda route: route.continue_() if not held.append(1) and len(held) < 3 else None)  # type: ignore[func-returns-value]
    choose(page, "cameras.csv", reviews(300))
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_text("16 of 200 reviews")).to_be_visible()
    page.get_by_role("button", name="Stop and show what is read").click()
    expect(page.get_by_text("Stopped: 16 of 200 reviews read.")).to_be_visible()


def test_columns_are_found_by_name_and_content_as_the_command_finds_them(page: Page) -> None:
    rows = [f"{n},The lens is good; and sharp.,{1 + n:02}.05.2024,{'AB'[n % 2]}" for n in range(12)]
    choose(page, "shop.csv", "\n".join(["no,Review Text,When,Product-ID", *rows]))
    expect(page.locator("#gather-sentence")).to_have_value("1")
    expect(page.locator("#gather-date")).to_have_value("2")
    expect(page.locator("#gather-product")).to_have_value("3")


def test_dates_that_cannot_be_read_are_counted(page: Page) -> None:
    days = [f"The lens is good.,2024-05-{day:02}\n" for day in range(1, 13)]
    choose(page, "dated.csv", "review,date\n" + "".join(days) + "The lens is bad.,soon\n" * 3)
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_text("3 reviews without a date that could be read.")).to_be_visible()


def test_text_of_windows_is_read_and_a_workbook_is_told_what_to_become(page: Page) -> None:
    rows = ["review;sku", *["“The lens” isn’t good, naïve.;A"] * 6]
    choose(page, "windows.csv", "\n".join(rows).encode("cp1252"))
    expect(page.get_by_text("read as text of Windows")).to_be_visible()
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_text("6 reviews read.")).to_be_visible()
    expect(page.locator("#gathered").get_by_text("isn’t good, naïve").first).to_be_visible()
    choose(page, "unicode.csv", "\n".join(rows).encode("utf-16"))
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_text("6 reviews read.")).to_be_visible()
    choose(page, "book.xlsx", b"PK\x03\x04 and so on")
    expect(page.get_by_role("alert")).to_contain_text("save it as CSV UTF-8")


def test_reviews_of_a_web_page_are_quoted_as_they_are_meant(page: Page) -> None:
    choose(page, "web.csv", "review,sku\n" + "Old &amp; new: the lens isn&#39;t good.<br>The soup is bad.,A\n" * 6)
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_text("6 reviews read.")).to_be_visible()
    expect(page.locator("#gathered").get_by_text("Old & new: the lens isn't good.").first).to_be_visible()
    expect(page.locator("#gathered b:text('lens')").first).to_be_visible()


def test_a_file_that_cannot_be_read_says_why(page: Page) -> None:
    choose(page, "bad.csv", 'comment,sku\n"never closed,1\n')
    expect(page.get_by_role("alert")).to_contain_text("The file bad.csv cannot be read")
    expect(page.get_by_role("alert")).to_contain_text("is never closed")
    choose(page, "lines.txt", "The lens is good, really.\nThe lens is bad, really.\n" * 3)
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_text("6 reviews read.")).to_be_visible()


def test_a_version_without_a_finder_says_so(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Predictor, "finds", property(lambda _: False))
    go(page, "Overview")
    expect(page.get_by_text("The live version cannot find aspects")).to_be_visible()
    expect(page.locator("#gather-file")).to_be_hidden()


@pytest.mark.parametrize("phone", PHONES, ids=lambda phone: str(phone["width"]))
def test_a_phone_never_scrolls_sideways(visit: Visit, site: Site, taught_store: Path, phone: dict[str, int]) -> None:
    page = visit(site(taught_store), viewport=phone, has_touch=True)
    choose(page, "cameras.csv", reviews(30))
    page.get_by_role("button", name="Read them").click()
    expect(page.get_by_role("heading", name="Typical sentences")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = page.locator("nav a").evaluate_all("links => links.map(link => link.getBoundingClientRect().height)")
    assert len(set(heights)) == 1 and heights[0] < 60  # no name of a screen is broken
