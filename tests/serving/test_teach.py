"""Teaching through the service: a candidate, a gate, a person, a pointer."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from classic.cli import main
from classic.data import load_task
from classic.errors import StoreError
from classic.learning.sequence import learn_sequence
from classic.learning.teach import teach
from classic.prediction.predictor import Predictor
from classic.serving.kept import keep_rows, kept_rows
from classic.store.store import Store

from .conftest import Serve, as_jsonl, begin, wait


def events(client: TestClient, job: str) -> list[tuple[str, Any]]:
    """All events of a job until its stream ends."""
    text = client.get(f"/v1/jobs/{job}/events").text
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def leftovers(store: Path, job: str) -> list[str]:
    return sorted(entry.name for entry in (store / "service" / "jobs" / job).iterdir())


def plain_digest(taught_path: Path, folder: Path, upload: bytes, domain: str = "router") -> str:
    """The digest after `classic learn` on the same data."""
    store = Store.open(shutil.copytree(taught_path, folder / "plain.store"))
    (folder / "upload.jsonl").write_bytes(upload)
    teach(store, load_task(domain, folder / "upload.jsonl"))
    return store.digest()


def test_from_upload_to_published(
    client: TestClient, taught_store: Path, taught_path: Path, tmp_path: Path, upload: bytes
) -> None:
    job = begin(client, upload, keep_test="true")
    assert job["state"] in ("queued", "running") and job["base"] == 3 and sum(job["counts"].values()) == 48
    second = client.post("/v1/teach?domain=other", content=upload, headers={"Content-Type": "application/jsonl"})
    assert second.status_code == 409 and second.json()["error"]["code"] == "busy"
    assert client.get("/v1/status").json()["open_job"] == job["id"]

    trained = wait(client, job["id"], "ready", "held")
    assert trained["version"] == 4 and trained["epochs"][0]["mask_usage"] > 0
    gate = trained["gate"]
    assert [(row["domain"], row["kind"]) for row in gate["domains"]] == [
        (d, "proxy") for d in ("screen", "soup", "lens")
    ]
    assert gate["new"]["after"]["examples"] > 0
    assert (trained["state"] == "ready") == (gate["verdict"] != "fell")
    assert client.get("/v1/status").json()["version"] == 3  # not live yet
    assert Store.open(taught_store).numbers() == [0, 1, 2, 3]

    refused = client.post(f"/v1/jobs/{job['id']}/publish")
    if trained["state"] == "held":
        assert refused.status_code == 409 and refused.json()["error"]["code"] == "gate"
        published = client.post(
            f"/v1/jobs/{job['id']}/publish", json={"override": True, "reason": "I looked at it"}
        ).json()
        assert published["override"]["reason"] == "I looked at it"
    else:
        published = refused.json()
    assert published["state"] == "published"
    store = Store.open(taught_store)
    assert store.verify() == published["sha256"] == plain_digest(taught_path, tmp_path, upload)
    assert leftovers(taught_store, job["id"]) == ["job.json"]  # upload, working copy and checkpoint are gone
    assert client.get("/v1/status").json()["version"] == 4
    answer = client.post("/v1/predict", json={"inputs": [{"sentence": "good router", "aspects": ["router"]}]}).json()
    assert answer["version"] == 4
    last = client.get("/v1/domains").json()["domains"][-1]
    assert (
        last["name"] == "router" and last["keeps_test"] and last["now"]["examples"] == gate["new"]["after"]["examples"]
    )
    assert [entry["action"] for entry in client.get("/v1/audit").json()["entries"]] == ["publish", "teach"]
    assert [name for name, _ in events(client, job["id"])] == ["job", "end"]
    again = client.post("/v1/teach?domain=router", content=upload, headers={"Content-Type": "application/jsonl"})
    assert again.status_code == 409 and again.json()["error"]["code"] == "known_domain"


def test_a_domain_that_would_suffer_holds_the_version_back(serve: Serve, taught_store: Path, toy_tasks: Any) -> None:
    """Rows of a known domain with every label turned round, against kept test rows that are answered rightly today."""
    turned = {"positive": "negative", "negative": "positive", "neutral": "positive"}
    rows = [json.loads(line) for line in as_jsonl(toy_tasks[0].train * 12 + toy_tasks[0].valid).decode().splitlines()]
    poison = "".join(json.dumps(row | {"polarity": turned[row["polarity"]]}) + "\n" for row in rows).encode()
    client = serve(taught_store, margin=0.0)
    texts = list(toy_tasks[0].train + toy_tasks[0].test)
    today = Predictor.open(taught_store).answer(texts, None, 12)
    right = tuple(replace(text, polarity=said.polarity) for text, said in zip(texts, today, strict=True))
    keep(taught_store, 1, as_jsonl(right))
    job = wait(client, begin(client, poison, "poison", publish="auto")["id"], "ready", "held")
    row = job["gate"]["domains"][0]
    assert (row["domain"], row["kind"]) == ("screen", "test") and row["before"]["examples"] == 36
    assert row["fell"] == pytest.approx(100 * (row["before"]["own_f1"] - row["after"]["own_f1"]))
    assert row["verdict"] == "fell" and not job["gate"]["passed"]
    assert job["state"] == ("published" if job["gate"]["passed"] else "held")
    assert job["state"] == "held"
    for body in ({}, {"override": True}, {"override": False, "reason": "why not"}):
        assert client.post(f"/v1/jobs/{job['id']}/publish", json=body).status_code == 409
    discarded = client.post(f"/v1/jobs/{job['id']}/discard").json()
    assert discarded["state"] == "discarded" and leftovers(taught_store, job["id"]) == ["job.json"]
    assert Store.open(taught_store).numbers() == [0, 1, 2, 3] and client.get("/v1/status").json()["version"] == 3
    for action in ("discard", "cancel", "publish"):
        answer = client.post(f"/v1/jobs/{job['id']}/{action}")
        assert answer.status_code == 409 and answer.json()["error"]["code"] == "state"


def test_auto_publishes_what_passes_and_events_tell_the_story(serve: Serve, taught_store: Path, upload: bytes) -> None:
    client = serve(taught_store, margin=100.0)
    job = begin(client, upload, publish="auto")
    story = events(client, job["id"])
    names = [name for name, _ in story]
    assert names[0] == "job" and names[-1] == "end" and "epoch" in names
    states = [value["state"] for name, value in story if name in ("job", "end")]
    assert states[-3:] == ["ready", "publishing", "published"]
    # A slow reader may miss progress, but never the last word before the verdict.
    stages = [value["stage"] for name, value in story if name == "progress"]
    assert stages[-1] == "testing it on all domains"
    assert client.get("/v1/status").json()["version"] == 4
    assert not list((taught_store / "service" / "tests").iterdir())  # nobody said they may be kept


def test_cancelling_deletes_the_upload_and_leaves_the_store_alone(
    client: TestClient, taught_store: Path, upload: bytes
) -> None:
    before = Store.open(taught_store).digest()
    job = begin(client, upload)
    cancelled = client.post(f"/v1/jobs/{job['id']}/cancel")
    assert cancelled.status_code == 200 and cancelled.json()["state"] == "cancelled"
    assert leftovers(taught_store, job["id"]) == ["job.json"]
    assert Store.open(taught_store).verify() == before
    assert client.get("/v1/status").json()["open_job"] is None


def test_a_version_the_store_has_moved_on_from_is_stale(client: TestClient, upload: bytes) -> None:
    job = wait(client, begin(client, upload)["id"], "ready", "held")
    assert client.post("/v1/rollback", json={"version": 2, "reason": "for the test"}).json() == {
        "version": 2,
        "before": 3,
    }
    answer = client.post(f"/v1/jobs/{job['id']}/publish", json={"override": True, "reason": "no"})
    assert answer.status_code == 409 and answer.json()["error"]["code"] == "stale"
    assert client.get("/v1/status").json()["version"] == 2
    assert client.post("/v1/rollback", json={"version": 3}).json() == {"version": 3, "before": 2}  # and forward again
    answer = client.post(f"/v1/jobs/{job['id']}/publish", json={"override": True, "reason": "yes"})
    assert answer.json()["state"] == "published"
    actions = [(entry["action"], entry["reason"]) for entry in client.get("/v1/audit").json()["entries"]]
    assert ("rollback", "for the test") in actions


def test_a_teacher_without_memory_fails_alone(serve: Serve, taught_store: Path, upload: bytes) -> None:
    client = serve(taught_store, teach_memory=0.05)
    job = wait(client, begin(client, upload)["id"])
    assert job["state"] == "failed" and "memory" in job["error"]["message"]
    assert leftovers(taught_store, job["id"]) == ["job.json"]
    assert client.get("/readyz").status_code == 200


def test_rollback_refuses_what_is_not_there(client: TestClient) -> None:
    assert client.post("/v1/rollback", json={"version": 9}).status_code == 404
    assert client.post("/v1/rollback", json={"version": -1}).status_code == 422
    assert client.post("/v1/rollback", json={"version": 0}).json() == {"version": 0, "before": 3}
    assert client.get("/readyz").status_code == 503


def test_a_busy_store_is_told(client: TestClient, taught_store: Path) -> None:
    with Store.open(taught_store).lock():
        answer = client.post("/v1/rollback", json={"version": 2})
    assert answer.status_code == 409 and answer.json()["error"]["code"] == "busy"


def test_a_pointer_moved_by_another_program_is_followed(client: TestClient, taught_store: Path) -> None:
    import time

    Store.open(taught_store).rollback(1)
    for _ in range(100):
        if client.get("/v1/status").json()["version"] == 1:
            break
        time.sleep(0.1)
    assert client.get("/v1/status").json()["version"] == 1


def test_ended_jobs_left_by_a_kill_are_cleared_at_the_next_start(
    serve: Serve, taught_store: Path, upload: bytes
) -> None:
    jobs = taught_store / "service" / "jobs"
    client = serve(taught_store)
    job = begin(client, upload)
    client.post(f"/v1/jobs/{job['id']}/cancel")
    (jobs / job["id"] / "data").mkdir()  # as if the kill had come before the upload was deleted
    (jobs / job["id"] / "data" / "upload").write_bytes(upload)
    (jobs / ("f" * 32) / "data").mkdir(parents=True)  # as if it had come while an upload was received
    (jobs / ("f" * 32) / "data" / "upload").write_bytes(upload)
    (taught_store / "service" / "incoming" / "half").write_bytes(upload)
    serve(taught_store)
    assert [entry.name for entry in jobs.iterdir()] == [job["id"]]
    assert leftovers(taught_store, job["id"]) == ["job.json"]
    assert not list((taught_store / "service" / "incoming").iterdir())


def test_the_demo_teaches_itself_and_keeps_its_own_test_rows(
    serve: Serve, tmp_path: Path, quick_system: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from classic.learning.learner import open_or_create

    monkeypatch.setattr("classic.serving.service._LOOK", 0.05)
    path = tmp_path / "demo.store"
    open_or_create(path, quick_system)
    client = serve(path, demo=1)
    assert client.get("/v1/status").json()["demo"] == {"wanted": 1, "learned": 0}
    while not (jobs := client.get("/v1/jobs").json()["jobs"]):
        pass
    job = wait(client, jobs[0]["id"])
    assert job["demo"] and job["state"] == "published" and job["domain"] == "espresso_machine"
    assert client.get("/v1/status").json()["demo"] == {"wanted": 1, "learned": 1}
    assert client.get("/v1/domains").json()["domains"][0]["keeps_test"]
    from classic.data import load_demo

    plain = open_or_create(tmp_path / "plain.store", quick_system)
    teach(plain, load_demo("espresso_machine"))
    assert Store.open(path).digest() == plain.digest()  # as `classic demo` makes it


def test_the_demo_begins_with_its_first_domain_on_the_starter_and_teaches_nothing_again(
    serve: Serve, tmp_path: Path, quick_system: Any, toy_tasks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classic.serving.service._LOOK", 0.05)
    path = tmp_path / "demo.store"
    learn_sequence(path, [replace(toy_tasks[0], name="starter")], quick_system)
    client = serve(path, demo=1)
    assert client.get("/v1/status").json()["demo"] == {"wanted": 1, "learned": 0}
    while not (jobs := client.get("/v1/jobs").json()["jobs"]):
        pass
    assert jobs[0]["domain"] == "espresso_machine" and wait(client, jobs[0]["id"])["state"] == "published"
    assert client.get("/v1/status").json()["demo"] == {"wanted": 1, "learned": 1}
    client.post("/v1/rollback", json={"version": 1})
    time.sleep(1)  # twenty looks
    assert len(client.get("/v1/jobs").json()["jobs"]) == 1 and client.get("/v1/status").json()["version"] == 1


def keep(store: Path, number: int, rows: bytes) -> Path:
    """Lets the service keep some rows as the test rows of a version."""
    digest = Store.open(store).digest(number)
    (store / "rows").write_bytes(rows)
    keep_rows(store / "service", digest, store / "rows")
    found = kept_rows(store / "service", digest)
    assert found is not None
    return found


def test_damaged_rows_are_named_and_as_good_as_not_kept(serve: Serve, taught_store: Path, capsys: Any) -> None:
    (taught_store / "service" / "tests").mkdir(parents=True)
    rows = keep(taught_store, 1, b'{"sentence": "the screen is good", "aspect": "screen", "polarity": "positive"}\n')
    client = serve(taught_store)
    assert client.get("/v1/domains").json()["domains"][0]["keeps_test"]
    assert main.app(["store", "verify", str(taught_store)], standalone_mode=False) is None
    rows.write_bytes(rows.read_bytes().replace(b"positive", b"negative"))  # as long, as well-formed, and wrong
    assert not client.get("/v1/domains").json()["domains"][0]["keeps_test"]
    assert kept_rows(taught_store / "service", Store.open(taught_store).digest(1)) is None
    with pytest.raises(StoreError, match="is damaged"):
        main.app(["store", "verify", str(taught_store)], standalone_mode=False)


def test_rows_that_an_earlier_release_kept_get_their_sum(serve: Serve, taught_store: Path) -> None:
    digest = Store.open(taught_store).digest(1)
    (taught_store / "service" / "tests").mkdir(parents=True)
    (taught_store / "service" / "tests" / f"{digest}.jsonl").write_text("{}\n")
    client = serve(taught_store)
    assert client.get("/v1/domains").json()["domains"][0]["keeps_test"]
    assert kept_rows(taught_store / "service", digest) is not None


def test_rows_kept_again_take_the_place_of_those_before(taught_store: Path) -> None:
    (taught_store / "service" / "tests").mkdir(parents=True)
    keep(taught_store, 1, b"{}\n")
    newest = keep(taught_store, 1, b"{}\n{}\n")
    assert list((taught_store / "service" / "tests").iterdir()) == [newest]


def test_kept_rows_of_a_version_that_is_gone_are_deleted(serve: Serve, taught_store: Path) -> None:
    store = Store.open(taught_store)
    tests = taught_store / "service" / "tests"
    tests.mkdir(parents=True)
    for number in (2, 3):
        keep(taught_store, number, b"{}\n")
    gone = store.digest(3)
    store.rollback(2)
    store.prune()
    serve(taught_store)
    assert [file.name.split(".")[0] for file in tests.iterdir()] == [store.digest(2)] and gone != store.digest(2)
