from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch

from classic.errors import InputError, StoreError
from classic.report.charts import percent
from classic.report.page import render_report, report_numbers, scores_matrix, write_report
from classic.store.store import Store

HOSTILE = "<img src=x onerror=alert(1)>\"'&</style></title><script>alert(2)</script>"


# --- a store that was never trained ---------------------------------------------------------------------------------


def make_store(
    path: Path, domains: list[str], *, rows: str = "all", measured: bool = True, seed: int = 0, epochs: int = 5
) -> Store:
    """A store with real versions and made-up results.

    Args:
        path: Its folder.
        domains: Names in order.
        rows: ``all``, ``last`` (diagonal and last row) or ``none`` (no scores files: the diagonal from the records).
        measured: Whether the method reports capacity, overlap and transfer.
        seed: Of the results.
        epochs: Of each domain.
    """
    draw = random.Random(seed)
    settings = {
        "system": {"method": "classic" if measured else "ncl", "train": {"epochs": epochs}, "method_config": {}},
        "seed": 7,
        "encoder": {"encoder": "minilm", "sha256": "ab" * 32},
        "labels": ["positive", "negative", "neutral"],
    }
    store = Store.create(path, settings, {"whole/w": torch.zeros(2)})
    taken = 0.0
    for t, name in enumerate(domains):
        right = [30 + draw.randrange(8) for _ in range(t + 1)]
        new = (0.16 if t == 0 else 0.05) * (1 - taken)
        shared = 0.6 * taken
        taken += new
        shares = [draw.random() + (2 if u == t else 0) for u in range(t + 1)]
        loss = [0.9 * 0.7**epoch + 0.06 * draw.random() for epoch in range(epochs)]
        record: dict[str, Any] = {
            "domain": name,
            "domains": domains[: t + 1],
            "counts": {
                "train": {"positive": 220 - t, "negative": 90 + t, "neutral": 12 * (t % 2)},
                "valid": {"positive": 25, "negative": 12, "neutral": t % 2},
                "test": {"positive": 26, "negative": 14, "neutral": 0},
            },
            "classes": ["positive", "negative"],
            "temperature": [1.2 + 0.05 * t, 37],
            "scores": {"test": _scores(right[t])},
            "epochs": [
                {
                    "phase": "train",
                    "epoch": epoch,
                    "terms": {"ce": value + 0.05, "csc": 2.5},
                    "valid_loss": value,
                    "valid_f1": 0.9 - value / 2,
                    "best": value == min(loss[: epoch + 1]),
                }
                for epoch, value in enumerate(loss)
            ],
            "data": f"{t:064x}",
        }
        if measured:
            record |= {
                "capacity": {"new": new, "shared": shared, "used": new + shared, "free": 1 - taken},
                "overlap": [draw.random() for _ in range(t)] + [1.0],
                "transfer": [share / sum(shares) for share in shares] if t else [],
            }
        run = {
            "seconds": 31.4 + t,
            "cpu_seconds": 60.0,
            "peak_memory_bytes": 900 * 2**20,
            "surroundings": {"torch": "2.10", "threads": 2},
        }
        with store.lock():
            version = store.publish({"w": torch.full((2,), float(t + 1))}, record, run, f"# {name}\n")
        wanted = range(t + 1) if rows == "all" or (rows == "last" and t == len(domains) - 1) else [t]
        if rows != "none":
            store.write_scores(version.number, {domains[u]: {"pairs": _pairs(right[u])} for u in wanted})
    return store


