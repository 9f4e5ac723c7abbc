"""Aspects the service finds itself, and what it makes of many of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from classic.prediction.predictor import Predictor
from classic.runtime.sentences import Mark
from classic.summary.columns import choose_columns

from .conftest import Serve

TEXT = "The screen is good. 😀 I think the soup is bad! And the lens is okay"
ASPECTS = re.compile("screen|battery|soup|waiter|lens|zoom")


@pytest.fixture(autouse=True)
def finder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Aspects by a list of words: what is tested is what the service does with them."""

    def mark(_self: Predictor, sentences: list[str], least: float) -> list[list[Mark]]:
        found = [[Mark(*each.span(), 0.9) for each in ASPECTS.finditer(sentence)] for sentence in sentences]
        return [marks if least <= 0.9 else [] for marks in found]

    monkeypatch.setattr(Predictor, "finds", property(lambda _: True))
    monkeypatch.setattr(Predictor, "mark", mark)


def post(client: TestClient, path: str, body: object, status: int = 200) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def test_aspects_are_found_where_they_stand_and_judged_as_the_library_does(
    client: TestClient, taught_path: Path
) -> None:
    found = post(client, "/v1/find", {"texts": [TEXT, "Nothing at all.", "the zoom was awful"]})
    assert found["version"] == 3
    assert [[each["aspect"] for each in result["aspects"]] for result in found["results"]] == [
        ["screen", "soup", "lens"],
        [],
        ["zoom"],
    ]
    expected = Predictor.open(taught_path).find([TEXT])[0]
    for said, other in zip(found["results"][0]["aspects"], expected, strict=True):
        assert TEXT[slice(*said["span"])] == said["aspect"]
        assert tuple(said["span"]) == (other.start, other.end) and said["confidence"] == 0.9
        assert said["polarity"] == other.prediction.polarity
        shares = list(said["probabilities"].values())
        assert shares == pytest.approx(other.prediction.probabilities, abs=1e-5)


def test_places_count_in_html_as_it_was_sent(client: TestClient) -> None:
    text = "Tea &amp; cake.<br>The zoom isn&#39;t good &amp; the zoom was awful."
    aspects = post(client, "/v1/find", {"texts": [text]})["results"][0]["aspects"]
    assert [text[slice(*each["span"])] for each in aspects] == ["zoom", "zoom"]
    assert {text[slice(*each["sentence"])] for each in aspects} == {text.partition("<br>")[2]}


def test_what_is_less_certain_is_left_out(client: TestClient) -> None:
    found = post(client, "/v1/find", {"texts": [TEXT], "min_confidence": 0.95})
    assert found["results"] == [{"aspects": []}]


def test_predict_finds_the_aspects_that_are_not_given(client: TestClient) -> None:
    inputs = [
        {"sentence": TEXT},
        {"sentence": "the zoom was bad", "aspects": ["was"]},
        {"sentence": "the zoom", "aspects": None},
    ]
    found = post(client, "/v1/predict", {"inputs": inputs})
    names = [[each["aspect"] for each in result["aspects"]] for result in found["results"]]
    assert names == [["screen", "soup", "lens"], ["was"], ["zoom"]]
    assert found["results"][1]["aspects"][0]["confidence"] is None
    same = post(client, "/v1/find", {"texts": [TEXT]})["results"][0]["aspects"]
    for said, other in zip(found["results"][0]["aspects"], same, strict=True):  # computed in batches of other sizes
        assert said.pop("probabilities") == pytest.approx(other.pop("probabilities"), abs=1e-6)
        assert said == other


def test_found_aspects_are_explained_in_a_second_question(client: TestClient) -> None:
    refused = post(client, "/v1/predict", {"inputs": [{"sentence": TEXT}], "attributions": True}, 422)
    assert "find them first" in refused["error"]["fix"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "texts"),
        ({"texts": []}, "texts"),
        ({"texts": [""]}, "texts.0"),
        ({"texts": ["a" * 10_001]}, "texts.0"),
        ({"texts": ["a"] * 257}, "texts"),
        ({"texts": ["a"], "min_confidence": 2}, "min_confidence"),
        ({"texts": ["a"], "deadline_ms": 1}, "deadline_ms"),
        ({"texts": ["a"], "domain": "nowhere"}, "domain"),
        ({"texts": ["a"], "aspects": ["a"]}, ""),
    ],
)
def test_what_is_wrong_is_said_with_its_place(client: TestClient, body: object, where: str) -> None:
    details = post(client, "/v1/find", body, 422)["error"]["details"]
    assert any(str(entry["where"] or "").startswith(where) for entry in details), details


def test_a_thousand_sentences_too_many_are_refused(client: TestClient) -> None:
    assert "sentences" in post(client, "/v1/find", {"texts": ["So! " * 2100]}, 422)["error"]["message"]


