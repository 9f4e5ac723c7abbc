"""Any bytes give examples or a DataError, never another exception; what is written is read back."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classic.data import iter_rows, read_examples, write_examples
from classic.data.readers import READERS
from classic.data.readers.source import locate
from classic.errors import DataError
from classic.types import POLARITIES, Example

EXAMPLES = int(os.environ.get("CLASSIC_FUZZ", "150"))  # of each test; more in `python -m reliability nightly`
quick = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# Pieces of every syntax, so that random bytes get past the first character.
TOKENS = [
    b"sentence,aspect,polarity\n", b"sentence\taspect\tpolarity\n", b'"', b'""', b",", b"\n", b"\r\n", b"\r",
    b"\0", b"\t", b";", b"a lid", b"lid", b"positive", b"+", b"-",
    b'{"sentence": "a lid", "aspect": "lid", "polarity": "+"}', b'{"0": ', b"{", b"}", b"[", b"]", b":",
    b'"aspects": [', b'"start": 2', b'"\\ud800"', b"1e999", b"NaN", b"-1", b"99999999999999999999",
    b"<sentences>", b"</sentences>", b"<sentence>", b"</sentence>", b"<text>", b"</text>", b"&amp;", b"&lid;",
    b"<!DOCTYPE a>", b'<aspectTerm term="lid" polarity="conflict" from="2" to="5"/>',
    b'<aspectTerm term="lid" polarity="positive" from="2"/>', b"<![CDATA[", b"]]>", b"<!--",
    b"lid[+2]##a lid", b"##", b"[t]", b"[u]", b"{+1]", b"[2]", b"*", b"$T$", b"the $T$ fits\nlid\n1\n",
    b"a lid####[", b"([1], [0], 'POS')", b"['lid', 'x', 'positive', 'y']", b'"data": {',
    b"<Reviews>", b"<Opinion target='NULL'/>",
    b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"PAR1", b"PK\x03\x04", "é\u2028\u0085".encode(), b"0",
    b"1",
]  # fmt: skip
contents = st.one_of(
    st.binary(max_size=200), st.lists(st.sampled_from(TOKENS) | st.binary(max_size=4), max_size=25).map(b"".join)
)


@pytest.mark.parametrize("reader", READERS)
@quick
@given(content=contents, labelled=st.booleans())
def test_every_reader_survives_any_bytes(reader: str, content: bytes, labelled: bool, tmp_path: Path) -> None:
    if reader == "excel":
        pytest.importorskip("openpyxl")
    file = tmp_path / "data"
    file.write_bytes(content)
    try:
        rows = list(READERS[reader](locate(file), labelled, []))
    except DataError as error:
        assert str(file) in str(error)
    else:
        assert all(0 < row.line <= content.count(b"\n") + 1 for row in rows)


@quick
@given(content=contents)
def test_detection_survives_any_bytes(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(content)
    try:
        read_examples(file)
    except DataError as error:
        assert error.path == str(file)


@quick
@given(data=st.data())
def test_damaged_parquet_is_refused(data: Any, tmp_path: Path) -> None:
    stream = io.BytesIO()
    pq.write_table(pa.table({"sentence": ["a lid"], "aspect": ["lid"], "polarity": ["+"]}), stream)
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path / "data"
    file.write_bytes(content)
    with suppress(DataError):
        read_examples(file)


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    str.strip
)


@st.composite
def examples(draw: Any) -> Example:
    aspect = draw(texts)
    before, after = draw(texts), draw(texts)
    polarity = draw(st.sampled_from(POLARITIES))
    if draw(st.booleans()):
        return Example(before + aspect + after, aspect, polarity, (len(before), len(before) + len(aspect)))
    return Example(before + after, aspect, polarity)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@quick
@given(written=st.lists(examples(), min_size=1, max_size=4))
def test_written_examples_are_read_back(suffix: str, written: list[Example], tmp_path: Path) -> None:
    file = tmp_path / f"data.{suffix}"
    write_examples(written, file, raw=True)
    assert read_examples(file) == written


@quick
@given(written=st.lists(examples(), min_size=1, max_size=4), lead=st.sampled_from(["", *"=+-@\t\r", " =", "\xa0+"]))
def test_guarded_csv_has_no_formula_and_can_be_read(written: list[Example], lead: str, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    moved = [
        Example(
            lead + each.sentence,
            each.aspect,
            each.polarity,
            each.span and (each.span[0] + len(lead), each.span[1] + len(lead)),
        )
        for each in written
    ]
    write_examples(moved, file)
    for before, after in zip(moved, read_examples(file), strict=True):
        assert not after.sentence.strip().startswith(tuple("=+-@"))
        assert after.sentence in (before.sentence, "'" + before.sentence)
        assert after.polarity == before.polarity


def test_an_error_in_the_middle_leaves_no_file(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("sentence,aspect,polarity\na lid,lid,+\nbroken\n")
    with pytest.raises(DataError):
        write_examples((row.example for row in iter_rows(source)), tmp_path / "out.jsonl")
    assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]
