"""Asking: the same answers as the library gives, in the same order, from one version."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from classic.data.starter import HELD_OUT
from classic.learning.learner import open_or_create
from classic.learning.sequence import learn_sequence
from classic.prediction.predictor import Predictor
from classic.runtime.explaining import without
from classic.systems.system import SystemConfig
from classic.types import Example, Scenario, Task

from .conftest import Serve

SENTENCE = "the screen is good and the soup is bad"


def ask(client: TestClient, *inputs: object, **more: object) -> dict[str, object]:
    answer = client.post("/v1/predict", json={"inputs": list(inputs), **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_answers_are_those_of_the_library(client: TestClient, taught_path: Path) -> None:
    found = ask(
        client,
        {"sentence": SENTENCE, "aspects": ["screen", {"start": 27, "end": 31}]},
        {"sentence": "i think this one is plain", "aspects": ["one"]},
    )
    assert found["version"] == 3
    predictor = Predictor.open(taught_path)
    expected = [
        *predictor.predict(SENTENCE, ["screen", (27, 31)]),
        *predictor.predict("i think this one is plain", ["one"]),
    ]
    said = [aspect for result in found["results"] for aspect in result["aspects"]]  # type: ignore[attr-defined]
    assert len(said) == len(expected) == 3
    for one, other in zip(said, expected, strict=True):
        assert one["aspect"] == other.aspect and tuple(one["span"]) == other.span
        assert one["polarity"] == other.polarity and one["nearest_domain"] == other.nearest_domain
        assert list(one["probabilities"].values()) == pytest.approx(other.probabilities, abs=1e-5)
        assert (one["unfamiliar"], one["truncated"], one["words"]) == (other.unfamiliar, other.truncated, None)


def test_positions_count_characters_not_bytes_nor_utf16(client: TestClient) -> None:
    found = ask(client, {"sentence": "😀 the soup is bad", "aspects": [{"start": 6, "end": 10}]})
    assert found["results"][0]["aspects"][0]["aspect"] == "soup"  # type: ignore[index]


def test_words_say_what_the_answer_loses_without_them(client: TestClient, taught_path: Path) -> None:
    found = ask(client, {"sentence": SENTENCE, "aspects": ["screen"]}, attributions=True)
    (said,) = found["results"][0]["aspects"]  # type: ignore[index]
    words = {SENTENCE[word["start"] : word["end"]]: word["weight"] for word in said["words"]}
    assert set(words) == set(SENTENCE.split())
    predictor = Predictor.open(taught_path)
    (whole,) = predictor.predict(SENTENCE, ["screen"])
    (without,) = predictor.predict(SENTENCE.replace("good", ""), ["screen"])
    column = whole.polarity.column
    assert words["good"] == pytest.approx(whole.probabilities[column] - without.probabilities[column], abs=1e-4)


def test_taking_out_words_moves_the_span_along() -> None:
    example = Example("good soup, soup bad", "soup", None, (11, 15))
    assert without(example, [(0, 4)], [0]) == Example(" soup, soup bad", "soup", None, (7, 11))
    assert without(example, [(16, 19)], [0]) == Example("good soup, soup ", "soup", None, (11, 15))
    assert without(example, [(11, 15)], [0]).span is None
    assert without(Example("soup", "soup"), [(0, 4)], [0]).sentence == "."


def test_a_text_that_would_cost_too_much_is_answered_but_not_explained(client: TestClient) -> None:
    long = " ".join(["the screen is good and the soup is bad"] * 20)
    found = ask(client, {"sentence": long, "aspects": ["screen", "soup"]}, attributions=True)
    for said in found["results"][0]["aspects"]:  # type: ignore[index]
        assert said["words"] is None and said["too_long_to_explain"]
    (said,) = ask(client, {"sentence": SENTENCE, "aspects": ["soup"]})["results"][0]["aspects"]  # type: ignore[index]
    assert said["words"] is None and not said["too_long_to_explain"]


def test_an_explanation_nobody_waits_for_is_not_computed(client: TestClient) -> None:
    service = client.app.state.service  # type: ignore[attr-defined]
    asked: list[int] = []
    usual = service.live.ask

    async def ask_and_leave(predictor: object, questions: list[object], seconds: float) -> object:
        asked.append(len(questions))
        if len(asked) == 2:
            raise TimeoutError
        return await usual(predictor, questions, seconds)

    service.live.ask = ask_and_leave
    body = {"inputs": [{"sentence": " ".join([SENTENCE] * 4), "aspects": ["screen"]}], "attributions": True}
    assert client.post("/v1/predict", json=body).status_code == 504
    assert asked == [1, 8]  # the answer, and the first few of its 36 words


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "inputs"),
        ({"inputs": []}, "inputs"),
        ({"inputs": [{"sentence": "", "aspects": ["a"]}]}, "inputs.0.sentence"),
        ({"inputs": [{"sentence": "a" * 10_001, "aspects": ["a"]}]}, "inputs.0.sentence"),
        ({"inputs": [{"sentence": "a", "aspects": []}]}, "inputs.0.aspects"),
        ({"inputs": [{"sentence": "a", "aspects": ["a"] * 65}]}, "inputs.0.aspects"),
        ({"inputs": [{"sentence": "a b", "aspects": [{"start": 2, "end": 9}]}]}, "inputs.0.aspects.0"),
        ({"inputs": [{"sentence": "a b", "aspects": [{"start": 2, "end": 2}]}]}, "inputs.0.aspects.0"),
        ({"inputs": [{"sentence": "a", "aspects": ["a"]}], "deadline_ms": 1}, "deadline_ms"),
        ({"inputs": [{"sentence": "a", "aspects": ["a"]}], "attributions": "yes"}, "attributions"),
        ({"inputs": [{"sentence": "a", "aspects": ["a"]}], "domain": "nowhere"}, "domain"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(client: TestClient, body: object, where: str) -> None:
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code == 422
    assert any(str(entry["where"]).startswith(where) for entry in answer.json()["error"]["details"]), answer.text


@pytest.mark.parametrize(
    ("aspect", "where"),
    [
        ("", "inputs.0.aspects.1"),
        (4, "inputs.0.aspects.1"),
        ("  ", "inputs.0.aspects.1"),
        ({"start": 0, "end": "x"}, "inputs.0.aspects.1.end"),
        ({"start": 0}, "inputs.0.aspects.1.end"),
    ],
)
def test_a_wrong_aspect_is_told_once_and_by_the_names_of_the_api(
    client: TestClient, aspect: object, where: str
) -> None:
    answer = client.post("/v1/predict", json={"inputs": [{"sentence": "a", "aspects": ["a", aspect]}]})
    assert answer.status_code == 422
    details = answer.json()["error"]["details"]
    assert [entry["where"] for entry in details] == [where]
    assert ("white space" in details[0]["problem"]) == (aspect == "  ")


def test_lone_surrogates_and_nul_are_refused(client: TestClient) -> None:
    for text in (r"\ud83d", r"a\u0000b"):
        content = f'{{"inputs": [{{"sentence": "{text}", "aspects": ["a"]}}]}}'
        answer = client.post("/v1/predict", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422


def test_too_many_aspects_in_all_are_refused(client: TestClient) -> None:
    inputs = [{"sentence": "a", "aspects": ["a"] * 64}] * 17
    assert client.post("/v1/predict", json={"inputs": inputs}).status_code == 422
    assert client.post("/v1/predict", json={"inputs": inputs[:1], "attributions": True}).status_code == 422


def test_tagged_requests_at_once_each_get_their_own_answer(client: TestClient, taught_path: Path) -> None:
    tags = [f"the {a} is {b} {c}" for a in ("screen", "soup", "lens") for b in ("good", "bad", "okay") for c in "xyz"]
    predictor = Predictor.open(taught_path)
    expected = {tag: predictor.predict(tag, ["is"])[0].probabilities for tag in tags}
    ready = threading.Barrier(8)

    def one(number: int) -> None:
        if number < 8:
            ready.wait()
        tag = tags[number % len(tags)]
        (said,) = ask(client, {"sentence": tag, "aspects": ["is"]})["results"][0]["aspects"]  # type: ignore[index]
        assert list(said["probabilities"].values()) == pytest.approx(expected[tag], abs=1e-5)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(400)))


def test_an_untaught_store_says_so_everywhere(serve: Serve, tmp_path: Path, quick_system: SystemConfig) -> None:
    open_or_create(tmp_path / "empty.store", quick_system)
    client = serve(tmp_path / "empty.store")
    answer = client.post("/v1/predict", json={"inputs": [{"sentence": "a", "aspects": ["a"]}]})
    assert answer.status_code == 409 and answer.json()["error"]["code"] == "untaught"
    assert client.get("/readyz").status_code == 503
    assert client.get("/v1/status").json()["ready"] is False
    assert client.get("/v1/domains").json() == {"version": 0, "domains": []}
    assert client.get("/v1/versions").json() == {"live": 0, "versions": []}
    assert client.get("/v1/matrix").status_code == 409
    assert client.get("/v1/exports/pack").status_code == 409


def test_a_task_incremental_store_must_be_told_the_domain(
    serve: Serve, tmp_path: Path, tiny_system: Callable[..., SystemConfig], toy_tasks: tuple[Task, ...]
) -> None:
    system = tiny_system(scenario=Scenario.TIL, changes={"train.epochs": 1})
    learn_sequence(tmp_path / "til.store", toy_tasks[:2], system)
    client = serve(tmp_path / "til.store")
    asked = {"inputs": [{"sentence": SENTENCE, "aspects": ["screen"]}]}
    assert client.post("/v1/predict", json=asked).status_code == 422
    assert client.post("/v1/predict", json=asked | {"domain": "soup"}).status_code == 200
    assert client.get("/readyz").json() == {"ready": True, "version": 2}


def test_probes_and_metrics(client: TestClient) -> None:
    assert client.get("/openapi.json").json()["openapi"].startswith("3.")
    assert client.get("/healthz").json() == {"live": True}
    assert client.get("/readyz").json() == {"ready": True, "version": 3}
    ask(client, {"sentence": SENTENCE, "aspects": ["screen", "soup"]})
    text = client.get("/metrics").text
    assert "classic_predictions_total 3.0" in text and "classic_live_version 3.0" in text
    assert 'classic_requests_total{method="POST",route="/v1/predict",status="200"} 1.0' in text


def test_examples_come_from_what_is_learned_and_are_answered_rightly(
    serve: Serve,
    tmp_path: Path,
    quick_system: SystemConfig,
    toy_tasks: tuple[Task, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = dataclasses.replace(toy_tasks[0], name="starter")
    learn_sequence(tmp_path / "starter.store", [task], quick_system)
    client = serve(tmp_path / "starter.store")
    status = client.get("/v1/status").json()
    assert (status["version"], status["domains"], status["starter"]) == (1, 0, True)  # nobody taught it
    monkeypatch.setattr("classic.serving.examples._RIGHT", 1.0)
    assert client.get("/v1/examples").json() == {"version": 1, "examples": []}  # none is answered as surely as that
    client.app.state.service.examples = None  # type: ignore[attr-defined]
    monkeypatch.setattr("classic.serving.examples._RIGHT", 0.0)
    found = client.get("/v1/examples").json()["examples"]
    assert len(found) == 4 and {each["domain"] for each in found} == {"starter"}
    assert {each["subject"] for each in found} <= set(HELD_OUT)
    for each in found:
        assert all(each["sentence"][span["start"] : span["end"]].strip() for span in each["aspects"])
        assert each["sentence"][0].isupper() and each["sentence"][-1] in ".!?"  # not one of the hasty sentences
    client.app.state.service.examples = None  # type: ignore[attr-defined]
    monkeypatch.setattr("classic.serving.examples._mixed", lambda group: False)
    assert len(client.get("/v1/examples").json()["examples"]) == 4  # sentences of one mind will do


def test_rows_that_people_taught_are_no_examples(client: TestClient) -> None:
    assert client.get("/v1/examples").json() == {"version": 3, "examples": []}
