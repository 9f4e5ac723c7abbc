"""Tables are a function of the result files: numbers computed by hand, missing cells, marks, every format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from result_files import write_result

from classic.benchmark.runs.outside import load
from classic.benchmark.runs.suites import TABLES, Selection
from classic.benchmark.tables.rendering import FORMATS, escape_latex, plain, put_between_marks, render
from classic.benchmark.tables.table import Table, make_table
from classic.errors import InputError
from classic.systems.system import METHODS

CLASSIC, NCL, DERPP, EWC = (f"{method}@bert_adapter" for method in ("classic", "ncl", "derpp", "ewc"))
FOUR = Selection(systems=(NCL, DERPP, EWC, CLASSIC), orders=(0, 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """CLASSIC and NCL on two orders, DER++ on one, EWC on none; two tasks."""
    write_result(tmp_path, f"{CLASSIC}/dil", [(0.8, 0.9), (0.8, 0.8)], order=0, macro_f1=[(0.7, 0.7), (0.6, 0.6)])
    write_result(tmp_path, f"{CLASSIC}/dil", [(0.7, 0.8), (0.6, 0.6)], order=1, macro_f1=[(0.5, 0.5), (0.4, 0.4)])
    write_result(tmp_path, f"{NCL}/dil", [(0.9, 0.7), (0.65, 0.65)], order=0)
    write_result(tmp_path, f"{NCL}/dil", [(0.9, 0.69), (0.5, 0.5)], order=1)
    write_result(tmp_path, f"{DERPP}/dil", [(0.9, 0.95), (0.9, 0.9)], order=0)
    return tmp_path


def cells(table: Table, label: str) -> list[str]:
    return next([cell.text for cell in line.cells] for line in table.lines if line.cells[0].text == label)


def labels(table: Table) -> list[str]:
    return [line.cells[0].text for line in table.lines]


GOLDEN = """\
**The paper's main table: domain after domain, nobody says the domain (DIL)**

