"""The interactive page in a real browser: drawn, silent, readable, and usable by everybody."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from result_files import write_result

from classic.benchmark.figures.page import render_page
from classic.benchmark.runs.suites import Selection, grid
from classic.data.sequences import order

PATIENCE = 180_000  # milliseconds a condition may take on a busy machine; nothing waits that long if all is well
WIDTHS = (400, 1400)
CLASSIC, NCL, ONE = (f"{method}@bert_adapter" for method in ("classic", "ncl", "one"))

expect.set_options(timeout=PATIENCE)

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def pages(asc19: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of a table and the page of a search, over as many domains as the paper has."""
    folder, draw = tmp_path_factory.mktemp("results"), random.Random(0)
    tasks = list(order(0))
    share = {"used": 0.5, "new": 0.1, "shared": 0.4, "free": 0.4}
    maps = [[1 / (task + 1)] * (task + 1) for task in range(len(tasks))]
    for system in (f"{CLASSIC}/dil", f"{NCL}/dil", f"{ONE}/til"):
        scores = [(draw.uniform(0.6, 1), draw.uniform(0.5, 1)) for _ in tasks]
        told = {"capacity": [share] * len(tasks), "overlap": maps, "transfer": maps} if "classic" in system else {}
        write_result(folder, system, scores, tasks=tasks, of_tasks=told)
    for number in range(12):
        changes = {key: draw.choice(values) for key, values in grid().items()}
        scores = [(draw.uniform(0.6, 1), draw.uniform(0.5, 1)) for _ in tasks[:4]]
        spec = {"valid": True, "first": 4, "changes": changes}
        write_result(folder, f"{CLASSIC}/dil", scores, tasks=tasks[:4], spec=spec, name=f"trial{number}.json")
    found = {}
    for table, chosen in (("main", Selection(systems=(NCL, CLASSIC))), ("search", Selection())):
        found[table] = folder.with_name(f"{folder.name}-{table}.html")
        found[table].write_text(render_page(table, chosen, folder), encoding="utf-8")
    return found


@pytest.fixture
def visit(browser: Browser, pages: dict[str, Path]) -> Iterator[Visit]:
    """Opens a page; it may write nothing to the console and ask the network for nothing."""
    with ExitStack() as stack:
        wrong: list[str] = []

        def open_page(table: str, width: int = 1400) -> Page:
            context = browser.new_context(viewport={"width": width, "height": 900})
            context.set_default_timeout(PATIENCE)
            stack.callback(context.close)
            page = context.new_page()
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
            own = pages[table].as_uri()
            page.on("request", lambda asked: wrong.append(asked.url) if asked.url != own else None)
            page.goto(own)
            return page

        yield open_page
    assert wrong == []


def draw_everything(page: Page) -> int:
    """Scrolls to every chart, which has it drawn; returns how many there are."""
    charts = page.locator(".chart")
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".main-svg").first).to_be_visible()
        expect(chart.locator(".point, .heatmaplayer image").first).to_be_attached()
    return charts.count()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("table", ["main", "search"])
def test_everything_is_drawn_readable_and_open_to_everybody(visit: Visit, table: str, width: int) -> None:
    page = visit(table, width)
    count = draw_everything(page)
    assert count == page.get_by_role("heading", level=2).count() == (12 if table == "main" else 4)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    numbers, covered = page.evaluate(
        """() => {
          const boxes = [...document.querySelectorAll(".heatmap-label")].map((e) => e.getBoundingClientRect());
          const meets = (a, b) => Math.abs(a.top - b.top) < 2 && a.left < b.right && b.left < a.right;
          return [boxes.length, boxes.slice(1).filter((box, i) => meets(box, boxes[i])).length];
        }"""
    )
    assert numbers > 0
    assert covered == 0, "numbers of a map run into each other"
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_nothing_can_be_uploaded(visit: Visit) -> None:
    page = visit("main")
    expect(page.locator(".chart .main-svg").first).to_be_visible()
    expect(page.get_by_role("button", name="Download plot")).not_to_have_count(0)  # so buttons are found by their names
    expect(page.get_by_role("button", name="Share")).to_have_count(0)


def test_another_run_can_be_chosen(visit: Visit) -> None:
    page = visit("main")
    choice = page.get_by_label("One run")
    headings = page.locator("#of-run h2")
    expect(choice.locator("option:checked")).to_have_text("CLASSIC, bert_adapter, order 0, seed 0")
    expect(headings.filter(has_text="Units in use")).to_have_count(1)
    choice.select_option(label="NCL, bert_adapter, order 0, seed 0")
    expect(headings.filter(has_text="Units in use")).to_have_count(0)
    page.locator("#of-run .chart").first.scroll_into_view_if_needed()
    expect(page.locator("#of-run .chart .main-svg").first).to_be_visible()


def test_a_point_tells_its_system_under_the_pointer(visit: Visit) -> None:
    page = visit("main")
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    point = chart.locator(".point").first
    expect(point).to_be_visible()
    point.hover(force=True)  # plotly listens on a layer above the points
    expect(chart.locator(".hoverlayer")).to_contain_text("s per task")


def test_a_trial_under_the_pointer_is_shown_in_every_panel(visit: Visit) -> None:
    page = visit("search")
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    marked = (
        """(chart) => chart.data.filter((trace) => trace.mode === "markers").map((trace) => trace.selectedpoints)"""
    )
    star = chart.locator(".scatterlayer .trace").nth(1).locator(".point").first
    expect(star).to_be_visible()
    star.hover(force=True)
    expect(chart.locator(".hoverlayer")).to_contain_text("temperature")
    assert chart.evaluate(marked) == [[0]] * 5
    page.mouse.move(5, 5)
    expect(chart.locator(".hoverlayer text")).to_have_count(0)
    assert chart.evaluate(marked) == [None] * 5
