"""Uploads are looked at row by row, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from classic.data.readers import READERS, BadRow, Note, Row
from classic.data.readers.source import Source

from .conftest import as_jsonl

GOOD = b"sentence,aspect,polarity\nthe zoom is good,zoom,positive\nthe menu is bad,menu,negative\n"


def look(client: TestClient, content: bytes, kind: str = "text/csv") -> dict[str, Any]:
    answer = client.post("/v1/teach/check", content=content, headers={"Content-Type": kind})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_every_bad_row_is_told_with_field_line_and_column(client: TestClient, taught_store: Path) -> None:
    rows = b'a zoom,zoom,great\nshort,row\n,menu,negative\n"two\nlines",lines,neutral\nthe zoom,menu,positive,0,4\n'
    found = look(client, b"sentence,aspect,polarity\n" + rows)
    assert not found["usable"] and (found["count"], found["bad"]) == (5, 4)
    errors = [(row["line"], [(e["field"], e["line"], e["column"]) for e in row["errors"]]) for row in found["rows"]]
    assert errors == [
        (2, [("polarity", 2, 13)]),
        (3, [("polarity", 3, 7)]),
        (4, [("sentence", 4, 1)]),
        (5, []),
        (7, [(None, 7, 24)]),
    ]
    assert found["rows"][0]["sentence"] == "a zoom" and found["rows"][0]["polarity"] == "great"
    assert found["rows"][1]["polarity"] is None
    assert found["counts"] == {"positive": 0, "negative": 0, "neutral": 1}
    assert not list((taught_store / "service" / "incoming").iterdir())  # nothing is kept


def test_numbers_as_labels_are_told_about_the_page_and_not_about_an_option(client: TestClient) -> None:
    (error,) = look(client, GOOD + b"the lens is fine,lens,5\n")["rows"][2]["errors"]
    assert "Which column is what?" in error["fix"] and "--stars" not in error["fix"]


def test_mended_rows_sent_back_as_jsonl_are_usable(client: TestClient) -> None:
    found = look(client, GOOD * 1 + b"the lens is fine,lens,fine\n")
    assert found["bad"] == 1
    import json

    for row in found["rows"]:
        row["polarity"] = "positive" if row["errors"] else row["polarity"]
    lines = [{name: row[name] for name in ("sentence", "aspect", "polarity")} for row in found["rows"]]
    again = look(client, "".join(json.dumps(line) + "\n" for line in lines).encode(), "application/jsonl")
    assert again["usable"] and again["count"] == 3


def test_a_bad_line_of_jsonl_does_not_hide_the_others(client: TestClient) -> None:
    content = (
        b'{"sentence": "the zoom is good", "aspect": "zoom", "polarity": "positive"}\n'
        b"{not json}\n"
        b'{"sentence": "the menu is bad", "aspects": '
        b'[{"aspect": "menu", "polarity": "negative"}, {"aspect": "x", "polarity": 3}]}\n'
        b'{"sentence": "the \\ud800 is bad", "aspect": "menu", "polarity": "negative"}\n'
    )
    found = look(client, content, "application/jsonl")
    assert [(row["line"], len(row["errors"])) for row in found["rows"]] == [(1, 0), (2, 1), (3, 0), (3, 1), (4, 1)]
    assert found["rows"][3]["errors"][0]["field"] == "polarity" and found["rows"][3]["aspect"] == "x"
    assert found["rows"][1]["sentence"] is None


def test_what_stops_the_reader_is_told_with_the_rows_before_it(client: TestClient) -> None:
    found = look(client, GOOD + b'"never closed,zoom,positive\n')
    assert found["count"] == 2 and not found["usable"]
    assert found["file_error"]["line"] == 4 and "quote" in found["file_error"]["problem"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01\x02", b"PK\x03\x04zip", b"\x1f\x8bgzip", b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>", b"[1, 2]", b"{"],
)
def test_what_is_no_data_is_told_not_raised(client: TestClient, content: bytes) -> None:
    found = look(client, content, "application/octet-stream")
    assert not found["usable"] and (found["file_error"] or found["bad"])


def test_who_sent_a_file_is_told_all_that_the_reader_says_and_nothing_that_holds_elsewhere(client: TestClient) -> None:
    (row,) = look(client, GOOD + b"the lens is fine,lens,postive\n")["rows"][2:]
    assert row["errors"][0]["problem"] == "unknown label 'postive', did you mean 'positive'?"
    answer = client.post("/v1/teach?domain=x", content=GOOD + b"a,a,postive\n", headers={"Content-Type": "text/csv"})
    assert [each["problem"] for each in answer.json()["error"]["details"]] == ["unknown label"]
    told = look(client, b"The zoom is good.\n")["file_error"]
    assert "jsonl" in told["expected"] and "excel" not in told["expected"]  # it would not be accepted
    assert told["fix"].endswith("reviews without aspects are for POST /v1/find, on the page Overview")


def test_semeval_xml_is_read(client: TestClient) -> None:
    sentence = (
        '<sentence id="{0}"><text>the {1} is {2}</text><aspectTerms>'
        '<aspectTerm term="{1}" polarity="{3}" from="4" to="8"/></aspectTerms></sentence>'
    )
    body = "".join(
        sentence.format(number, "zoom", word, polarity)
        for number, (word, polarity) in enumerate([("good", "positive"), ("bad", "negative")] * 6)
    )
    found = look(client, f"<sentences>{body}</sentences>".encode(), "application/xml")
    assert found["format"] == "semeval-xml" and found["count"] == 12 and found["counts"]["positive"] == 6


def test_one_class_is_not_usable_and_duplicates_are_found(client: TestClient) -> None:
    one = b"sentence,aspect,polarity\n" + b"".join(b"zoom %d,zoom,positive\n" % n for n in range(9))
    found = look(client, one)
    assert not found["usable"] and "one polarity" in found["file_error"]["problem"]
    twice = look(client, GOOD + b"the zoom is good,zoom,positive\n")
    assert twice["usable"] and [finding["kind"] for finding in twice["findings"]] == ["duplicate"]


def test_rows_are_capped(client: TestClient, monkeypatch: pytest.MonkeyPatch, toy_tasks: Any) -> None:
    monkeypatch.setattr("classic.serving.uploads.MOST_ROWS", 20)
    content = as_jsonl(toy_tasks[3].train)
    found = look(client, content, "application/jsonl")
    assert not found["usable"] and "rows" in found["file_error"]["problem"]
    answer = client.post("/v1/teach?domain=x", content=content, headers={"Content-Type": "application/jsonl"})
    assert answer.status_code == 422


def test_teaching_a_file_with_bad_rows_starts_nothing(client: TestClient, taught_store: Path) -> None:
    answer = client.post("/v1/teach?domain=new", content=GOOD + b"x,y,z\n", headers={"Content-Type": "text/csv"})
    assert answer.status_code == 422
    assert answer.json()["error"]["details"] == [{"where": None, "line": 4, "column": 5, "problem": "unknown label"}]
    assert client.get("/v1/jobs").json() == {"jobs": []}
    assert not list((taught_store / "service" / "jobs").iterdir())


@pytest.mark.parametrize("domain", ["", " x", "a\nb", "x" * 81, "tab\there", "a/b", ".."])
def test_domain_names_are_checked(client: TestClient, domain: str) -> None:
    answer = client.post("/v1/teach", params={"domain": domain}, content=GOOD, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 422
    if domain in ("a/b", ".."):  # refused before the upload is read, and not repeated
        assert "this cannot be the name of a domain" in answer.text


def test_a_packed_format_is_refused_before_it_is_unpacked(
    client: TestClient, taught_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Parquet file of a kilobyte may hold a gigabyte: it is known by its first bytes and never opened."""
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000), pa.array(["the zoom is good " * 500]))
    table = pa.table({"sentence": column, "aspect": ["zoom"] * 100_000, "polarity": ["positive"] * 100_000})
    pq.write_table(table, sink, compression="zstd")
    assert len(sink.getvalue()) < 100_000  # and 850 MB of text
    monkeypatch.setattr(pq, "ParquetFile", lambda *_, **__: pytest.fail("it was opened"))
    kind = {"Content-Type": "application/octet-stream"}
    found = look(client, sink.getvalue(), "application/octet-stream")
    assert not found["usable"] and "not accepted over HTTP" in found["file_error"]["problem"]
    assert "CSV" in found["file_error"]["fix"]
    refused = client.post("/v1/teach?domain=packed", content=sink.getvalue(), headers=kind)
    assert refused.status_code == 422 and "parquet" in refused.json()["error"]["details"][0]["problem"]
    assert not list((taught_store / "service" / "jobs").iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"the zoom is good .####[([1], [3], 'POS')]\nthe menu is bad .####[([1], [3], 'NEG')]\n",
        b'[{"sentence": "the zoom is good", "aspect": "zoom", "polarity": "positive"},\n'
        b' {"sentence": "the menu is bad", "aspect": "menu", "polarity": "negative"}]',
    ],
)
def test_every_format_that_is_text_is_accepted(client: TestClient, content: bytes) -> None:
    found = look(client, content, "application/octet-stream")
    assert found["usable"] and [row["aspect"] for row in found["rows"]] == ["zoom", "menu"]


def test_an_upload_is_read_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[str] = []
    read = READERS["csv"]

    def counted(source: Source, labelled: bool, notes: list[Note]) -> Iterator[Row | BadRow]:
        readings.append(source.path)
        return read(source, labelled, notes)

    monkeypatch.setitem(READERS, "csv", counted)
    assert look(client, GOOD)["usable"] and len(readings) == 1
    one = GOOD.replace(b"negative", b"positive")  # is refused after it was read: nothing is taught here
    answer = client.post("/v1/teach?domain=unheard", content=one, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 422 and len(readings) == 2


def test_a_file_of_too_many_rows_is_told_its_true_number(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classic.serving.uploads.MOST_ROWS", 100)
    found = look(client, GOOD + b"the lens is fine,lens,positive\n" * 300)
    assert found["count"] == 302 and not found["usable"]
    assert found["file_error"]["problem"] == "the file has 302 rows, and 100 may be sent at once"