| system | backbone | accuracy | macro-F1 | own F1 | paper acc. | paper F1 | Δ acc. | Δ F1 | p acc. | p own | runs |
| :-- | :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
| NCL | bert_adapter | 0.6350 ± 0.0566 | 0.6350 ± 0.0566 | 0.6350 ± 0.0566 | 0.8667 | 0.7804 | −0.2317 | −0.1454 | 1.000 | 1.000 | 2 of 2 |
| DER++ | bert_adapter | **0.9250** | **0.9250** | **0.9250** | 0.8859 | 0.7985 | +0.0391 | +0.1265 | 1.000 | 1.000 | 1 of 2 |
| EWC | bert_adapter | — | — | — | 0.8805 | 0.7875 | — | — | — | — | 0 of 2 |
| CLASSIC | bert_adapter | 0.7750 ± 0.1061 | 0.5500 ± 0.1414 | 0.5500 ± 0.1414 | 0.9022 | 0.8512 | −0.1272 | −0.3012 |  |  | 2 of 2 |
| CLASSIC (forward) | bert_adapter | 0.7250 ± 0.1061 | 0.5500 ± 0.1414 | 0.5500 ± 0.1414 | 0.8886 | 0.8365 | −0.1636 | −0.2865 |  |  | 2 of 2 |
"""  # noqa: E501


def test_the_main_table_by_hand(folder: Path) -> None:
    """CLASSIC: orders 0.85 and 0.70. NCL: 0.675 and 0.595. Two tasks are two pairs of one sign: p = 2/4; of two, doubled."""
    text = render(make_table("main", FOUR, folder), "markdown")
    found, notes = text.split("\n\n- 5 of 8 runs")
    assert f"{found}\n" == GOLDEN
    assert "order 0–1, seed 0; 2 tasks; over minilm" in notes
    assert "budget quick (few passes; trained longer, systems come in another order)" in notes
    assert "classic bench table main --systems" in notes


def test_who_trains_on_all_data_at_once_is_never_the_best_continual_learner(folder: Path) -> None:
    for name in ("joint@bert_adapter", "joint@bert", "retrain@bert_adapter"):
        write_result(folder, f"{name}/dil", [(1.0, 1.0), (1.0, 1.0)])
        chosen = Selection(systems=(DERPP, name), orders=(0,))
        table = make_table("main", chosen, folder)
        best = [(line.cells[0].text, line.section) for line in table.lines if any(cell.bold for cell in line.cells)]
        assert best == [("DER++", "bert_adapter")]
        assert {line.section for line in table.lines} == {"bert_adapter", "upper bound"}


def test_one_run_alone_has_no_deviation_and_no_run_no_number(folder: Path) -> None:
    table = make_table("main", FOUR, folder)
    assert "±" not in cells(table, "DER++")[2]
    assert cells(table, "EWC")[2:5] == ["—"] * 3
    assert cells(table, "EWC")[-1] == "0 of 2"


def test_several_seeds_of_an_order_count_once(tmp_path: Path) -> None:
    for seed, score in ((0, 0.5), (1, 0.7)):
        write_result(tmp_path, f"{CLASSIC}/dil", [(score, score)], seed=seed)
    write_result(tmp_path, f"{CLASSIC}/dil", [(0.8, 0.8)], order=1)
    chosen = Selection(systems=(CLASSIC,), orders=(0, 1), seeds=(0, 1))
    # Orders 0.6 and 0.8, not the three runs.
    assert cells(make_table("main", chosen, tmp_path), "CLASSIC")[2] == "0.7000 ± 0.1414"
    assert cells(make_table("main", chosen, tmp_path), "CLASSIC")[-1] == "3 of 4"


def test_one_comes_from_its_til_run_in_both_tables(tmp_path: Path) -> None:
    write_result(tmp_path, "one@bert_adapter/til", [(0.75, 0.75)])
    for name in ("main", "til"):
        table = make_table(name, Selection(backbone="bert_adapter"), tmp_path)
        assert cells(table, "ONE")[2] == "0.7500"


def test_classic_is_tested_against_even_where_it_is_not_shown(folder: Path) -> None:
    table = make_table("main", Selection(systems=(NCL,), orders=(0, 1)), folder)
    assert labels(table) == ["NCL"]
    assert cells(table, "NCL")[-3] == "0.500"  # one test alone needs no correction


def test_a_pair_is_a_task_however_many_orders_it_was_asked_in(tmp_path: Path) -> None:
    """Four tasks, all worse on the mean over orders: p = 2/16 with one order and with three."""
    for system, scores in ((CLASSIC, (0.9, 0.8, 0.7, 0.6)), (NCL, (0.8, 0.75, 0.5, 0.59))):
        for order in range(3):
            moved = [score + 0.2 * (order - 1) * (place == 3) for place, score in enumerate(scores)]
            write_result(
                tmp_path, f"{system}/dil", [(0.5, each) for each in moved], order=order, tasks=["a", "b", "c", "d"]
            )
    for orders in ((1,), (0, 1, 2)):
        table = make_table("main", Selection(systems=(NCL,), orders=orders), tmp_path)
        assert cells(table, "NCL")[-3] == "0.125"


def test_the_newest_file_answers(folder: Path) -> None:
    write_result(folder, f"{DERPP}/dil", [(0.1, 0.1), (0.3, 0.3)], finished="2026-02-01T00:00:00Z")
    write_result(folder, f"{DERPP}/dil", [(0.0, 0.0), (0.0, 0.0)], finished="2025-02-01T00:00:00Z")
    assert cells(make_table("main", FOUR, folder), "DER++")[2] == "0.2000"


def test_other_choices_do_not_answer(folder: Path) -> None:
    for spec in ({"budget": "full"}, {"first": 1}, {"valid": True}, {"changes": {"train.epochs": 1}}):
        write_result(folder, f"{EWC}/dil", [(0.5, 0.5)], spec=spec, name=f"{spec}.json".replace("/", ""))
    assert cells(make_table("main", FOUR, folder), "EWC")[-1] == "0 of 2"
    other = Selection(systems=(EWC,), budget="full")
    assert cells(make_table("main", other, folder), "EWC")[-1] == "1 of 1"


def test_what_to_be_wary_of_is_marked(tmp_path: Path) -> None:
    for system in (NCL, DERPP):
        write_result(tmp_path, f"{system}/dil", [(0.5, 0.5)])
    write_result(tmp_path, f"{EWC}/dil", [(0.5, 0.5)], determined_by={"versions": {"loop": 0}}, dirty=True)
    elsewhere = {"surroundings": {"machine": "arm64", "cpu": "DEFAULT"}, "data": ["another hash"]}
    write_result(tmp_path, f"{CLASSIC}/dil", [(0.5, 0.5)], determined_by=elsewhere)
    table = make_table("main", Selection(systems=(NCL, DERPP, EWC, CLASSIC)), tmp_path)
    assert labels(table) == ["NCL", "DER++", "EWC†‡", "CLASSIC§¶", "CLASSIC (forward)§¶"]
    for mark in "†‡§¶":
        assert any(note.startswith(f"{mark}:") for note in table.notes)


def test_other_settings_are_marked_as_other_code_is(tmp_path: Path) -> None:
    path = write_result(tmp_path, f"{NCL}/dil", [(0.5, 0.5)])
    assert labels(make_table("main", Selection(systems=(NCL,)), tmp_path)) == ["NCL"]
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'"learning_rate": [0-9.e-]+', '"learning_rate": 0.5', text), encoding="utf-8")
    table = make_table("main", Selection(systems=(NCL,)), tmp_path)
    assert labels(table) == ["NCL†"]
    assert not any(note.startswith("‡") for note in table.notes)


def test_the_precision_a_machine_chose_is_no_other_code(tmp_path: Path) -> None:
    path = write_result(tmp_path, f"{NCL}/dil", [(0.5, 0.5)])
    text = path.read_text(encoding="utf-8")
    for precision in ("float32", "bfloat16"):  # one of them is not what this machine would choose
        path.write_text(re.sub(r'"precision": "\w+"', f'"precision": "{precision}"', text), encoding="utf-8")
        assert labels(make_table("main", Selection(systems=(NCL,)), tmp_path)) == ["NCL"]


def test_short_keeps_adapters_and_the_best_of_every_other_backbone(tmp_path: Path) -> None:
    for system, score in (("ncl@w2v", 0.6), ("owm@w2v", 0.7), ("one@w2v", 0.9), ("ncl@bert_frozen", 0.5)):
        scenario = "til" if system.startswith("one") else "dil"
        write_result(tmp_path, f"{system}/{scenario}", [(score, score)])
    table = make_table("main", Selection(), tmp_path, short=True)
    others = [[cell.text for cell in line.cells[:2]] for line in table.lines if line.cells[1].text != "bert_adapter"]
    assert others == [["NCL", "bert_frozen"], ["OWM", "w2v"]]
    assert {"ONE", "CLASSIC", "CLASSIC (forward)", "Joint", "UCL"} <= set(labels(table))
    with pytest.raises(InputError, match="no short form"):
        make_table("cost", Selection(), tmp_path, short=True)


def test_std_stands_beside_the_papers(tmp_path: Path) -> None:
    for seed, score in enumerate((0.5, 0.7, 0.6)):
        write_result(tmp_path, f"{CLASSIC}/dil", [(score, score)], seed=seed)
    found = cells(make_table("std", Selection(), tmp_path), "CLASSIC")
    assert found[2:] == ["0.6000", "0.1000", "0.0048", "0.6000", "0.1000", "0.0101", "0.6000", "0.1000", "3 of 5"]


def test_cost_is_measured_and_counted(folder: Path) -> None:
    table = make_table("cost", Selection(systems=(CLASSIC, EWC, "hat+last@w2v")), folder)
    assert cells(table, "CLASSIC")[2:] == [
        "184.5 M",
        "185.2 M",
        "2.0",
        "900",
        "1.5 GiB",
        "1.0 KiB",
        "2.0 KiB",
        "1 of 1",
    ]
    assert cells(table, "EWC")[2:] == ["183.3 M", "183.3 M", "—", "840", "—", "—", "—", "0 of 1"]
    assert cells(table, "HAT + last")[3] == "6.4 M"  # the paper prints HAT's


def test_search_lists_trials_best_first(tmp_path: Path) -> None:
    for value, score in ((0.5, 0.6), (1.0, 0.8)):
        changes = {"method.temperature": value, "train.batch_size": 32}
        spec = {"valid": True, "changes": changes}
        write_result(tmp_path, f"{CLASSIC}/dil", [(score, score)], spec=spec, name=f"trial {value}.json")
    write_result(tmp_path, f"{CLASSIC}/dil", [(0.9, 0.9)])  # no trial
    write_result(tmp_path, f"{CLASSIC}/dil", [(0.7, 0.7)], spec={"valid": True}, name="as the budget has it.json")
    table = make_table("search", Selection(), tmp_path)
    assert [column.title for column in table.columns][1:3] == ["temperature", "batch_size"]
    assert [[cell.text for cell in line.cells[1:4]] for line in table.lines] == [
        ["1.0", "32", "0.8000"],
        ["—", "—", "0.7000"],
        ["0.5", "32", "0.6000"],
    ]
    assert table.lines[0].cells[-1].text == "validation"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", TABLES)
def test_every_table_renders_in_every_format_with_and_without_results(name: str, form: str, folder: Path) -> None:
    chosen = Selection(systems=() if name in ("til", "search") else (CLASSIC, NCL))
    text = render(make_table(name, chosen, folder), form)
    assert text.endswith("\n")
    assert "classic bench table" in text
    empty = render(make_table(name, chosen, folder / "nothing here"), form)
    if name != "search":
        assert ("---" if form == "latex" else "—") in empty
        assert "CLASSIC" in empty


def test_equal_files_give_equal_bytes_whatever_they_are_called(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    for number, path in enumerate(sorted(folder.iterdir(), reverse=True)):
        (other / f"{number}.json").write_bytes(path.read_bytes())
    for form in FORMATS:
        assert render(make_table("main", FOUR, folder), form) == render(make_table("main", FOUR, other), form)


def test_terminal_colours_can_be_taken_off(folder: Path) -> None:
    text = render(make_table("main", FOUR, folder), "terminal")
    assert "\x1b[1m" in text
    assert "\x1b" not in plain(text)
    assert max(len(line) for line in plain(text).splitlines()[:12]) < 170


def test_latex_escapes_what_latex_would_read() -> None:
    assert escape_latex("a_b & 5% ± −1 {#$} ~^\\ †") == (
        r"a\_b \& 5\% $\pm$ $-$1 \{\#\$\} \textasciitilde{}\textasciicircum{}\textbackslash{} $^\dagger$"
    )


def test_latex_rules_and_bold(folder: Path) -> None:
    text = render(make_table("main", FOUR, folder), "latex")
    assert r"\textbf{0.9250}" in text
    assert r"DER++ & bert\_adapter" in text
    assert text.count(r"\midrule") == 3  # below the head, after NCL, before CLASSIC
    assert "_" not in text.replace(r"\_", "").partition(r"\end{table*}")[0]


def test_html_escapes_and_says_its_language(folder: Path) -> None:
    page = render(make_table("main", FOUR, folder), "html")
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert "The paper&#x27;s main table" in page
    assert page.count("<tr") == 6


def test_a_page_gets_the_table_between_its_marks() -> None:
    page = "a\n<!-- results:begin -->\nold\n<!-- results:end -->\nb\n"
    new = put_between_marks(page, "new\n", "README.md", "results")
    assert new == "a\n<!-- results:begin -->\nnew\n<!-- results:end -->\nb\n"
    assert put_between_marks(new, "new\n", "README.md", "results") == new
    with pytest.raises(InputError, match=r"README\.md does not have the two marks"):
        put_between_marks("nothing", "new", "README.md", "results")


def test_a_name_that_is_no_table_or_format_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="mian"):
        make_table("mian", Selection(), folder)
    with pytest.raises(InputError, match="markdwon"):
        render(make_table("main", FOUR, folder), "markdwon")


def test_a_method_from_a_file_of_ones_own_has_its_row_wherever_the_file_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from classic.methods.ncl import Ncl, NclConfig\nfrom classic.model import Model\n\n\n"
        "class Tabled(Ncl):\n"
        "    def __init__(self, model: Model, config: NclConfig) -> None:\n        super().__init__(model, config)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr("classic.systems.system.METHODS", dict(METHODS))
    load([f"{file}:Tabled"])
    write_result(
        tmp_path / "results", "tabled@bert_adapter/dil", [(0.5, 0.5)], spec={"outside": "elsewhere/mine.py:Tabled"}
    )
    table = make_table("main", Selection(systems=(f"{file}:Tabled@bert_adapter",)), tmp_path / "results")
    assert [cell.text for cell in table.lines[0].cells[:3]] == ["TABLED", "bert_adapter", "0.5000"]


def test_another_encoder_is_asked_for_by_its_name_or_its_folder_and_stays_out_of_other_tables(
    tmp_path: Path, tiny_encoder: Path
) -> None:
    write_result(tmp_path, "ncl@bert_adapter/dil", [(0.5, 0.5)], spec={"encoder": tiny_encoder.name, "first": 1})
    systems = ("ncl@bert_adapter",)
    for encoder in (tiny_encoder.name, str(tiny_encoder)):
        table = make_table("main", Selection(systems=systems, first=1, encoder=encoder), tmp_path)
        assert [cell.text for cell in table.lines[0].cells[:3]] == ["NCL", "bert_adapter", "0.5000"]
        assert table.command.endswith(f"--encoder {tiny_encoder.name}")
    for other in (None, "minilm"):
        table = make_table("main", Selection(systems=systems, first=1, encoder=other), tmp_path)
        assert table.lines[0].cells[2].text == "—"


def test_a_table_without_adapters_is_tested_against_the_classic_it_shows(tmp_path: Path) -> None:
    """It was tested against a row that nobody saw, and its own CLASSIC got a p."""
    write_result(tmp_path, "classic@bert_adapter/dil", [(0.1, 0.1)] * 3)
    write_result(tmp_path, "classic@bert/dil", [(0.9, 0.9)] * 3)
    write_result(tmp_path, "ncl@bert/dil", [(0.9, 0.9)] * 3)
    table = make_table("main", Selection(systems=("ncl@bert", "classic@bert")), tmp_path)
    place = [column.title for column in table.columns].index("p acc.")
    assert {line.cells[0].text: line.cells[place].text for line in table.lines} == {
        "NCL": "1.000",
        "CLASSIC": "",
        "CLASSIC (forward)": "",
    }
    both = Selection(systems=("ncl@bert", "classic@bert", "classic@bert_adapter"))
    assert [line.cells[place].text for line in make_table("main", both, tmp_path).lines] == ["0.500", "0.500", "", ""]
