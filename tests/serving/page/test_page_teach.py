"""Teach: a file is mended, learned, compared, published; in two tabs, over reloads."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from classic.data.tasks import check_name
from classic.learning.learner import open_or_create
from classic.store.store import Store
from classic.systems.system import SystemConfig

from .conftest import PATIENCE, Site, Visit, go

expect.set_options(timeout=PATIENCE)


def drop(page: Page, name: str, content: bytes) -> None:
    go(page, "Teach")
    page.locator("#file").set_input_files([{"name": name, "mimeType": "text/plain", "buffer": content}])


def begin(page: Page, domain: str, content: bytes) -> None:
    drop(page, f"{domain}.jsonl", content)
    page.get_by_role("button", name="Start to teach").click()


def wait_until_learned(page: Page, domain: str) -> None:
    """A lesson that failed is told at once, with its reason, instead of waited for in vain."""
    expect(page.get_by_role("heading", name=re.compile(f"{domain} (has been|could not be) learned"))).to_be_visible()
    assert page.locator("#lesson").get_by_role("alert").all_inner_texts() == []


def test_a_demo_domain_is_taught_to_the_end_and_published(page: Page, taught_store: Path) -> None:
    go(page, "Teach")
    page.get_by_role("button", name="headphones").click()
    expect(page.get_by_text("JSONL, 231 rows")).to_be_visible()
    expect(page.get_by_text("The first 20 of 231 good rows")).to_be_visible()
    expect(page.get_by_label("Name of the domain")).to_have_value("headphones")
    page.get_by_label("Name of the domain").fill("cans")
    page.get_by_label("Keep a tenth of the rows as a test").check()
    page.get_by_role("button", name="Start to teach").click()
    wait_until_learned(page, "cans")
    table = page.get_by_role("table", name="Macro-F1 over the domain’s own classes")
    expect(table.get_by_role("rowheader")).to_contain_text(["screen", "soup", "lens", "cans"])
    assert Store.open(taught_store).current == 3  # nothing is live before somebody says so

    if page.get_by_label("Why publish it all the same?").is_visible():  # a toy model may well lose a point
        page.get_by_label("Why publish it all the same?").fill("it is a toy")
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("heading", name="cans is published")).to_be_visible()
    expect(page.locator("#live")).to_have_text("Version 4 · 4 domains")
    assert Store.open(taught_store).domains() == ["screen", "soup", "lens", "cans"]
    page.get_by_role("button", name="Teach another domain").click()
    expect(page.get_by_role("list").get_by_text("as version 4")).to_be_visible()
    assert Axe().run(page).violations_count == 0
    page.get_by_role("button", name="Look at the lesson cans").click()
    expect(table.get_by_role("rowheader")).to_contain_text(["screen", "soup", "lens", "cans"])


WATCH = """() => {
  window.said = [];
  new MutationObserver(() => {
    const now = document.querySelector("#lesson .big")?.textContent.replace(/, about .* left/, "");
    if (now && now !== said.at(-1)) said.push(now);
  }).observe(document.getElementById("lesson"), { childList: true, subtree: true, characterData: true });
}"""
STAGES = ["Starting", "Loading the model", "Encoding texts", "Asking earlier models", "Learning", "Testing"]


def test_waiting_says_what_is_done_stage_by_stage(page: Page, upload: bytes) -> None:
    page.evaluate(WATCH)
    begin(page, "router", upload)
    wait_until_learned(page, "router")
    said = page.evaluate("said")
    known = [f"{stage} …" for stage in [*STAGES, "Testing it on all domains"]]
    assert said == [stage for stage in known if stage in said]  # short ones may be missed, none comes out of turn
    assert said[-1] == known[-1] and len(said) > 1


def test_the_name_of_a_file_becomes_one_a_domain_may_have(
    visit: Visit, site: Site, taught_store: Path, upload: bytes
) -> None:
    page = visit(site(taught_store), expected="422")
    drop(page, "Zoe\u0308’s reviews (1).jsonl", upload)  # as browsers call a second download, and a Mac an ë
    expect(page.get_by_label("Name of the domain")).to_have_value("Zo\u00eb s reviews 1")
    assert check_name("Zo\u00eb s reviews 1")
    page.get_by_label("Name of the domain").fill("a/b")
    page.get_by_role("button", name="Start to teach").click()
    expect(page.get_by_role("alert")).to_have_text(re.compile(r"^This cannot be the name of a domain\. Use letters, "))


def test_a_bad_file_is_refused_and_mended_in_place(visit: Visit, site: Site, taught_store: Path) -> None:
    page = visit(site(taught_store), expected="409")
    rows = ["sentence,aspect,polarity"]
    rows += [f"the lens is good {n},lens,positive" for n in range(12)]
    rows += [f"the lens is bad {n},lens,negative" for n in range(12)]
    rows += ["the zoom is okay,zoom,bda", "the flash is plain,,neutral", "beyond repair,,"]
    drop(page, "camera.csv", "\n".join(rows).encode())
    expect(page.get_by_role("heading", name="3 rows need mending")).to_be_visible()
    expect(page.get_by_role("button", name="Start to teach")).to_have_count(0)

    line26 = page.get_by_role("group", name="Line 26")
    expect(line26).to_contain_text("unknown label")
    expect(line26.get_by_label("Polarity")).to_have_attribute("aria-invalid", "true")
    line26.get_by_label("Polarity").select_option("neutral")
    page.get_by_role("group", name="Line 27").get_by_label("Aspect").fill("flash")
    page.get_by_role("button", name="Remove line 28").click()
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_text("CSV, 26 rows · 26 good: 12 positive, 12 negative, 2 neutral")).to_be_visible()
    expect(page.get_by_role("button", name="Start to teach")).to_be_visible()

    page.get_by_label("Name of the domain").fill("lens")  # a name it knows
    page.get_by_role("button", name="Start to teach").click()
    expect(page.get_by_role("alert")).to_contain_text("has learned a domain of this name already")
    page.get_by_label("Name of the domain").fill("camera")
    page.get_by_role("button", name="Start to teach").click()
    wait_until_learned(page, "camera")
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page.get_by_role("heading", name="camera was discarded")).to_be_visible()
    expect(page.locator("#live")).to_have_text("Version 3 · 3 domains")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "This file cannot be taught as it is."),
        (b"sentence,aspect,polarity\nthe lens is good,lens,positive\n", "There are too few training rows."),
    ],
)
def test_a_hopeless_file_is_refused_with_a_sentence(page: Page, content: bytes, said: str) -> None:
    drop(page, "hopeless.csv", content)
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(page.get_by_role("button", name="Start to teach")).to_have_count(0)


def test_what_the_gate_holds_back_is_published_only_with_a_reason(
    visit: Visit, site: Site, taught_store: Path, upload: bytes
) -> None:
    page = visit(site(taught_store, margin=-100.0))  # every domain must gain a hundred points
    begin(page, "router", upload)
    expect(page.get_by_role("heading", name="router has been learned, but something suffered")).to_be_visible()
    expect(page.locator("td").get_by_text("✗ fell")).to_have_count(3)
    assert Axe().run(page).violations_count == 0
    publish = page.get_by_role("button", name="Publish all the same")
    publish.click()
    expect(page.get_by_label("Why publish it all the same?")).to_be_focused()  # the browser asks for it
    page.get_by_label("Why publish it all the same?").fill("the owner knows")
    publish.click()
    expect(page.get_by_text("Against the gate: The owner knows.")).to_be_visible()
    go(page, "Inspect")
    expect(page.get_by_text("router was published as version 4 against the gate")).to_be_visible()
    expect(page.get_by_text("the owner knows", exact=True)).to_be_visible()


def test_a_reload_and_a_second_tab_follow_the_same_lesson(
    visit: Visit,
    site: Site,
    tmp_path: Path,
    tiny_system: Callable[..., SystemConfig],
    upload: bytes,
) -> None:
    path = tmp_path / "slow.store"
    open_or_create(path, tiny_system(changes={"train.epochs": 5000}))  # nobody waits for its end
    page = visit(site(path), expected="401")
    begin(page, "router", upload)
    learning = page.get_by_role("heading", name="router is being learned")
    expect(learning).to_be_visible()
    expect(page.get_by_role("img", name="Classification loss by epoch")).to_be_visible()

    page.reload()
    expect(page.get_by_role("heading", level=1, name="Teach it a new domain")).to_be_visible()
    expect(learning).to_be_visible()
    expect(page.get_by_role("img", name="Mask usage")).to_be_visible()  # what was before the reload is there
    assert Axe().run(page).violations_count == 0

    second = page.context.new_page()
    second.goto(page.url)
    expect(second.get_by_role("heading", name="router is being learned")).to_be_visible()
    expect(second.get_by_text("Choose a file", exact=True)).to_be_hidden()  # one lesson at a time
    second.get_by_role("button", name="Cancel").click()
    second.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(second.get_by_role("heading", name="router was cancelled")).to_be_visible()
    expect(page.get_by_role("heading", name="router was cancelled")).to_be_visible()


def test_a_lesson_that_fails_says_why(visit: Visit, site: Site, taught_store: Path, upload: bytes) -> None:
    page = visit(site(taught_store, teach_memory=0.2))
    begin(page, "router", upload)
    expect(page.get_by_role("heading", name="router could not be learned")).to_be_visible()
    expect(page.get_by_role("alert")).not_to_be_empty()
    page.get_by_role("button", name="Teach another domain").click()
    expect(page.get_by_text("Choose a file", exact=True)).to_be_visible()


def test_columns_with_other_names_are_mapped_and_stars_become_polarities(page: Page) -> None:
    kinds = (("good", 5), ("bad", 1), ("plain", 3))
    rows = [
        "Date;Product;Comment;Stars",
        *[f"2026-01-0{n};lens;the lens; is {w} {n};{s}" for n in range(1, 9) for w, s in kinds],
    ]
    rows = [
        rows[0],
        *[row.replace("the lens; is", '"the lens; is').rsplit(";", 1)[0] + f'";{row[-1]}' for row in rows[1:]],
    ]
    drop(page, "stars.csv", "\n".join(rows).encode())
    expect(page.get_by_role("heading", name="Which column is what?")).to_be_visible()
    page.get_by_label("Aspect", exact=True).select_option("Product")
    expect(page.get_by_label("Review", exact=True).locator("visible=true")).to_have_value("2")  # guessed: Comment
    expect(page.get_by_label("Positive from")).to_have_value("4")
    page.get_by_role("button", name="Look at the rows").click()
    expect(page.get_by_text("24 rows · 24 good: 8 positive, 8 negative, 8 neutral")).to_be_visible()
    expect(page.get_by_role("button", name="Start to teach")).to_be_visible()
    expect(page.get_by_role("cell", name="the lens; is plain 8")).to_have_count(0)  # beyond the first twenty
    expect(page.locator(".rows tbody tr").first.locator("td").first).to_have_text("2")  # lines are the file's


def test_lines_are_those_of_the_file_after_mending_too(page: Page) -> None:
    rows = ["sentence,aspect,polarity", ",,", *[f"the lens is good {n},lens,positive" for n in range(9)]]
    rows += [*[f"the lens is bad {n},lens,negative" for n in range(9)], "the zoom is okay,zoom,bda"]
    drop(page, "camera.csv", "\n".join(rows).encode())
    page.get_by_role("button", name="Remove line 2", exact=True).click()
    page.get_by_role("button", name="Check again").click()
    still = page.get_by_role("group", name="Line 21")
    expect(still).to_contain_text("unknown label")
    still.get_by_label("Polarity").select_option("neutral")
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_text("CSV, 19 rows")).to_be_visible()
    expect(page.locator(".rows tbody tr").first.locator("td").first).to_have_text("3")
