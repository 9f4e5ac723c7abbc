"""Try: a review, its aspects, an answer for each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from classic.learning.learner import open_or_create
from classic.systems.system import SystemConfig

from ..conftest import BEARER, TOKEN
from .conftest import PATIENCE, PHONES, Site, Visit, go

expect.set_options(timeout=PATIENCE)


def write(page: Page, text: str) -> None:
    page.get_by_label("Review", exact=True).fill(text)


def word(page: Page, text: str) -> Locator:
    return page.locator("#words .word").filter(has_text=text).first


def drag(page: Page, first: str, last: str) -> None:
    word(page, first).hover()
    page.mouse.down()
    word(page, last).hover()
    page.mouse.up()


def ask(page: Page, sentence: str, *aspects: Any) -> list[dict[str, Any]]:
    origin = page.evaluate("location.origin")
    body = {"inputs": [{"sentence": sentence, "aspects": aspects}]}
    answer = httpx2.post(f"{origin}/v1/predict", json=body, headers=BEARER, trust_env=False)
    return list(answer.json()["results"][0]["aspects"])


def test_dragging_over_words_marks_an_aspect_and_shows_what_the_service_says(page: Page) -> None:
    text = "the good soup is good and the battery was awful"
    write(page, text)
    drag(page, "soup", "is")
    drag(page, "battery", "battery")
    cards = page.get_by_role("article")
    expect(cards.get_by_role("heading")).to_have_text(["soup is", "battery"])
    for number, said in enumerate(ask(page, text, {"start": 9, "end": 16}, "battery")):
        card = cards.nth(number)
        expect(card.locator(".verdict")).to_contain_text(said["polarity"])
        shares = [f"{round(100 * said['probabilities'][name])} %" for name in ("positive", "negative", "neutral")]
        expect(card.locator(".shares .number")).to_have_text(shares)
        expect(card).to_contain_text(said["nearest_domain"])
        expect(page.locator("#words mark").nth(number)).to_have_class(f"aspect {said['polarity']}")
    expect(page.get_by_text("Answered by version 3.")).to_be_visible()

    drag(page, "battery", "battery")  # once more takes it away
    expect(cards).to_have_count(1)


def test_a_word_that_is_drawn_anew_while_it_is_pressed_is_marked_all_the_same(page: Page) -> None:
    write(page, "the lens is good and the zoom is bad")
    word(page, "lens").click()
    word(page, "zoom").hover()
    page.mouse.down()
    expect(page.locator("#words mark")).not_to_have_class("aspect waiting")  # the answer has come meanwhile
    page.mouse.up()
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(["lens", "zoom"])


def test_a_tap_marks_a_word_on_a_phone(visit: Visit, site: Site, taught_store: Path) -> None:
    page = visit(site(taught_store), viewport=PHONES[0], has_touch=True, is_mobile=True)
    write(page, "the lens is good")
    word(page, "lens").tap()
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(["lens"])
    word(page, "lens").tap()
    expect(page.get_by_role("article")).to_have_count(0)


def test_the_keyboard_alone_is_enough(page: Page) -> None:
    write(page, "the lens is good and the zoom is bad")
    word(page, "the").focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(["lens is"])
    page.get_by_label("Or type it").fill("zoom")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(["lens is", "zoom"])
    page.get_by_role("button", name="Remove lens is").press("Enter")
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(["zoom"])


def test_marks_stay_on_their_words_while_the_text_is_edited_and_beyond_the_first_plane(page: Page) -> None:
    write(page, "😀 the lens is good")
    word(page, "lens").click()
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(["lens"])
    write(page, "😀😀 today the lens is so good")
    expect(page.locator("#words mark")).to_contain_text("lens")
    expect(page.get_by_text("Answered by version 3.")).to_be_visible()
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(["lens"])
    write(page, "😀😀 today the flash is so good")  # the marked word itself is gone
    expect(page.get_by_role("article")).to_have_count(0)


def test_markup_in_a_review_stays_text(page: Page) -> None:
    text = "the <b>lens</b> <img src=x onerror=alert(1)> is good"
    write(page, text)
    word(page, "lens").click()
    expect(page.get_by_role("article")).to_have_count(1)
    expect(page.locator("#words")).to_contain_text("<b>lens")
    expect(page.locator("#try img, #try b:text('lens')")).to_have_count(0)


def test_copied_json_and_curl_are_the_request_and_its_answer(visit: Visit, site: Site, taught_store: Path) -> None:
    page = visit(site(taught_store), permissions=["clipboard-read", "clipboard-write"])
    write(page, "the lens isn't \"bad\" & it's $5")
    word(page, "lens").click()
    page.get_by_role("button", name="Copy as JSON").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    answer = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert answer["version"] == 3 and answer["results"][0]["aspects"][0]["aspect"] == "lens"
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.get_by_text("Copied.")).to_have_count(2)
    command = page.evaluate("navigator.clipboard.readText()")
    assert TOKEN not in command
    if shutil.which("curl") is None:
        pytest.skip("there is no curl to try the command with")
    environment = {"PATH": os.environ["PATH"], "TOKEN": TOKEN}
    said = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=True).stdout
    assert json.loads(said)["results"][0]["aspects"][0]["probabilities"] == pytest.approx(
        answer["results"][0]["aspects"][0]["probabilities"], abs=1e-5
    )


def test_a_full_queue_is_met_with_patience_then_told(visit: Visit, site: Site, taught_store: Path) -> None:
    page = visit(site(taught_store), expected="429")
    error = {"code": "overloaded", "message": "too much is waiting already", "fix": "try again later", "details": []}

    def refuse(route: Route) -> None:
        route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": error})

    page.route("**/v1/predict", refuse, times=2)
    write(page, "the lens is good")
    word(page, "lens").click()
    expect(page.get_by_role("article")).to_have_count(1)  # the third time it was let in
    page.route("**/v1/predict", refuse)
    word(page, "good").click()
    expect(page.get_by_role("alert")).to_contain_text("Too much is waiting already.")
    page.unroute("**/v1/predict")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("article")).to_have_count(2)


def test_a_store_that_has_learned_nothing_says_so(
    visit: Visit, site: Site, tmp_path: Path, quick_system: SystemConfig
) -> None:
    open_or_create(tmp_path / "new.store", quick_system)
    page = visit(site(tmp_path / "new.store"))
    expect(page.get_by_text("It has not learned anything yet.")).to_be_visible()
    page.get_by_role("link", name="Teach it a domain").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Teach it a new domain")
    go(page, "Inspect")
    expect(page.get_by_text("The live model has not learned anything.")).to_be_visible()
