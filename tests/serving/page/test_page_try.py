"""Try: a review, its aspects, an answer for each."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from collections.abc import Callable
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
    expect(page.locator("#answers-state")).to_contain_text("It has not learned anything yet.")
    page.get_by_role("link", name="Teach it a domain").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Teach it a new domain")
    go(page, "Inspect")
    expect(page.get_by_text("The live model has not learned anything.")).to_be_visible()


def held_back(page: Page) -> list[Route]:
    """Holds explanations back; returns them as they come."""
    held: list[Route] = []

    def look(route: Route) -> None:
        if json.loads(route.request.post_data or "{}").get("attributions"):
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/predict", look)
    return held


def test_polarities_are_there_before_their_explanations_which_can_be_stopped(page: Page) -> None:
    held = held_back(page)
    write(page, "the lens is good and the zoom is bad")
    for aspect in ("lens", "zoom"):
        word(page, aspect).click()
    cards = page.get_by_role("article")
    expect(cards).to_have_count(2)
    expect(page.get_by_text("Looking for the words that decided it …")).to_have_count(2)
    expect(page.get_by_text("Answered by version 3.")).to_be_visible()
    expect(cards.locator(".quote")).to_have_count(0)
    page.get_by_role("button", name="Stop").first.click()
    expect(page.get_by_text("Not explained.")).to_have_count(2)
    assert len({json.loads(route.request.post_data or "")["inputs"][0]["sentence"] for route in held}) == 1
    page.unroute("**/v1/predict")
    page.get_by_role("button", name="Explain").first.click()
    expect(page.get_by_text("Looking for the words that decided it …")).to_have_count(0)
    expect(page.get_by_text("Not explained.")).to_have_count(0)


def test_a_long_review_is_answered_and_said_to_be_too_long_to_explain(page: Page) -> None:
    write(page, "the lens is good and the zoom is bad. " * 40)
    word(page, "lens").click()
    expect(page.get_by_role("article")).to_contain_text("Too long to explain")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_doubtful_answer_looks_doubtful(page: Page) -> None:
    shares = {"positive": 0.45, "negative": 0.3, "neutral": 0.25}
    answer = {"aspect": "lens", "span": [4, 8], "polarity": "positive", "probabilities": shares, "words": None}
    answer |= {"nearest_domain": "soup", "unfamiliar": True, "truncated": False, "too_long_to_explain": True}
    page.route("**/v1/predict", lambda route: route.fulfill(json={"version": 3, "results": [{"aspects": [answer]}]}))
    write(page, "the lens is good")
    word(page, "lens").click()
    card = page.get_by_role("article")
    expect(card.locator(".verdict")).to_contain_text("unsure")
    expect(card).to_contain_text("It gives positive only 45 %.")
    expect(card).to_contain_text("Unfamiliar. The text is unlike all it has learned; the nearest is soup.")


def test_text_from_right_to_left_stays_so_and_its_numbers_too(page: Page) -> None:
    words = [{"start": 0, "end": 4, "weight": -0.05}, {"start": 5, "end": 8, "weight": 0.3}]
    shares = {"positive": 0.8, "negative": 0.1, "neutral": 0.1}
    answer = {"aspect": "iPhone", "span": None, "polarity": "positive", "probabilities": shares, "words": words}
    answer |= {"nearest_domain": "soup", "unfamiliar": False, "truncated": False, "too_long_to_explain": False}
    page.route("**/v1/predict", lambda route: route.fulfill(json={"version": 3, "results": [{"aspects": [answer]}]}))
    write(page, "המסך של iPhone Pro מצוין")
    places = page.locator("#words .word").evaluate_all("words => words.map(w => w.getBoundingClientRect().x)")
    first, of, phone, pro, last = places
    assert first > of > phone and pro > phone and pro < of and last < phone  # English within Hebrew runs its own way
    word(page, "המסך").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text("של")
    number = page.get_by_role("article").locator("bdi.number").filter(has_text="5")
    expect(number).to_have_text("−5")
    assert number.evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_a_reload_keeps_the_review_and_its_aspects(page: Page) -> None:
    write(page, "the lens is good")
    word(page, "lens").click()
    expect(page.get_by_role("article")).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Review", exact=True)).to_have_value("the lens is good")
    expect(page.get_by_role("article").get_by_role("heading")).to_have_text(["lens"])


def test_a_wrong_answer_becomes_a_row_of_the_next_lesson(page: Page) -> None:
    write(page, "the lens is good")
    word(page, "lens").click()
    said = (page.locator(".verdict").text_content() or "").split()[1]
    right = "neutral" if said != "neutral" else "negative"
    page.get_by_text("Wrong?").click()
    page.get_by_role("button", name=right, exact=True).click()
    expect(page.get_by_text(f"Noted as {right}, for the next lesson.")).to_be_visible()
    go(page, "Teach")
    expect(page.get_by_text("1 answer corrected in Try.")).to_be_visible()
    rows = ["sentence,aspect,polarity", *[f"the zoom is {w} {n},zoom,{p}" for n in range(9) for w, p in KINDS]]
    content = "\n".join(rows).encode()
    page.locator("#file").set_input_files([{"name": "zoom.csv", "mimeType": "text/csv", "buffer": content}])
    expect(page.get_by_label("Also teach 1 answer corrected in Try")).to_be_checked()
    with page.expect_request("**/v1/teach?*") as sent:
        page.get_by_role("button", name="Start to teach").click()
    taught = [json.loads(line) for line in (sent.value.post_data or "").splitlines()]
    assert len(taught) == 19 and taught[-1]["polarity"] == right and taught[-1]["sentence"] == "the lens is good"
    expect(page.get_by_text("1 answer corrected in Try.")).to_have_count(0)


KINDS = (("good", "positive"), ("bad", "negative"))


def test_a_file_of_reviews_goes_in_and_a_csv_of_answers_comes_out(page: Page, tmp_path: Path) -> None:
    lines = [
        "id;product;comment",
        "7;lens;the lens is good",
        '8;soup;"the soup; really, is bad"',
        "9;soup;",
        "10;lens;=1+1",
    ]
    page.get_by_text("A whole file of reviews").click()
    content = ("\r\n".join(lines) + "\r\n").encode()
    page.locator("#bulk-file").set_input_files([{"name": "reviews.csv", "mimeType": "text/csv", "buffer": content}])
    page.locator("#bulk").get_by_label("Aspect", exact=True).select_option("product")
    page.get_by_role("button", name="Answer 4 rows").click()
    with page.expect_download() as found:
        page.get_by_role("button", name="Download reviews.answers.csv").click()
    found.value.save_as(tmp_path / "answers.csv")
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["id"] for row in rows] == ["7", "8", "9", "10"]
    assert rows[1]["comment"] == "the soup; really, is bad" and rows[3]["comment"] == "'=1+1"
    assert rows[2]["problem"] == "no review" and rows[2]["polarity"] == ""
    (said,) = ask(page, "the lens is good", "lens")
    assert rows[0]["polarity"] == said["polarity"]
    assert float(rows[0]["positive"]) == pytest.approx(said["probabilities"]["positive"], abs=1e-4)


def test_waiting_for_the_first_domain_tells_the_jobs_own_estimate(
    visit: Visit, site: Site, tmp_path: Path, tiny_system: Callable[..., SystemConfig], upload: bytes
) -> None:
    path = tmp_path / "slow.store"
    open_or_create(path, tiny_system(changes={"train.epochs": 5000}))
    address = site(path)
    page = visit(address)
    started = httpx2.post(
        f"{address.partition('#')[0]}v1/teach?domain=router",
        content=upload,
        headers=BEARER | {"Content-Type": "application/jsonl"},
        trust_env=False,
    ).json()
    expect(page.locator("#answers-state")).to_contain_text("The first domain is being learned (learning, about")
    page.get_by_role("link", name="Watch it").click()
    expect(page.get_by_text("of 5000, batch")).to_be_visible()
    expect(page.locator(".terms p")).to_be_hidden()  # terms of the loss: for those who ask
    expect(page.locator(".terms p")).to_contain_text("ce")
    httpx2.post(f"{address.partition('#')[0]}v1/jobs/{started['id']}/cancel", headers=BEARER, trust_env=False)
