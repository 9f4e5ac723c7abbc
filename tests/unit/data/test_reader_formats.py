"""What each reader understands."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from classic.data import Note, detect_format, iter_rows, read_examples, read_rows
from classic.data.readers.tables import iter_table
from classic.errors import DataError
from classic.types import Example, Polarity

POSITIVE, NEGATIVE, NEUTRAL = Polarity.POSITIVE, Polarity.NEGATIVE, Polarity.NEUTRAL


def write(tmp_path: Path, content: str | bytes) -> Path:
    file = tmp_path / "data.any"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_authors_json(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '{\n "7": {"polarity": "+", "term": "lid", "sentence": " the lid fits", "id": 7},\n'
        ' "8": {"polarity": "neutral", "term": "pan", "sentence": "a pan", "id": "8_0"}}\n',
    )
    assert detect_format(file) == "authors-json"
    rows = read_rows(file)
    assert [row.example for row in rows] == [
        Example(" the lid fits", "lid", POSITIVE),
        Example("a pan", "pan", NEUTRAL),
    ]
    assert [row.line for row in rows] == [2, 3]


def test_semeval_xml_drops_and_counts_conflicts(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '<?xml version="1.0" encoding="UTF-8"?>\n<sentences>\n<sentence id="1"><text>café &amp; lid</text>\n'
        "<aspectTerms>"
        '<aspectTerm term="lid" polarity="negative" from="7" to="10"/>\n'
        '<aspectTerm term="café" polarity="conflict" from="0" to="4"/></aspectTerms>\n'
        '<aspectCategories><aspectCategory category="food" polarity="neutral"/></aspectCategories>\n'
        "</sentence><sentence><text>nothing here</text></sentence></sentences>",
    )
    assert detect_format(file) == "semeval-xml"
    notes: list[Note] = []
    rows = read_rows(file, notes=notes)
    assert [row.example for row in rows] == [Example("café & lid", "lid", NEGATIVE, (7, 10))]
    assert (rows[0].line, notes[0].line, notes[0].kind) == (4, 5, "conflict-label")
    unlabelled = read_examples(file, labelled=False)
    assert [example.polarity for example in unlabelled] == [NEGATIVE, None]


def test_hu_liu_annotations_and_their_slips(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "*****\n[t]a title ## with marks\nlid[+2], hinge[-1][u]##The Lid fits , and the lid-less one not .\n"
        "##no aspect here\npan{+1],pot[-2}, size[cs][+1]##pan and pot and pan\n"
        "cup[-3[p]##a cup\nmug[+3]jar[+]##mug , jar\nweight+3]##weight\n"
        "fork[2], spoon##fork\n[s]##only a tag\nno separator\n",
    )
    assert detect_format(file) == "hu-liu"
    notes: list[Note] = []
    rows = read_rows(file, notes=notes)
    found = [(row.line, row.example.aspect, row.example.polarity, row.example.span) for row in rows]
    assert found == [
        (3, "lid", POSITIVE, None),
        (3, "hinge", NEGATIVE, None),
        (5, "pan", POSITIVE, None),
        (5, "pot", NEGATIVE, (8, 11)),
        (5, "size", POSITIVE, None),
        (6, "cup", NEGATIVE, (2, 5)),
        (7, "mug", POSITIVE, (0, 3)),
        (7, "jar", POSITIVE, (6, 9)),
        (8, "weight", POSITIVE, (0, 6)),
    ]
    assert [(note.line, note.kind) for note in notes] == [
        (9, "no-sign"),
        (9, "no-sign"),
        (10, "no-aspect"),
        (11, "no-separator"),
    ]
    assert [note.message for note in notes[:2]] == [
        "a feature with a strength without + or - was left out",
        "a feature with no strength was left out",
    ]


def test_hu_liu_from_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "reviews.zip", "w") as archive:
        archive.writestr("folder/lid player.txt", "[t]\r\nlid[+2]##the lid fits\r\n")
    for member in ("folder/lid player.txt", "lid player.txt"):
        assert read_examples(tmp_path / "reviews.zip" / member) == [Example("the lid fits", "lid", POSITIVE, (4, 7))]
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_csv(tmp_path: Path, delimiter: str, line_end: str) -> None:
    lines = [
        ["Review", "id", "TERM", "sentiment", "from", "to"],
        ['"a ""small"" lid' + delimiter + ' ok"', "1", "lid", "Pos", "10", "13"],
        [""],
        ['"two' + line_end + 'lines, lid; ok"', "2", "lid", "-", "", ""],
        ['5" lid', "3", "lid", " NEU ", "3", ""],
    ]
    file = write(tmp_path, b"\xef\xbb\xbf" + line_end.join(map(delimiter.join, lines)).encode())
    assert detect_format(file) == "csv"
    rows = read_rows(file)
    assert [row.example for row in rows] == [
        Example(f'a "small" lid{delimiter} ok', "lid", POSITIVE, (10, 13)),
        Example(f"two{line_end}lines, lid; ok", "lid", NEGATIVE),
        Example('5" lid', "lid", NEUTRAL, (3, 6)),
    ]
    assert [row.line for row in rows] == [2, 4, 6]


def test_jsonl(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '{"meta": {"a": 1}, "text": "a lid", "term": "lid", "label": "neu", "from": 2}\n\n'
        '{"sentence": "a pan, a lid", "aspects": [{"aspect": "pan", "polarity": "+"}, '
        '{"aspect": "lid", "polarity": "neg", "start": 9, "end": 12}]}\r\n',
    )
    assert detect_format(file) == "jsonl"
    rows = read_rows(file)
    assert [(row.example, row.line) for row in rows] == [
        (Example("a lid", "lid", NEUTRAL, (2, 5)), 1),
        (Example("a pan, a lid", "pan", POSITIVE), 3),
        (Example("a pan, a lid", "lid", NEGATIVE, (9, 12)), 3),
    ]


def test_a_json_list(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '[\n  {"text": "a lid", "term": "lid", "label": "neu", "id": 7},\n'
        '  {"sentence": "a pan, a lid",\n   "aspects": [{"aspect": "pan", "polarity": "+"}]}\n]\n',
    )
    assert detect_format(file) == "json-list"
    rows = read_rows(file)
    assert [(row.example, row.line) for row in rows] == [
        (Example("a lid", "lid", NEUTRAL), 2),
        (Example("a pan, a lid", "pan", POSITIVE), 3),
    ]
    assert rows[0].fields["id"] == 7
    assert read_rows(write(tmp_path, "[ ]")) == []


def test_pyabsa(tmp_path: Path) -> None:
    file = write(tmp_path, "the $T$ fits\nlid \n1\n\na $T$\npan\nNegative\nmy $T$\npot\n0\n")
    assert detect_format(file) == "pyabsa"
    rows = read_rows(file)
    assert [(row.example, row.line) for row in rows] == [
        (Example("the lid fits", "lid", POSITIVE, (4, 7)), 1),
        (Example("a pan", "pan", NEGATIVE, (2, 5)), 5),
        (Example("my pot", "pot", NEUTRAL, (3, 6)), 8),
    ]
    assert read_examples(write(tmp_path, "the $T$\nlid\n-100\n"), labelled=False)[0].polarity is None


def test_parquet(tmp_path: Path) -> None:
    file = tmp_path / "data.any"
    columns = {
        "label": ["+", "negative"],
        "id": [1, 2],
        "text": ["a lid", "a pan"],
        "term": ["lid", "pan"],
        "start": [2, None],
    }
    pq.write_table(pa.table(columns), file)
    assert detect_format(file) == "parquet"
    assert read_examples(file) == [Example("a lid", "lid", POSITIVE, (2, 5)), Example("a pan", "pan", NEGATIVE)]
    pq.write_table(pa.table({**columns, "label": ["+", "fine"]}), file)
    with pytest.raises(DataError) as caught:
        read_examples(file)
    assert (caught.value.line, caught.value.column) == (2, 1)


@pytest.mark.parametrize(
    "content",
    [
        "sentence,aspect\na lid,lid\n",
        "sentence,aspect,polarity\na lid,lid,\n",
        '{"sentence": "a lid", "aspect": "lid"}\n',
    ],
)
def test_prediction_needs_no_polarity(tmp_path: Path, content: str) -> None:
    file = write(tmp_path, content)
    assert read_examples(file, labelled=False) == [Example("a lid", "lid")]
    with pytest.raises(DataError):
        read_examples(file)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_streaming_stops_where_it_is_told(tmp_path: Path, kind: str) -> None:
    """Rows come before the end of the file is read: an error behind them has not been met yet."""
    if kind == "csv":
        file = write(tmp_path, "sentence,aspect,polarity\na lid,lid,+\nbroken\n")
    else:
        file = write(tmp_path, json.dumps({"sentence": "a lid", "aspect": "lid", "polarity": "+"}) + "\nbroken\n")
    rows = iter_rows(file)
    assert next(rows).line == (2 if kind == "csv" else 1)
    with pytest.raises(DataError):
        next(rows)


def test_importing_the_package_is_light() -> None:
    heavy = ("torch", "transformers", "pyarrow", "numpy", "rich")
    code = f"import sys, classic.data, classic.evaluation; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_mark_may_stand_twice(tmp_path: Path) -> None:
    """368 of the 6,248 blocks of the well-known Twitter set are like this."""
    file = write(tmp_path, "$T$ is not the old $T$\nlid\n-1\n")
    assert read_examples(file) == [Example("lid is not the old lid", "lid", NEGATIVE)]


def test_authors_json_may_be_wrapped(tmp_path: Path) -> None:
    row = '{"polarity": "+", "term": "lid", "sentence": "a lid", "id": 3}'
    for content in (
        f'{{"data": {{"0": {row}, "1": {row}}}}}',
        f'{{"meta": {{"a": 1}},\n"data": {{"0": {row}, "1": {row}}}}}',
    ):
        rows = read_rows(write(tmp_path, content))
        assert [row.example for row in rows] == [Example("a lid", "lid", POSITIVE)] * 2
        assert rows[0].fields["id"] == 3


def test_semeval_2015_and_2016_xml(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '<?xml version="1.0"?>\n<Reviews><Review rid="1"><sentences>\n'
        '<sentence id="1:0"><text>the lid fits</text><Opinions>\n'
        '<Opinion target="lid" category="POT#QUALITY" polarity="positive" from="4" to="7"/>\n'
        '<Opinion target="NULL" category="POT#GENERAL" polarity="negative" from="0" to="0"/>\n'
        '</Opinions></sentence>\n<sentence id="1:1" OutOfScope="TRUE"><text>hm</text></sentence>\n'
        "</sentences></Review></Reviews>",
    )
    assert detect_format(file) == "semeval-xml"
    notes: list[Note] = []
    rows = read_rows(file, notes=notes)
    assert [row.example for row in rows] == [Example("the lid fits", "lid", POSITIVE, (4, 7))]
    assert (rows[0].fields["id"], rows[0].fields["category"]) == ("1:0", "POT#QUALITY")
    assert [(note.kind, note.line) for note in notes] == [("no-target", 5)]
    assert len(read_examples(file, labelled=False)) == 1


def test_triplets(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "the pot lid  fits well####[([1, 2], [3], 'POS'), ([1, 2], [4], 'POS'), ([0], [3], 'NEU')]\n\n"
        "a lid####[([1], [0], 'NEG'), ([1], [0], 'POS')]\n",
    )
    assert detect_format(file) == "tuples"
    notes: list[Note] = []
    assert [row.example for row in read_rows(file, notes=notes)] == [
        Example("the pot lid  fits well", "pot lid", POSITIVE, (4, 11)),
        Example("the pot lid  fits well", "the", NEUTRAL, (0, 3)),
    ]
    assert [(note.kind, note.line) for note in notes] == [("conflict-label", 3)]


def test_quadruplets(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "The lid fits####[['lid', 'pot quality', 'positive', 'fits'], ['NULL', 'pot general', 'negative', 'NULL']]\n",
    )
    notes: list[Note] = []
    assert [row.example for row in read_rows(file, notes=notes)] == [Example("The lid fits", "lid", POSITIVE)]
    assert [note.kind for note in notes] == ["no-target"]


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        [],
        ["ID", "Review", "Term", "Label", "from"],
        [7, "a lid", "lid", "pos", 2],
        [],
        [8, "a pan", "pan", "-", None],
    ):
        book.active.append(row)
    book.create_sheet("other").append(["nothing"])
    file = tmp_path / "data.any"
    book.save(file)
    assert detect_format(file) == "excel"
    rows = read_rows(file)
    assert [(row.example, row.line) for row in rows] == [
        (Example("a lid", "lid", POSITIVE, (2, 5)), 3),
        (Example("a pan", "pan", NEGATIVE), 5),
    ]
    assert rows[0].fields == {"ID": 7, "Review": "a lid", "Term": "lid", "Label": "pos", "from": 2}
    book.active["D5"] = "so"
    book.save(file)
    with pytest.raises(DataError) as caught:
        read_rows(file)
    assert (caught.value.line, caught.value.column) == (5, 4)


def test_all_rows_of_a_table_with_too_many_cells_are_told(tmp_path: Path) -> None:
    file = write(tmp_path, "id;review\n1;good lid\n2;bad; sad\n3;good pan\n4\n")
    with pytest.raises(DataError, match="2 rows cannot be used") as caught:
        list(iter_table(file))
    assert "line 3:7: a row with 3 cells" in str(caught.value) and "line 5:1: a row with 1 cell" in str(caught.value)


@pytest.mark.parametrize("sized", [True, False])
def test_a_filled_column_without_a_name_comes_back_from_excel_by_its_letter(tmp_path: Path, sized: bool) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook(write_only=not sized)  # which does not write how large the sheet is
    sheet = book.active if sized else book.create_sheet()
    for row in (["sentence", None, "aspect", ""], ["a lid", 5, "lid", None], ["a pan", None, "pan", None, "seen"]):
        sheet.append(row)
    file = tmp_path / "data.xlsx"
    book.save(file)
    first, second = ({"sentence": "a lid", "column_B": 5, "aspect": "lid"}, {"sentence": "a pan", "aspect": "pan"})
    expected = [first, second | {"column_E": "seen"}]
    assert [row.fields for row in read_rows(file, labelled=False)] == expected
    assert [fields for _, fields in iter_table(file)] == expected


@pytest.mark.parametrize(
    ("rows", "header", "lines"),
    [
        ([["Export of May"], [], ["shop 7"], ["review", "stars"], ["a lid", 5], ["a pan", 4]], 4, [5, 6]),
        ([["review"], ["a lid"], ["a pan", "seen"], ["a pot"]], 1, [2, 3, 4]),
        ([["opinion"], ["a lid"], ["a pan", "seen"], ["a pot"], ["a cup"]], 1, [2, 3, 4, 5]),
        ([["review"], ["a lid", 5], ["a pan", 4]], 1, [2, 3]),
    ],
)
def test_titles_above_a_table_of_excel_are_no_header(
    tmp_path: Path, rows: list[list[object]], header: int, lines: list[int]
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "data.xlsx")
    found = list(iter_table(tmp_path / "data.xlsx"))
    assert [line for line, _ in found] == lines
    assert next(iter(found[0][1])) == rows[header - 1][0]


def test_a_workbook_that_is_wrong_about_its_size_is_read_whole(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["sentence", "aspect"])
    book.active.append(["a lid", "lid"])
    book.save(tmp_path / "right.xlsx")
    with zipfile.ZipFile(tmp_path / "right.xlsx") as right, zipfile.ZipFile(tmp_path / "wrong.xlsx", "w") as wrong:
        for member in right.namelist():
            wrong.writestr(member, right.read(member).replace(b'<dimension ref="A1:B2"', b'<dimension ref="A1"'))
    assert [row.example for row in read_rows(tmp_path / "wrong.xlsx", labelled=False)] == [Example("a lid", "lid")]


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with zipfile.ZipFile(tmp_path / "data.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook>")
    with pytest.raises(DataError, match="not a readable Excel workbook"):
        read_rows(tmp_path / "data.xlsx")


def test_jsonl_aspects_may_be_terms(tmp_path: Path) -> None:
    file = write(tmp_path, '{"id": 4, "sentence": "a lid, a pan", "aspects": ["lid", "pan"]}\n')
    rows = read_rows(file, labelled=False)
    assert [row.example for row in rows] == [Example("a lid, a pan", "lid"), Example("a lid, a pan", "pan")]
    assert rows[1].fields == {"id": 4, "sentence": "a lid, a pan", "aspect": "pan"}
    with pytest.raises(DataError, match="no field for the polarity"):
        read_rows(file)


def test_jsonl_a_name_beside_and_inside_the_aspects_hides_nothing(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '{"id": 4, "text": "The lid. The pan.", "aspects": [{"id": 9, "aspect": "lid", "text": "The lid."}, "pan"]}\n',
    )
    first, second = read_rows(file, labelled=False)
    assert first.example == Example("The lid.", "lid") and second.example == Example("The lid. The pan.", "pan")
    assert first.fields == {
        "id": 4,
        "aspect_id": 9,
        "aspect": "lid",
        "text": "The lid.",
        "input_text": "The lid. The pan.",
    }
    assert second.fields == {"id": 4, "text": "The lid. The pan.", "aspect": "pan"}


def test_a_label_that_nobody_needs_stops_nobody(tmp_path: Path) -> None:
    file = write(tmp_path, "sentence,aspect,label\na lid,lid,5\na pan,pan,neg\n")
    rows = list(iter_rows(file, labelled=False))
    assert [row.example.polarity for row in rows] == [None, NEGATIVE]
    assert rows[0].fields["label"] == "5"
    with pytest.raises(DataError, match="unknown label '5'"):
        read_rows(file)