def test_limits_are_those_of_predict(client: TestClient) -> None:
    big = client.post("/v1/find", content=b"x" * (1 << 20) + b"x", headers={"Content-Type": "application/json"})
    assert big.status_code == 413
    assert client.post("/v1/find", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
    assert client.post("/v1/find", content=b"{}").status_code == 415
    for path in ("/v1/find", "/v1/summary"):
        assert client.post(path, json={"texts": ["a"]}, headers={"Authorization": "Bearer no"}).status_code == 401


def test_a_full_queue_refuses_before_the_body_is_read(client: TestClient) -> None:
    batcher = client.app.state.service.live.batcher  # type: ignore[attr-defined]
    batcher.waiting = 10**6
    answer = client.post("/v1/find", json={"texts": ["a"]})
    batcher.waiting = 0
    assert answer.status_code == 429 and int(answer.headers["Retry-After"]) >= 1


def test_a_version_without_a_finder_says_so(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Predictor, "finds", property(lambda _: False))
    for path, body in (("/v1/find", {"texts": [TEXT]}), ("/v1/predict", {"inputs": [{"sentence": TEXT}]})):
        assert post(client, path, body, 409)["error"]["code"] == "no_finder"
    assert client.get("/v1/status").json()["finds"] is False


def test_the_status_says_that_it_finds(client: TestClient) -> None:
    assert client.get("/v1/status").json()["finds"] is True


def rows(count: int, **more: object) -> list[dict[str, Any]]:
    found = {"sentence": "the lens is good", "aspect": "lens", "start": 4, "end": 8, "confidence": 0.9}
    said = {"polarity": "positive", "probability": 0.8}
    return [{"line": 2 + n, "aspects": [found | said], **more} for n in range(count)]


def test_a_summary_of_what_was_found(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classic.serving.routes_find.nearness", lambda: None)
    dated = [row | {"date": f"2024-{1 + n % 12:02}-01", "product": "AB"[n % 2]} for n, row in enumerate(rows(30))]
    made = post(client, "/v1/summary", {"title": "<Lenses>", "source": "r.csv", "rows": dated})
    (aspect,) = made["summary"]["aspects"]
    assert (aspect["aspect"], aspect["counts"]["positive"]) == ("lens", 30)
    assert made["summary"]["period_unit"] == "month" and len(aspect["products"]) == 2
    assert aspect["typical"]["positive"][0]["line"] == 2
    assert "&lt;Lenses&gt;" in made["html"] and "screen, soup, lens" in made["html"]
    assert made["csv"].splitlines()[1].startswith("lens,")
    plain = post(client, "/v1/summary", {"title": "a", "source": "r.csv", "rows": rows(3)})["summary"]
    assert plain["period_unit"] is None and plain["aspects"] == [] and plain["rare"] == {"names": 1, "mentions": 3}


def test_columns_of_a_table_are_those_that_summarise_finds(client: TestClient) -> None:
    names = ["no", "When", "branch", "verbatim", "Feature", "Star", "branch"]
    cells = [[str(n), f"{1 + n:02}.05.2024", "AB"[n % 2], "It is good.", "lens", "5", ""] for n in range(12)]
    found = post(client, "/v1/columns", {"columns": names, "rows": cells})
    chosen = choose_columns([dict(zip(names[:-1], row, strict=False)) for row in cells])
    assert (chosen.text, chosen.date, chosen.product) == ("verbatim", "When", "branch")
    assert found == {"sentence": 3, "aspect": 4, "polarity": 5, "date": 1, "product": 2}
    nothing = dict.fromkeys(found)
    assert post(client, "/v1/columns", {"columns": ["a", "a"], "rows": []}) == nothing
    assert post(client, "/v1/columns", {"columns": ["a"], "rows": [["1", "2"], []]}) == nothing
    post(client, "/v1/columns", {"columns": [], "rows": []}, 422)


def test_one_summary_at_a_time(client: TestClient) -> None:
    class Taken:
        def locked(self) -> bool:
            return True

    client.app.state.service.summarising = Taken()  # type: ignore[attr-defined]
    answer = client.post("/v1/summary", json={"title": "a", "source": "b", "rows": rows(1)})
    assert answer.status_code == 429


def test_a_sentence_that_breaks_the_model_breaks_its_own_request_only(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    usual = Predictor.mark

    def mark(self: Predictor, sentences: list[str], least: float) -> list[list[Mark]]:
        if any("broken" in sentence for sentence in sentences):
            raise ValueError
        return usual(self, sentences, least)

    monkeypatch.setattr(Predictor, "mark", mark)
    assert post(client, "/v1/find", {"texts": ["a broken text"]}, 500)["error"]["code"] == "bug"
    assert post(client, "/v1/find", {"texts": ["the zoom"]})["results"][0]["aspects"]
