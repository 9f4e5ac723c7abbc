"""What all screens share: access for everybody, small screens, the token, the theme, a service that is gone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from ..conftest import TOKEN, Process
from .conftest import PATIENCE, PHONES, Site, Visit, go

expect.set_options(timeout=PATIENCE)

LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


def tour(page: Page) -> Iterator[str]:
    """Leads through all screens, as full as they get without teaching."""
    yield "try, empty"
    page.get_by_label("Review", exact=True).fill(f"the lens is good and the {LONG} is bad")
    for word in ("lens", LONG):
        page.locator("#words .word").filter(has_text=word).click()
    expect(page.get_by_role("article")).to_have_count(2)
    yield "try, answered"
    go(page, "Overview")
    yield "overview"
    go(page, "Teach")
    expect(page.get_by_role("button", name="headphones")).to_be_visible()
    yield "teach, empty"
    rows = ["sentence,aspect,polarity", *[f"the lens is good {n},lens,positive" for n in range(30)]]
    content = "\n".join([*rows, f"the {LONG} is odd,{LONG},odd"]).encode()
    page.locator("#file").set_input_files([{"name": f"{LONG}.csv", "mimeType": "text/csv", "buffer": content}])
    expect(page.get_by_role("group", name="Line 32")).to_be_visible()
    yield "teach, mending"
    page.get_by_role("button", name="headphones").click()
    expect(page.get_by_role("button", name="Start to teach")).to_be_visible()
    yield "teach, ready"
    go(page, "Inspect")
    page.get_by_text("Model card of version 3").click()
    expect(page.get_by_text("Domain 3 of a model")).to_be_visible()
    yield "inspect"
    page.get_by_role("button", name="Roll back to version 2").click()
    yield "a question"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_screen(visit: Visit, site: Site, taught_store: Path, scheme: str) -> None:
    page = visit(site(taught_store), color_scheme=scheme)
    for screen in tour(page):
        found = Axe().run(page)
        assert found.violations_count == 0, f"{screen}, {scheme}: {found.generate_report()}"


@pytest.mark.parametrize("phone", PHONES, ids=lambda phone: str(phone["width"]))
def test_a_phone_never_scrolls_sideways(visit: Visit, site: Site, taught_store: Path, phone: dict[str, int]) -> None:
    page = visit(site(taught_store), viewport=phone, has_touch=True)
    for screen in tour(page):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), screen
        small = page.evaluate(
            """() => [...document.querySelectorAll("button:not(.word), nav a, input, select")]
              .filter((e) => e.checkVisibility() && e.type !== "checkbox" && e.type !== "file")
              .filter((e) => e.getBoundingClientRect().height < 36).map((e) => e.outerHTML)"""
        )
        assert small == [], f"{screen}: too small to touch"


def test_the_page_asks_for_the_token_and_keeps_it_out_of_the_address(
    visit: Visit, site: Site, taught_store: Path
) -> None:
    address = site(taught_store)
    bare = address.partition("#")[0]
    page = visit(bare, expected="401")
    dialog = page.get_by_role("dialog", name="This page needs the token")
    dialog.get_by_label("Token", exact=True).fill("a guess")
    dialog.get_by_role("button", name="Go on").click()
    expect(dialog.get_by_text("That was not it.")).to_be_visible()
    dialog.get_by_label("Token", exact=True).fill(address)  # all of what was printed will do
    dialog.get_by_role("button", name="Go on").click()
    expect(page.locator("#live")).to_have_text("Version 3 · 3 domains")
    page.reload()
    expect(page.locator("#live")).to_have_text("Version 3 · 3 domains")
    page.goto(address)
    expect(page).to_have_url(bare)
    expect(page.locator("#live")).to_have_text("Version 3 · 3 domains")  # nothing is under way when the browser closes


def test_a_chosen_theme_is_kept(page: Page) -> None:
    dark = "getComputedStyle(document.documentElement).colorScheme"
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(dark) == "dark"
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert page.evaluate(dark) == "dark"


def test_a_service_that_is_gone_is_told_and_waited_for(visit: Visit, site: Site, taught_store: Path) -> None:
    page = visit(site(taught_store), expected="ERR_INTERNET_DISCONNECTED")
    expect(page.locator("#live")).to_have_text("Version 3 · 3 domains")
    page.get_by_label("Review", exact=True).fill("the lens is good")
    page.context.set_offline(True)
    page.locator("#words .word").filter(has_text="lens").click()
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer.")
    expect(page.locator("#banner")).to_contain_text("The service does not answer.")
    page.context.set_offline(False)
    expect(page.locator("#banner")).to_be_hidden()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("article")).to_have_count(1)


def test_a_service_that_hangs_is_told_and_waited_for(
    visit: Visit, launch: Callable[..., Process], taught_store: Path
) -> None:
    service = launch(taught_store)
    page = visit(f"{service.url}/#token={TOKEN}")
    expect(page.locator("#live")).to_have_text("Version 3 · 3 domains")
    service.process.send_signal(signal.SIGSTOP)  # it takes connections, and never answers
    expect(page.locator("#banner")).to_contain_text("The service has not answered for some seconds.")
    service.process.send_signal(signal.SIGCONT)
    expect(page.locator("#banner")).to_be_hidden()


def test_the_back_button_leads_back_through_the_screens(page: Page) -> None:
    for screen in ("Teach", "Inspect"):
        go(page, screen)
    page.go_back()
    expect(page).to_have_title("Teach · CLASSIC")
    page.go_back()
    expect(page).to_have_title("Try · CLASSIC")
    expect(page.get_by_label("Review", exact=True)).to_be_visible()


def test_a_second_tab_has_the_token_of_the_first(visit: Visit, site: Site, taught_store: Path) -> None:
    address = site(taught_store)
    page = visit(address, expected="401")
    expect(page.locator("#live")).to_have_text("Version 3 · 3 domains")
    second = page.context.new_page()
    second.goto(address.partition("#")[0])
    expect(second.locator("#live")).to_have_text("Version 3 · 3 domains")
    assert second.evaluate("localStorage.length") == 0