def _pairs(right: int) -> list[list[int]]:
    """40 examples, 26 positive: mistakes are shared among both."""
    wrong = 40 - right
    first = min(wrong // 2, 26)
    return [[0, 0, 26 - first], [0, 1, first], [1, 0, wrong - first], [1, 1, 14 - (wrong - first)]]


def _scores(right: int) -> dict[str, float]:
    from classic.evaluation import macro_f1

    true = [pair[0] for pair in _pairs(right) for _ in range(pair[2])]
    said = [pair[1] for pair in _pairs(right) for _ in range(pair[2])]
    value = macro_f1(true, said)
    return {"accuracy": right / 40, "macro_f1": value, "own_f1": value, "examples": 40}


class Checker(HTMLParser):
    """Fails on tags that do not match; collects tags, attributes and text."""

    VOID = frozenset({"meta", "br", "input", "link", "img", "hr"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parse(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


def heat_rows(page: str, kind: str = "of-accuracy") -> list[list[tuple[str, str]]]:
    """Class and text of the cells of the first heat map of a metric, the average left out."""
    block = page[page.index(f'<div class="{kind}">') :]
    body = block[block.index("<tbody>") : block.index("</tbody>")]
    cell = r'<td class="([^"]*)" title[^>]*>(.*?)</td>'
    return [
        [(style, re.sub("<span.*?</span>", "", text)) for style, text in re.findall(cell, row)]
        for row in body.split("<tr>")[1:]
    ]


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 6, 19])
@pytest.mark.parametrize("rows", ["all", "last", "none"])
def test_page_is_well_formed_names_every_domain_and_fetches_nothing(tmp_path: Path, count: int, rows: str) -> None:
    domains = [f"Domain{number}WithAVeryLongNameIndeed" for number in range(count)]
    page = render_report(make_store(tmp_path / "s", domains, rows=rows, epochs=2))
    checker = parse(page)
    shown = " ".join(checker.text)
    assert all(name in shown for name in domains)
    assert set(re.findall(r"https?://[^\s\"'<>]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in checker.tags}
    assert "@import" not in page
    assert "url(" not in page
    ids = [attributes["id"] for _, attributes in checker.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in checker.tags:
        if tag == "svg" and attributes.get("role") == "img":
            named = (attributes.get("aria-labelledby") or "").split()
            assert set(named) <= set(ids)
            assert named or attributes.get("aria-label")


def test_equal_stores_give_equal_pages(tmp_path: Path) -> None:
    pages = [render_report(make_store(tmp_path / name, ["a", "b"]), "t") for name in ("one", "two")]
    assert pages[0] == pages[1]


def test_cells_are_the_matrix(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", ["camera", "phone", "router"])
    rows, matrix = heat_rows(render_report(store)), scores_matrix(store)
    for t in range(3):
        for u in range(3):
            style, text = rows[t][u]
            if u > t:
                assert (style, text) == ("later", "")
            else:
                assert text == percent(matrix.value("accuracy", t, u))
                assert style.startswith("h")
                assert ("diagonal" in style) == (t == u)


def test_missing_cells_are_marked_and_the_bare_diagonal_explained(tmp_path: Path) -> None:
    page = render_report(make_store(tmp_path / "s", ["camera", "phone", "router"], rows="none"))
    rows = heat_rows(page)
    assert [[style for style, _ in row] for row in rows][2][:2] == ["missing", "missing"]
    assert all("diagonal" in rows[t][t][0] and rows[t][t][1] != "–" for t in range(3))
    assert "Only the diagonal is known" in page
    assert "camera was not tested after router" in page
    assert "no earlier domain was tested" in page


def test_partly_tested_store_says_how_much(tmp_path: Path) -> None:
    page = render_report(make_store(tmp_path / "s", ["a", "b", "c", "d"], rows="last"))
    assert "7 of 10 cells are known" in page
    assert 'class="stroke average gap"' in page


def test_final_scores_are_those_of_the_domains_that_were_tested_again(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", ["a", "b", "c"])
    newest = store.chain()[-1].number
    scores = store.read_scores(newest)
    del scores["a"]
    store.write_scores(newest, scores)
    matrix = scores_matrix(store)
    mean = (matrix.value("accuracy", 2, 1) + matrix.value("accuracy", 2, 2)) / 2
    page = render_report(store)
    assert re.search(rf'Accuracy, final</dt><dd class="value">{100 * mean:.1f} <small>', page)
    assert page.count("of the 2 domains tested again") == 3
    del scores["b"]
    store.write_scores(newest, scores)
    assert 'Accuracy, final</dt><dd class="value">–</dd>' in render_report(store)


def test_one_domain_leaves_out_what_needs_two(tmp_path: Path) -> None:
    page = render_report(make_store(tmp_path / "s", ["camera"], rows="none"))
    assert "Learning curve" not in page
    assert "Only the diagonal" not in page
    assert "Room in the adapters" in page


def test_method_without_masks_leaves_out_their_charts(tmp_path: Path) -> None:
    page = render_report(make_store(tmp_path / "s", ["a", "b"], measured=False))
    assert "Room in the adapters" not in page
    assert "Which domain helped which" not in page
    assert "this method does not count them" in page


def test_record_without_validation_or_test(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s", {"system": {}, "seed": 0}, {"whole/w": torch.zeros(1)})
    epoch = {"epoch": 0, "terms": {"ce": 1.0}, "best": True}
    record = {"domain": "a", "domains": ["a"], "scores": {}, "epochs": [epoch]}
    with store.lock():
        store.publish({"w": torch.ones(1)}, record, {}, "")
    page = render_report(store)
    parse(page)
    assert "No domain was tested" in page
    assert "no validation examples" in page
    assert report_numbers(store)["final"] == {"accuracy": None, "macro_f1": None, "own_f1": None}


def test_hostile_names_are_escaped_everywhere(tmp_path: Path) -> None:
    page = render_report(make_store(tmp_path / "s", ["good", HOSTILE, "javascript:alert(3)"]), title=HOSTILE)
    checker = parse(page)
    assert {"img", "script"} & {tag for tag, _ in checker.tags} == set()
    assert not any(name.startswith("on") for _, attributes in checker.tags for name in attributes)
    assert HOSTILE not in page
    assert HOSTILE in checker.text
    assert page.count("</style>") == 1


def test_store_without_domains_is_refused(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s", {"system": {}}, {"whole/w": torch.zeros(1)})
    with pytest.raises(InputError, match="learned no domain yet"):
        write_report(store, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_writing_replaces_the_file_and_refuses_impossible_places(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", ["a"])
    target = tmp_path / "r.html"
    target.write_text("old")
    write_report(store, target, "My title")
    assert '<h1 class="name">My title</h1>' in target.read_text()
    with pytest.raises(InputError, match="no folder"):
        write_report(store, tmp_path / "nowhere" / "r.html")
    with pytest.raises(InputError, match="is a folder"):
        write_report(store, tmp_path)


def test_report_needs_no_torch(tmp_path: Path) -> None:
    make_store(tmp_path / "s", ["a", "b"])
    code = (
        "import sys\nfrom classic.report.page import render_report\nfrom classic.store.store import Store\n"
        f"render_report(Store.open({str(tmp_path / 's')!r}))\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- the numbers ------------------------------------------------------------------------------------------------------


def test_diagonal_falls_back_to_the_records(tmp_path: Path) -> None:
    full = scores_matrix(make_store(tmp_path / "full", ["a", "b", "c"]))
    bare = scores_matrix(make_store(tmp_path / "bare", ["a", "b", "c"], rows="none"))
    for metric in ("accuracy", "macro_f1", "own_f1"):
        for t in range(3):
            assert bare.value(metric, t, t) == pytest.approx(full.value(metric, t, t))
        assert bare.forward(metric) == pytest.approx(full.forward(metric))
    assert str(bare.value("accuracy", 2, 0)) == "nan"


def test_numbers_are_strict_json_and_agree_with_the_matrix(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", ["a", "b", "c"])
    numbers, matrix = json.loads(json.dumps(report_numbers(store), allow_nan=False)), scores_matrix(store)
    assert numbers["domains"] == ["a", "b", "c"]
    assert numbers["final"]["macro_f1"] == matrix.final_macro_f1
    assert numbers["backward_transfer"] == matrix.backward_transfer
    gained = matrix.value("accuracy", 2, 0) - matrix.value("accuracy", 0, 0)
    assert numbers["backward_transfer_by_domain"]["accuracy"]["a"] == gained
    assert numbers["matrix"] == matrix.to_dict()
    assert numbers["sha256"] == store.digest()
    assert numbers["seconds"] == pytest.approx(31.4 * 3 + 3)


def test_the_starter_is_in_no_average_and_that_is_said(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", ["starter", "camera", "phone"])
    for version in store.chain():  # nobody has its texts to test it again with
        store.write_scores(
            version.number, {k: v for k, v in store.read_scores(version.number).items() if k != "starter"}
        )
    numbers, matrix = report_numbers(store), scores_matrix(store)
    then, now = matrix.value("accuracy", 1, 1), matrix.value("accuracy", 2, 1)
    assert (numbers["domains"], numbers["averaged"]) == (["starter", "camera", "phone"], ["camera", "phone"])
    assert numbers["final"]["accuracy"] == (now + matrix.value("accuracy", 2, 2)) / 2
    assert numbers["forgetting"] == pytest.approx(then - now)
    assert numbers["backward_transfer"] == pytest.approx(now - then)
    assert numbers["curve"]["accuracy"] == [None, then, numbers["final"]["accuracy"]]
    page = render_report(store)
    parse(page)
    assert "The starter, which this store began with, is left out" in page
    assert "domains tested again" not in page and "were not tested again" not in page
    assert len(heat_rows(page)) == 2


def test_a_newest_version_without_test_has_no_final_score(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", ["a", "b"])
    record = {"domain": "c", "domains": ["a", "b", "c"], "scores": {}}
    with store.lock():
        store.publish({"w": torch.full((2,), 9.0)}, record, {}, "")
    numbers = report_numbers(store)
    assert numbers["final"]["accuracy"] is None
    assert numbers["forgetting"] is None
    assert numbers["curve"]["accuracy"][2] is None
    parse(render_report(store))


def test_scores_of_unknown_or_later_domains_are_passed_over(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", ["a", "b"], rows="none")
    first = store.chain()[0].number
    store.write_scores(first, {"b": {"pairs": _pairs(40)}, "elsewhere": {"pairs": _pairs(40)}})
    assert scores_matrix(store).tasks == ("a", "b")
    assert str(scores_matrix(store).value("accuracy", 0, 1)) == "nan"


@pytest.mark.parametrize(
    "pairs", [None, 3, [[0, 0]], [[0, 7, 1]], [[0, 0, -1]], [[0, 0, 1.5]], [[0, 0, 10**12]], [True]]
)
def test_damaged_scores_are_refused(tmp_path: Path, pairs: Any) -> None:
    store = make_store(tmp_path / "s", ["a"], rows="none")
    store.write_scores(store.current, {"a": {"pairs": pairs}})
    with pytest.raises(StoreError, match="cannot be read"):
        scores_matrix(store)


def test_only_the_versions_in_use_are_reported(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", ["a", "b", "c"])
    store.rollback(store.chain()[1].number)
    assert report_numbers(store)["domains"] == ["a", "b"]
