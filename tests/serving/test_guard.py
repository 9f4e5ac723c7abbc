"""Who may ask, how much, and that nothing of a request comes back in an error or a log."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from classic.serving import guard
from classic.serving.guard import PREDICT_BYTES, TEACH_BYTES
from classic.serving.jobs import read_token
from classic.serving.problems import ApiError

from .conftest import BEARER, Serve

SECRET = "xylophone7731"
ASK = {"inputs": [{"sentence": "the screen is good", "aspects": ["screen"]}]}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "",
        "127.0.0.1:8321@evil.example",
        "127.0.0.1 evil",
        "[::2]",
    ],
)
@pytest.mark.parametrize("path", ["/", "/v1/status", "/healthz"])
def test_a_foreign_host_is_refused(client: TestClient, host: str, path: str) -> None:
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 403 and answer.json()["error"]["code"] == "forbidden"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "LOCALHOST:8321", "[::1]:8321"])
def test_loopback_hosts_are_let_in(client: TestClient, host: str) -> None:
    assert client.get("/v1/status", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["null", "http://evil.example", "http://127.0.0.1:9999", "https://localhost:8321", "http://127.0.0.1", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_a_foreign_origin_is_refused_with_any_method(client: TestClient, origin: str, method: str) -> None:
    answer = client.request(method, "/v1/predict", headers={"Origin": origin}, json=ASK)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_own_origin_is_let_in(client: TestClient) -> None:
    assert client.post("/v1/predict", json=ASK, headers={"Origin": "http://127.0.0.1:8321"}).status_code == 200


ROUTES = [
    ("GET", "/v1/status"),
    ("GET", "/v1/domains"),
    ("POST", "/v1/predict"),
    ("POST", "/v1/teach"),
    ("POST", "/v1/teach/check"),
    ("GET", "/v1/jobs"),
    ("GET", f"/v1/jobs/{'0' * 32}/events"),
    ("POST", f"/v1/jobs/{'0' * 32}/publish"),
    ("POST", "/v1/rollback"),
    ("GET", "/v1/exports/pack"),
    ("GET", "/v1/samples/headphones"),
    ("GET", "/v1/nothing"),
    ("GET", "/metrics"),
    ("GET", "/metrics/"),
    ("GET", "/v1/status/"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("token", ["", "Bearer", "Bearer wrong", "Basic a-token-for-tests", "a-token-for-tests"])
def test_every_route_of_the_api_needs_the_token(client: TestClient, method: str, path: str, token: str) -> None:
    answer = client.request(method, f"{path}?token=a-token-for-tests", headers={"Authorization": token})
    assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"


def test_the_page_and_the_probes_need_no_token(client: TestClient) -> None:
    del client.headers["Authorization"]
    for path in ("/", "/healthz", "/readyz", "/openapi.json"):
        assert client.get(path).status_code == 200, path


def test_every_answer_carries_the_headers_that_keep_a_browser_safe(client: TestClient) -> None:
    for path in ("/", "/v1/status", "/v1/nothing", "/nothing", "/healthz"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'"), path
        assert headers["x-content-type-options"] == "nosniff" and "server" not in headers
        assert headers["cache-control"] == ("no-store" if path.startswith("/v1") else "no-cache")
    assert client.get("/").headers["etag"]


def chunks(total: int) -> Iterator[bytes]:
    for _ in range(total // 65536 + 1):
        yield b"x" * 65536


@pytest.mark.parametrize(
    ("path", "cap", "kind"),
    [
        ("/v1/predict", PREDICT_BYTES, "application/json"),
        ("/v1/teach/check", TEACH_BYTES, "text/csv"),
        ("/v1/teach?domain=new", TEACH_BYTES, "text/csv"),
        ("/v1/rollback", 65536, "application/json"),
    ],
)
def test_a_body_over_its_cap_is_refused_with_and_without_a_length(
    client: TestClient, taught_store: Path, path: str, cap: int, kind: str
) -> None:
    for content in (b"x" * (cap + 1), chunks(cap + 1)):
        answer = client.post(path, content=content, headers={"Content-Type": kind})
        assert answer.status_code == 413 and answer.json()["error"]["code"] == "too_large"
    assert not list((taught_store / "service" / "incoming").iterdir())
    assert not list((taught_store / "service" / "jobs").iterdir())


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
@pytest.mark.parametrize("path", ["/v1/predict", "/v1/teach?domain=new", "/v1/teach/check"])
def test_what_a_foreign_page_could_send_without_asking_is_refused(client: TestClient, kind: str, path: str) -> None:
    answer = client.post(path, content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415


def test_compressed_bodies_are_refused(client: TestClient) -> None:
    headers = {"Content-Type": "text/csv", "Content-Encoding": "gzip"}
    assert client.post("/v1/teach/check", content=gzip.compress(b"x"), headers=headers).status_code == 415


def test_nothing_of_a_request_comes_back_in_an_error_or_a_log(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (None, "classic.serving", "classic.serving.access"):
        caplog.set_level(logging.DEBUG, logger=name)
    bad_row = f"sentence,aspect,polarity\n{SECRET} is,{SECRET},{SECRET}\n"
    answers = [
        client.post("/v1/predict", json={"inputs": SECRET}),
        client.post("/v1/predict", json={SECRET: 1, "inputs": [{"sentence": SECRET}]}),
        client.post("/v1/predict", json={"inputs": [{"sentence": SECRET, "aspects": [{"start": 5, "end": 99}]}]}),
        client.post("/v1/predict", json={"inputs": [{"sentence": SECRET + "\0", "aspects": [SECRET]}]}),
        client.post("/v1/predict", json={"inputs": [{"sentence": SECRET, "aspects": ["a"]}], "domain": SECRET}),
        client.post("/v1/predict", content=f'{{"inputs": {SECRET}', headers={"Content-Type": "application/json"}),
        client.post("/v1/predict", content=f'{{"inputs": "\\{SECRET}', headers={"Content-Type": "application/json"}),
        client.post("/v1/teach", params={"domain": SECRET}, content=bad_row, headers={"Content-Type": "text/csv"}),
        client.post("/v1/teach", params={"domain": f"{SECRET}/"}, content="x", headers={"Content-Type": "text/csv"}),
        client.post(f"/v1/{SECRET}"),
        client.get(f"/v1/samples/{SECRET}"),
        client.get(f"/v1/exports/{SECRET}"),
        client.get(f"/v1/versions/{SECRET}"),
        client.get(f"/v1/jobs/{SECRET}"),
    ]
    for number, answer in enumerate(answers):
        assert 400 <= answer.status_code < 500, number
        assert SECRET not in answer.text, number
        assert answer.json()["error"]["message"], number
    assert client.post("/v1/predict", json={"inputs": [{"sentence": SECRET, "aspects": [SECRET]}]}).status_code == 200
    ours = [record for record in caplog.records if record.name.startswith(("classic", "uvicorn"))]
    assert ours and not any(SECRET in record.getMessage() for record in ours)


@pytest.mark.parametrize(
    ("body", "status", "message", "detail"),
    [
        (b'{"inputs":\n [,]}', 422, "the body is no JSON", (None, 2, 3, "Expecting value")),
        (b'{"inputs": [{"sentence": "\xff"}]}', 400, "the body cannot be read", None),
        (b"[" * 100_000, 400, "the body cannot be read", None),
        (b"", 422, "the request is not as the API describes it", (None, None, None, "the body is empty")),
        (
            b'{"inputs": [{"sentence": "a\\u0000"}]}',
            422,
            "the request is not as the API describes it",
            ("inputs.0.sentence", None, None, "NUL or half a surrogate pair"),
        ),
    ],
)
def test_what_is_wrong_with_a_body_is_told_with_its_place(
    client: TestClient, body: bytes, status: int, message: str, detail: tuple[Any, ...] | None
) -> None:
    answer = client.post("/v1/predict", content=body, headers={"Content-Type": "application/json"})
    error = answer.json()["error"]
    assert (answer.status_code, error["message"]) == (status, message) and error["fix"]
    assert [tuple(each.values()) for each in error["details"]] == ([detail] if detail else [])


def test_what_a_parameter_may_be_is_told(client: TestClient) -> None:
    answer = client.post("/v1/teach?domain=a&publish=now", content=b"x", headers={"Content-Type": "text/csv"})
    assert answer.json()["error"]["details"][0]["problem"] == "Input should be 'ask' or 'auto'"


def test_a_named_host_is_let_in(serve: Serve, taught_store: Path) -> None:
    from classic.serving.app import create_app
    from classic.serving.guard import Access
    from classic.serving.service import Service, ServiceConfig
    from classic.store.store import Store

    config = ServiceConfig(access=Access("t", frozenset({"reviews.example"})))
    with TestClient(create_app(Service(Store.open(taught_store), config)), base_url="http://reviews.example") as client:
        assert client.get("/v1/status", headers={"Authorization": "Bearer t"}).status_code == 200
        assert client.get("/v1/status", headers=BEARER).status_code == 401


def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    token = read_token(tmp_path / "service", None)
    assert read_token(tmp_path / "service", None) == token and len(token) >= 43
    assert (tmp_path / "service" / "token").stat().st_mode & 0o777 == 0o600
    assert read_token(tmp_path / "service", "given") == "given"


@pytest.mark.parametrize("first", [None, b"half"])
def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, first: bytes | None) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.05)

    async def work() -> None:
        pieces = [first] if first else []

        async def receive() -> dict[str, object]:
            if pieces:
                return {"type": "http.request", "body": pieces.pop(), "more_body": True}
            await asyncio.Event().wait()  # for ever
            return {}

        limited = guard._limited(receive, 1000)
        while True:
            await limited()

    with pytest.raises(ApiError) as refused:
        asyncio.run(asyncio.wait_for(work(), 30))
    assert (refused.value.status, refused.value.code) == (408, "too_slow")
