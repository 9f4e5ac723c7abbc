"""Inspect: versions, numbers, going back, taking it away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx2
from playwright.sync_api import Page, Route, expect

from classic.learning.learner import open_or_create
from classic.learning.teach import teach
from classic.store.archive import unpack
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Task

from ..conftest import BEARER
from .conftest import PATIENCE, Site, Visit, go

expect.set_options(timeout=PATIENCE)


def test_one_rolls_back_and_forward_and_another_tab_sees_it(visit: Visit, site: Site, taught_store: Path) -> None:
    address = site(taught_store)
    page, other = visit(address), visit(address)
    expect(other.locator("#live")).to_have_text("Version 3 · 3 domains")
    go(page, "Inspect")
    go(other, "Inspect")
    page.get_by_role("button", name="Roll back to version 2").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("a bad day")
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.locator("#live")).to_have_text("Version 2 · 2 domains")
    assert Store.open(taught_store).current == 2
    left = page.locator(".timeline li").filter(has_text="left behind")
    expect(left.get_by_role("heading")).to_contain_text("3 · lens")
    expect(page.get_by_text("version 3 → 2")).to_be_visible()
    expect(page.get_by_text("a bad day")).to_be_visible()
    expect(other.locator("#live")).to_have_text("Version 2 · 2 domains")
    expect(other.get_by_role("button", name="Go forward to version 3")).to_be_visible()

    other.get_by_role("button", name="Go forward to version 3").click()
    other.get_by_role("dialog").get_by_role("button", name="Go forward").click()
    expect(page.locator("#live")).to_have_text("Version 3 · 3 domains")
    assert Store.open(taught_store).current == 3

    page.get_by_role("button", name="Roll back to version 0").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.get_by_text("The live model has not learned anything.")).to_be_visible()


def test_the_heat_map_holds_the_numbers_of_the_matrix(page: Page) -> None:
    numbers = httpx2.get(f"{page.evaluate('location.origin')}/v1/matrix", headers=BEARER, trust_env=False).json()
    go(page, "Inspect")
    for measure, name in (("own_f1", "Own F1"), ("accuracy", "Accuracy")):
        page.get_by_label("Measure").select_option(label=name)
        cells = page.get_by_role("table", name=f"{name}, in points").locator("td")
        expected = ["none" if v is None else f"{100 * v:.1f}" for row in numbers["matrix"][measure] for v in row]
        expect(cells).to_have_text(expected)
    attention = page.get_by_role("table", name="Attention while it was learned")
    expect(attention.get_by_role("rowheader")).to_have_text(["soup", "lens"])
    expect(page.get_by_text("Capacity left")).to_be_visible()


def test_the_starter_has_no_row_of_results(
    visit: Visit, site: Site, tmp_path: Path, quick_system: SystemConfig, toy_tasks: tuple[Task, ...]
) -> None:
    store = open_or_create(tmp_path / "begun.store", quick_system)
    for task in (replace(toy_tasks[0], name="starter", test=()), *toy_tasks[1:3]):
        teach(store, task)
    page = visit(site(store.path))
    expect(page.locator("#live")).to_have_text("Version 3 · 2 domains on the starter")
    go(page, "Inspect")
    results = page.get_by_role("table", name="Own F1, in points")
    expect(results.get_by_role("rowheader")).to_have_text(["2 soup", "3 lens"])
    expect(results.get_by_role("columnheader")).to_have_text(["After", "soup", "lens"])
    expect(page.get_by_text("The starter, which this store began with, is left out")).to_be_visible()
    expect(page.get_by_text("mean over all domains")).to_be_visible()
    attention = page.get_by_role("table", name="Attention while it was learned")
    expect(attention.get_by_role("columnheader").nth(1)).to_have_text("starter")


def test_a_card_and_a_pack_can_be_had(page: Page, tmp_path: Path, taught_store: Path) -> None:
    go(page, "Inspect")
    page.get_by_text("Model card of version 3").click()
    expect(page.get_by_text("Domain 3 of a model that learned, one after another: screen, soup, lens.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download packed store").click()
    assert download.value.suggested_filename == "toy.store.v3.pack"
    download.value.save_as(tmp_path / "taken.pack")
    unpack(tmp_path / "taken.pack", tmp_path / "taken.store")
    assert Store.open(tmp_path / "taken.store").verify() == Store.open(taught_store).verify()


def test_a_domain_without_a_test_does_not_hide_what_is_known_of_the_others(page: Page) -> None:
    def without_soup(route: Route) -> None:
        numbers = route.fetch().json()
        for rows in numbers["matrix"].values():
            if isinstance(rows, list) and rows and isinstance(rows[0], list):
                for row in rows:
                    row[1] = None
        numbers["final"] = dict.fromkeys(numbers["final"])
        for name in ("forgetting_by_domain", "backward_transfer_by_domain"):
            for values in numbers[name].values():
                values["soup"] = None
        route.fulfill(json=numbers)

    page.route("**/v1/matrix", without_soup)
    go(page, "Inspect")
    for name in ("Macro-F1", "Forgetting", "Backward transfer"):
        tile = page.locator(".tile").filter(has=page.get_by_text(name, exact=True))
        expect(tile.locator(".value")).not_to_have_text("–")
    expect(page.get_by_text("mean over 2 of 3 domains")).to_be_visible()
