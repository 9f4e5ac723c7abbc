"""Looking: versions, scores and cards are those of the store."""

from __future__ import annotations

from pathlib import Path

import torch
from starlette.testclient import TestClient

from classic.report.page import report_numbers
from classic.serving.versions import metrics
from classic.store.archive import unpack
from classic.store.store import Store


def test_domains_tell_scores_then_and_now(client: TestClient, taught_path: Path) -> None:
    found = client.get("/v1/domains").json()
    assert found["version"] == 3
    assert [entry["name"] for entry in found["domains"]] == Store.open(taught_path).domains()
    for entry in found["domains"]:
        assert entry["learned"]["examples"] == entry["now"]["examples"] == 12
        assert entry["examples"] == 24 and entry["keeps_test"] is False


def test_versions_tell_which_are_in_use(client: TestClient, taught_store: Path) -> None:
    assert client.post("/v1/rollback", json={"version": 2}).status_code == 200
    found = client.get("/v1/versions").json()
    assert found["live"] == 2
    assert [(v["version"], v["live"], v["in_use"]) for v in found["versions"]] == [
        (1, False, True),
        (2, True, True),
        (3, False, False),
    ]
    assert found["versions"][2]["sha256"] == Store.open(taught_store).digest(3)


def test_one_version_tells_everything(client: TestClient, taught_path: Path) -> None:
    found = client.get("/v1/versions/3").json()
    record = Store.open(taught_path).version(3).record
    for name in ("counts", "classes", "epochs", "overlap", "transfer", "capacity"):
        assert found[name] == record[name], name
    assert len(found["transfer"]) == 3


def test_metrics_compare_with_the_version_before(client: TestClient) -> None:
    found = client.get("/v1/versions/3/metrics").json()
    first, _, last = found["domains"]
    matrix = client.get("/v1/matrix").json()["matrix"]
    assert first["before"]["own_f1"] == matrix["own_f1"][1][0]
    assert first["after"]["own_f1"] == matrix["own_f1"][2][0]
    best = max(matrix["own_f1"][0][0], matrix["own_f1"][1][0])
    assert first["best"] == best and first["forgetting"] == best - matrix["own_f1"][2][0]
    assert last["before"] is None and last["forgetting"] is None
    mean = sum(entry["after"]["accuracy"] for entry in found["domains"]) / 3
    assert abs(found["mean"]["accuracy"] - mean) < 1e-12
    assert found["forgetting"] is not None


def test_the_starter_is_in_no_mean(tmp_path: Path) -> None:
    domains = ["starter", "camera", "phone"]
    store = Store.create(tmp_path / "s", {"system": {}}, {"whole/w": torch.zeros(1)})
    for number, name in enumerate(domains, start=1):
        record = {"domain": name, "domains": domains[:number], "classes": ["positive", "negative"], "scores": {}}
        with store.lock():
            store.publish({"w": torch.full((1,), float(number))}, record, {}, "")
        tested = {each: {"pairs": [[0, 0, 3], [1, 1, 2]]} for each in domains[1:number]}
        store.write_scores(number, tested)
    found = metrics(store, 3)
    assert found["domains"][0]["after"] is None
    assert found["mean"]["accuracy"] == 1.0 and found["forgetting"] == 0.0


def test_the_matrix_is_that_of_the_report(client: TestClient, taught_path: Path) -> None:
    assert client.get("/v1/matrix").json() == report_numbers(Store.open(taught_path))


def test_cards_are_markdown(client: TestClient, taught_path: Path) -> None:
    answer = client.get("/v1/versions/2/card")
    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.text == Store.open(taught_path).card(2)


def test_a_downloaded_pack_is_the_store(
    client: TestClient, taught_path: Path, taught_store: Path, tmp_path: Path
) -> None:
    (entry,) = client.get("/v1/exports").json()["exports"]
    assert entry["available"] and entry["file"] == "toy.store.v3.pack"
    answer = client.get("/v1/exports/pack")
    assert entry["file"] in answer.headers["content-disposition"]
    (tmp_path / "got.pack").write_bytes(answer.content)
    assert unpack(tmp_path / "got.pack", tmp_path / "other.store").digest() == Store.open(taught_path).digest()
    assert not list((taught_store / "service" / "incoming").iterdir())


def test_nothing_of_a_download_stays_when_all_of_it_is_refused(client: TestClient, taught_store: Path) -> None:
    assert client.get("/v1/exports/pack", headers={"Range": "bytes=999999999999-"}).status_code == 416
    assert not list((taught_store / "service" / "incoming").iterdir())


def test_what_is_not_there_is_not_found(client: TestClient) -> None:
    for path in (
        "versions/9",
        "versions/9/metrics",
        "versions/9/card",
        "exports/onnx",
        "samples/none",
        f"jobs/{'0' * 32}",
    ):
        answer = client.get(f"/v1/{path}")
        assert answer.status_code == 404 and answer.json()["error"]["code"] == "not_found", path
    for path in ("versions/0", "versions/x", "jobs/../../etc", "jobs/XYZ"):
        assert client.get(f"/v1/{path}").status_code in (404, 422), path


def test_samples_can_be_taught(client: TestClient) -> None:
    samples = client.get("/v1/samples").json()["samples"]
    assert len(samples) == 6 and not any(sample["learned"] for sample in samples)
    text = client.get(f"/v1/samples/{samples[0]['name']}").text
    answer = client.post("/v1/teach/check", content=text, headers={"Content-Type": "application/jsonl"}).json()
    assert answer["usable"] and answer["count"] == samples[0]["rows"]
