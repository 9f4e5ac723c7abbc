"""Tables whose columns have names of their own: somebody says which is which, and what stars mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from classic.data import Columns, check, iter_rows, load_task, read_examples
from classic.data.readers.tables import iter_table
from classic.errors import DataError, InputError
from classic.types import Example, Polarity

NAMES = ("Comment", "feature", "stars")
ROWS = [("the lens is sharp", "lens", 5), ("the menu is a maze", "menu", 1), ("the bag is a bag", "bag", 3)]
TOLD = Columns({"sentence": "comment", "aspect": "feature", "polarity": "stars"}, stars=(2, 4))
EXPECTED = [
    Example("the lens is sharp", "lens", Polarity.POSITIVE),
    Example("the menu is a maze", "menu", Polarity.NEGATIVE),
    Example("the bag is a bag", "bag", Polarity.NEUTRAL),
]


def write(folder: Path, ending: str) -> Path:
    file = folder / f"shop.{ending}"
    if ending == "xlsx":
        book = openpyxl.Workbook()
        for row in (NAMES, *ROWS):
            book.active.append(row)
        book.save(file)
    elif ending == "parquet":
        pq.write_table(pa.table(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True))), file)
    else:
        delimiter = {"csv": ";", "tsv": "\t"}[ending]
        file.write_text("".join(delimiter.join(map(str, row)) + "\n" for row in (NAMES, *ROWS)))
    return file


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "parquet"])
def test_named_columns_are_read_from_every_table(tmp_path: Path, ending: str) -> None:
    file = write(tmp_path, ending)
    with pytest.raises(DataError, match="no field for the sentence"):
        read_examples(file)
    assert read_examples(file, columns=TOLD) == EXPECTED
    with pytest.raises(DataError, match="unknown label"):
        read_examples(file, columns=Columns(TOLD.names))


def test_tasks_and_checks_read_them_too(tmp_path: Path) -> None:
    file = write(tmp_path, "csv")
    task = load_task("shop", file, columns=TOLD)
    assert sorted(e.aspect for e in task.train + task.valid + task.test) == ["bag", "lens", "menu"]
    (count,) = check(file, columns=TOLD).counts
    assert (count.positive, count.negative, count.neutral) == (1, 1, 1)
    (tmp_path / "splits").mkdir()
    file.rename(tmp_path / "splits" / "train.csv")
    assert list(load_task("shop", tmp_path / "splits", columns=TOLD).train) == EXPECTED


def test_a_named_column_comes_before_a_known_name(tmp_path: Path) -> None:
    file = tmp_path / "two.csv"
    file.write_text("text,review,aspect,label\nshort,the lens is sharp,lens,positive\n")
    with pytest.raises(DataError, match="second field for the sentence"):
        read_examples(file)
    assert read_examples(file, columns=Columns({"sentence": "review"}))[0].sentence == "the lens is sharp"
    swapped = Columns({"sentence": "label", "polarity": "text"})  # a known name may stand for another field
    file.write_text("text,aspect,label\nnegative,lens,the lens is blunt\n")
    assert read_examples(file, columns=swapped) == [Example("the lens is blunt", "lens", Polarity.NEGATIVE)]


def test_a_cell_that_looks_like_an_annotation_does_not_hide_a_named_table(tmp_path: Path) -> None:
    file = tmp_path / "odd.csv"
    file.write_text("Comment;feature\nlens[+2]##a sharp lens;lens\n")
    told = Columns({"sentence": "comment", "aspect": "feature"})
    assert read_examples(file, labelled=False, columns=told)[0].aspect == "lens"


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column 'featur', which was named for the aspect") as caught:
        read_examples(write(tmp_path, "csv"), columns=Columns({"aspect": "featur"}))
    assert "'Comment', 'feature', 'stars'" in str(caught.value) and caught.value.line == 1


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_the_second_of_two_equal_names_gets_a_number(tmp_path: Path, ending: str) -> None:
    names, row = ["sentence", "aspect", "note", "note"], ["a lid", "lid", "first", "second"]
    file = tmp_path / f"twice.{ending}"
    if ending == "xlsx":
        book = openpyxl.Workbook()
        book.active.append(names)
        book.active.append(row)
        book.save(file)
    elif ending == "parquet":
        pq.write_table(pa.Table.from_arrays([pa.array([cell]) for cell in row], names=names), file)
    else:
        file.write_text(f"{','.join(names)}\n{','.join(row)}\n")
    (read,) = iter_rows(file, False)
    (listed,) = (fields for _, fields in iter_table(file))
    assert read.fields == listed == dict(zip([*names[:3], "note_2"], row, strict=True))


def test_a_header_of_other_names_is_listed_with_what_to_say(tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    file.write_text("Bewertung ID;Review Text;Feature;Stars\n1;the lens is sharp;lens;5\n")
    with pytest.raises(DataError, match="no field for the sentence; the first line has no known name") as caught:
        read_examples(file)
    assert "there are 'Bewertung ID', 'Review Text', 'Feature', 'Stars'" in caught.value.expected
    assert caught.value.fix.endswith("--column sentence=NAME --column aspect=NAME --column polarity=NAME")
    file.write_text("sentence;Feature;polarity\nthe lens is sharp;lens;positive\n")
    with pytest.raises(DataError, match="no field for the aspect among 3 columns") as caught:
        read_examples(file)
    assert caught.value.fix.endswith("which is which: --column aspect=NAME")


@pytest.mark.parametrize(("cell", "said"), [("", "the rating is missing"), ("n/a", "unknown rating 'n/a'")])
def test_a_cell_without_stars_asks_for_a_number(tmp_path: Path, cell: str, said: str) -> None:
    file = tmp_path / "shop.csv"
    file.write_text(f"Comment;feature;stars\nthe lens is sharp;lens;neutral\nthe bag is a bag;bag;{cell}\n")
    with pytest.raises(DataError, match=said) as caught:
        read_examples(file, columns=TOLD)
    assert caught.value.line == 3 and "a number" in caught.value.expected and "positive" not in str(caught.value)
    assert read_examples(file, labelled=False, columns=TOLD)[1].polarity is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("read", [read_examples, lambda file: list(iter_table(file))])
def test_unicode_text_of_a_spreadsheet_is_told_how_to_convert_it(
    tmp_path: Path, encoding: str, read: Callable[[Path], object]
) -> None:
    file = tmp_path / "unicode.txt"
    file.write_bytes("\ufeffsentence\taspect\tpolarity\na lid\tlid\tpositive\n".encode(encoding))
    with pytest.raises(DataError, match="encoded as UTF-16") as caught:
        read(file)
    assert "iconv -f utf-16 -t utf-8" in caught.value.fix


def test_curly_quotes_of_windows_are_told_how_they_become_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "windows.csv"
    file.write_bytes("review\n“fine”\n".encode("cp1252"))
    with pytest.raises(DataError, match="0x93") as caught:
        list(iter_table(file))
    assert "CSV UTF-8" in caught.value.fix and "iconv -f windows-1252" in caught.value.fix


def test_what_has_no_columns_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"sentence": "the lens is sharp", "aspect": "lens", "polarity": "positive"}\n')
    with pytest.raises(DataError, match=r"columns were named, but this file \(jsonl\) has none"):
        read_examples(file, columns=TOLD)


@pytest.mark.parametrize(
    ("names", "stars", "said"),
    [
        ({"aspekt": "feature"}, None, "did you mean 'aspect'"),
        ({"aspect": "feature", "polarity": "Feature "}, None, "one column is named for two fields"),
        ({}, (4.0, 2.0), "smaller number first"),
        ({}, (3.0, 3.0), "smaller number first"),
        ({}, (float("nan"), 3.0), "smaller number first"),
    ],
)
def test_contradictions_are_refused(names: dict[str, str], stars: tuple[float, float] | None, said: str) -> None:
    with pytest.raises(InputError) as caught:
        Columns(names, stars)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "word"),
    [(2, "negative"), (2.5, "neutral"), ("4", "positive"), (" 3,9 ", "neutral"), ("-1", "negative"), (True, True)],
)
def test_stars_on_the_border(cell: object, word: object) -> None:
    assert Columns(stars=(2, 4)).label(cell) == word
    assert Columns().label(cell) == cell


@pytest.mark.parametrize("cell", ["nan", "inf", "", "five", None])
def test_what_is_no_number_of_stars_stays_for_the_reader_to_refuse(cell: object) -> None:
    assert Columns(stars=(2, 4)).label(cell) == cell
