"""A corpus of malformed files: each gives one DataError at the right line and column."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from classic.data import read_examples
from classic.errors import DataError

H = "sentence,aspect,polarity\n"
GOOD = "the lid fits,lid,positive\n"
XML = """<sentences>
<sentence id="1">
<text>the lid fits</text>
<aspectTerms>
%s
</aspectTerms></sentence></sentences>"""
LONG = "x" * 10_001

CASES = {
    "csv ragged short": (H + GOOD + "only one cell\n", 3, 1, "1 cell"),
    "csv ragged long": (H + "a lid,lid,positive,more\n", 2, 20, "4 cells"),
    "csv open quote": (H + GOOD + '"never closed,lid,positive\nmore\n', 3, 1, "never closed"),
    "csv open quote in second cell": (H + 'a lid,"lid,positive\n', 2, 7, "never closed"),
    "csv text behind quote": (H + '"a" lid,lid,positive\n', 2, 4, "behind a closing quote"),
    "csv line after a multi-line cell": (H + '"a\nlid\n!",lid,positive\nb lid,lid,good\n', 5, 11, "unknown label"),
    "csv unknown label": (H + GOOD + "a lid,lid,great\n", 3, 11, "unknown label 'great'"),
    "csv numeric label": (H + "a lid,lid,1\n", 2, 11, "unknown label '1'"),
    "csv missing label": (H + "a lid,lid,\n", 2, 11, "polarity is missing"),
    "csv empty sentence": (H + " ,lid,positive\n", 2, 1, "sentence is empty"),
    "csv empty aspect": (H + "a lid,,positive\n", 2, 7, "aspect is empty"),
    "csv long sentence": (H + f"{LONG},lid,positive\n", 2, 1, "10,001 characters"),
    "csv field over the limit": (H + f'"{"x" * 140_000}",lid,positive\n', 2, 1, "131,072"),
    "csv endless quote": (H + '"' + "x\n" * 140_000, 2, 1, "131,072"),
    "csv NUL": (H + "a l\0id,lid,positive\n", 2, 4, "NUL"),
    "csv bare CR": (H + "a lid,lid\r,positive\n", 2, 10, "carriage return"),
    "csv two sentence columns": ("sentence,text,aspect,polarity\n", 1, 10, "second field for the sentence"),
    "csv no polarity column": ("sentence,aspect\na lid,lid\n", 1, 1, "no field for the polarity"),
    "csv no header": ("a lid,lid,positive\n", 1, 1, "no header"),
    "csv wrong span": (H.replace("\n", ",start\n") + "a lid,lid,positive,0\n", 2, 20, "not the aspect"),
    "csv negative start": (H.replace("\n", ",start\n") + "a lid,lid,positive,-1\n", 2, 20, "not a position"),
    "csv end without start": (H.replace("\n", ",start,end\n") + "a lid,lid,positive,,5\n", 2, 21, "without a start"),
    "csv end past the sentence": (
        H.replace("\n", ",start,end\n") + "a lid,lid,positive,2,9\n",
        2,
        20,
        "not the aspect",
    ),
    "tsv unknown label": ("text\tterm\tlabel\na lid\tlid\tfine\n", 2, 11, "unknown label"),
    "semicolon unknown label": ("text;term;label\na lid;lid;fine\n", 2, 11, "unknown label"),
    "long line": (H + "x" * 1_100_000 + "\n", 2, 1, "longer than"),
    "jsonl syntax": ('{"sentence": "a lid", "aspect": "lid" "polarity": "+"}\n', 1, 39, "not continued"),
    "jsonl second line": ('{"sentence": "a lid", "aspect": "lid", "polarity": "+"}\n{"sentence": }\n', 2, 14, "JSON"),
    "jsonl label": ('\n{"sentence": "a lid", "aspect": "lid", "polarity": "0"}\n', 2, 52, "unknown label '0'"),
    "jsonl number": ('{"sentence": 5, "aspect": "lid", "polarity": "+"}\n', 1, 14, "type int"),
    "jsonl surrogate": ('{"sentence": "a \\ud800 lid", "aspect": "lid", "polarity": "+"}\n', 1, 14, "U+D800"),
    "jsonl NUL": ('{"sentence": "a \\u0000 lid", "aspect": "lid", "polarity": "+"}\n', 1, 14, "NUL"),
    "jsonl duplicate name": ('{"sentence": "a", "sentence": "b"}\n', 1, 19, "twice"),
    "jsonl two objects": ('{"sentence": "a lid", "aspect": "lid", "polarity": "+"} {}\n', 1, 57, "follows"),
    "jsonl deep": ('{"sentence": ' + "[" * 100_000 + "\n", 1, 14, "nested too deeply"),
    "jsonl many digits": ('{"start": ' + "9" * 5_000 + "}\n", 1, 11, "too many digits"),
    "jsonl start is text": (
        '{"sentence": "a lid", "aspect": "lid", "polarity": "+", "start": true}\n',
        1,
        66,
        "position",
    ),
    "jsonl no aspect": ('{"sentence": "a lid", "polarity": "+"}\n', 1, 1, "no field for the aspect"),
    "jsonl aspects no list": ('{"sentence": "a lid", "aspects": 3}\n', 1, 34, "not a list"),
    "jsonl aspects item": (
        '{"sentence": "a lid", "aspects": [{"aspect": "lid", "polarity": "+"}, 3]}\n',
        1,
        71,
        "no JSON object",
    ),
    "jsonl aspects label": (
        '{"sentence": "a", "aspects": [{"aspect": "a", "polarity": "so"}]}\n',
        1,
        59,
        "unknown label",
    ),
    "jsonl label beside aspects": ('{"sentence": "a", "polarity": "+", "aspects": []}\n', 1, 19, "beside"),
    "authors label": (
        '{\n "0": {\n  "polarity": "bad",\n  "term": "lid", "sentence": "a lid"}}',
        3,
        15,
        "unknown label",
    ),
    "authors duplicate key": ('{"0": {"polarity": "+", "term": "lid", "sentence": "a lid"},\n "0": {}}', 2, 2, "twice"),
    "authors not an object": (
        '{"0": {"polarity": "+", "term": "a", "sentence": "a"}, "1": 3}',
        1,
        61,
        "no JSON object",
    ),
    "authors rest": ('{"0": {"polarity": "+", "term": "a", "sentence": "a"}}\nx', 2, 1, "follows"),
    "authors cut off": ('{"0": {"polarity": "+", "term": "a", "sentence": "a"},', 1, 55, "member name"),
    "json list of words": ('["a lid"]', 1, 1, "format"),
    "json list, missing field": ('[\n {"sentence": "a"}]', 2, 2, "aspect"),
    "json list, bad item": ('[{"sentence": "a", "aspect": "a", "polarity": "+"},\n 3]', 2, 2, "no JSON object"),
    "json list, cut off": ('[{"sentence": "a", "aspect": "a", "polarity": "+"}\n', 2, 1, "not continued"),
    "json list, then more": ("[]\n{}", 2, 1, "follows"),
    "markdown": ("# Title\n\n## Part\n", 1, 1, "format"),
    "xml label": (XML % '  <aspectTerm term="lid" polarity="fine" from="4" to="7"/>', 5, 3, "unknown label"),
    "xml span": (XML % '<aspectTerm term="lid" polarity="positive" from="5" to="8"/>', 5, 1, "not the aspect"),
    "xml no term": (XML % '<aspectTerm polarity="positive"/>', 5, 1, "no value for the aspect"),
    "xml syntax": (XML % "<aspectTerm a&b>", 5, 14, "well-formed"),
    "xml other root": ("<?xml version='1.0'?>\n<html/>", 2, 1, "outermost element"),
    "xml term outside": ("<sentences>\n <aspectTerm/></sentences>", 2, 2, "outside a sentence"),
    "xml cut off": ("<sentences>\n<sentence>", 2, 11, "no element found"),
    "pyabsa short block": ("the $T$ fits\nlid\n1\nthe $T$ leaks\nlid\n", 4, 1, "block of 2 lines"),
    "pyabsa shifted": ("the $T$ fits\nlid\n1\nlid\n1\nthe $T$ leaks\n", 4, 1, "0 marks"),
    "pyabsa label": ("the $T$ fits\nlid\n2\n", 3, 1, "unknown label '2'"),
    "pyabsa empty aspect": ("the $T$ fits\n\n1\n", 2, 1, "aspect is empty"),
    "hu-liu empty sentence": ("lid[+1]##\n", 1, 10, "sentence is empty"),
    "hu-liu long sentence": (f"[t]title\nlid[+1]##{LONG}\n", 2, 10, "10,001"),
    "tuples no list": ("a lid####[([1], [0], 'POS')]\na lid####[lid]\n", 2, 10, "no list of tuples"),
    "tuples position": ("a lid####[([2], [0], 'POS')]\n", 1, 10, "not that of a word"),
    "tuples label": ("a lid####[['lid', 'lid general', 'fine', 'a']]\n", 1, 10, "unknown label"),
    "tuples code": ("a lid####[__import__('os').getcwd()]\n", 1, 10, "no list of tuples"),
    "tuples deep": ("a lid####[" + "[" * 10_000 + "\n", 1, 10, "no list of tuples"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1", 1, 1, "old Excel"),
    "semeval16 label": (
        "<Reviews><Review><sentences><sentence><text>a lid</text><Opinions>\n"
        '<Opinion target="lid" polarity="fine" from="2" to="5"/></Opinions></sentence></sentences></Review></Reviews>',
        2,
        1,
        "unknown label",
    ),
    "empty": ("", 1, 1, "empty"),
    "blank": (" \n \n", 1, 1, "empty"),
    "prose": ("nothing to see here\n", 1, 1, "not recognised"),
    "bad UTF-8": (H.encode() + "ää l".encode() + b"\xe4d,lid,positive\n", 2, 5, "0xe4"),
    "UTF-16": (H.encode("utf-16"), 1, 1, "UTF-16"),
    "gzip": (b"\x1f\x8b\x08\x00", 1, 1, "gzip"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_file_is_located(tmp_path: Path, name: str) -> None:
    content, line, column, what = CASES[name]
    file = tmp_path / "data.any"
    file.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        read_examples(file)
    error = caught.value
    assert (error.line, error.column) == (line, column), str(error)
    assert what in str(error)
    assert str(error).startswith(f"{file}:{line}:{column}: ")
    assert error.exit_code == 2
    assert len(str(error)) < 1_000


def test_an_unknown_label_lists_the_accepted_ones_and_hides_long_values(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(H + "a lid,lid,a whole private review in the wrong column\n")
    with pytest.raises(DataError) as caught:
        read_examples(file)
    assert "positive, negative, neutral" in str(caught.value)
    assert "private" not in str(caught.value)


@pytest.mark.parametrize(("label", "told"), [("great", False), ("1", True), ("4.5", True), ("-2", True)])
def test_only_a_number_is_told_what_numbers_mean(tmp_path: Path, label: str, told: bool) -> None:
    file = tmp_path / "data.csv"
    file.write_text(H + f"a lid,lid,{label}\n")
    with pytest.raises(DataError) as caught:
        read_examples(file)
    assert ("--stars" in str(caught.value)) == told


def test_a_file_of_plain_reviews_is_told_who_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "reviews.txt"
    file.write_text("The lid fits.\n")
    with pytest.raises(DataError, match="classic find"):
        read_examples(file, labelled=False)


@pytest.mark.parametrize("kind", ["missing", "folder", "bad zip", "bare zip", "no member"])
def test_files_that_cannot_be_opened(tmp_path: Path, kind: str) -> None:
    archive = tmp_path / "reviews.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("folder/lid.txt", "lid[+2]##the lid fits\n")
    path = {
        "missing": tmp_path / "review.zip",
        "folder": tmp_path,
        "bad zip": tmp_path / "text.csv" / "member",
        "bare zip": archive,
        "no member": archive / "pan.txt",
    }[kind]
    (tmp_path / "text.csv").write_text(H)
    with pytest.raises(DataError) as caught:
        read_examples(path)
    if kind == "missing":
        assert "reviews.zip" in str(caught.value)
    if kind in ("bare zip", "no member"):
        assert "folder/lid.txt" in str(caught.value)


HOSTILE = {
    "spaces in a mark": "lid[+" + " " * 500_000 + "x##a lid\n",
    "open brackets": "[+" * 300_000 + "##a lid\n",
    "words that almost match": "a " * 200_000 + "b[+1]##" + "a " * 4_000 + "\n",
    "many quotes": H + '"' * 600_001 + ",lid,+\n",
    "many columns": H + "," * 900_000 + "\n",
    "many braces": "{" * 900_000,
    "open lists": '{"aspects": [' + "{}," * 200_000,
    "nested name": '{"' + "\\\\" * 200_000 + '": {',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_or_refused_and_nothing_hangs(tmp_path: Path, name: str) -> None:
    file = tmp_path / "data.any"
    file.write_text(HOSTILE[name])
    outcomes: list[object] = []
    try:
        outcomes.append(read_examples(file))
    except DataError as error:
        outcomes.append(error)
    assert len(outcomes) == 1


def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer, writer.open("b.txt", "w") as member:
        for _ in range(130):
            member.write(bytes(1 << 20))
    with pytest.raises(DataError, match="larger than"):
        read_examples(archive / "b.txt")


def test_all_bad_rows_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(H + GOOD + "a lid,lid,positiv\n" + GOOD + "a lid,,negative\n" + "a lid,lid,7\n" * 30)
    with pytest.raises(DataError) as caught:
        read_examples(file)
    text = str(caught.value)
    assert "32 rows cannot be used" in text
    assert "line 3:11: unknown label 'positiv', did you mean 'positive'?" in text
    assert "line 5:7: the aspect is empty" in text
    assert text.count("\n  line ") == 20
    assert "and 12 more" in text
    assert (caught.value.line, caught.value.column) == (3, 11)


def test_bad_rows_before_the_end_of_a_broken_file_are_told_too(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(H + 'a lid,lid,7\n"never closed,lid,positive\n')
    with pytest.raises(DataError, match=r"(?s)2 rows cannot be used.*unknown label '7'.*never closed"):
        read_examples(file)


@pytest.mark.parametrize(
    ("content", "meant"),
    [
        ("sentence,aspect,polarty\na lid,lid,positive\n", "did you mean 'polarity' by 'polarty'"),
        ("sentense,aspect,polarity\na lid,lid,positive\n", "did you mean 'sentence' by 'sentense'"),
        ('{"sentence": "a lid", "aspekt": "lid", "polarity": "+"}\n', "did you mean 'aspect' by 'aspekt'"),
    ],
)
def test_a_misspelt_field_is_recognised(tmp_path: Path, content: str, meant: str) -> None:
    file = tmp_path / "data.any"
    file.write_text(content)
    with pytest.raises(DataError, match=meant):
        read_examples(file)


def test_a_lost_block_costs_one_error_and_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "data.any"
    file.write_text("the $T$ fits\nlid\n1\npan\n0\nthe $T$ leaks\nlid\n-1\nthe $T$ bends\nlid\n9\n")
    with pytest.raises(DataError, match=r"(?s)2 rows .*line 4:1: 0 marks.*line 11:1: unknown label '9'"):
        read_examples(file)


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("camrea.csv", "did you mean '{}/camera.csv'?"),
        ("phone.tsv", "did you mean '{}/phone.csv'?"),
        ("camera.json", "did you mean '{}/camera.jsonl'?"),
        ("note.md", "did you mean '{}/notes.md'?"),
        ("nofile.csv", "check the path"),
        ("cam.csv", "check the path"),
        ("b.csv", "check the path"),
    ],
)
def test_a_missing_file_is_told_by_its_own_name_not_by_its_ending(tmp_path: Path, missing: str, told: str) -> None:
    for name in ("a.csv", "camera.csv", "camera.jsonl", "model.csv", "notes.md", "phone.csv", "phone.py"):
        (tmp_path / name).touch()
    (tmp_path / "cam").mkdir()
    with pytest.raises(DataError, match="there is no such file") as caught:
        read_examples(tmp_path / missing)
    assert caught.value.fix == told.format(tmp_path)
