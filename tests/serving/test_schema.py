"""The whole API as it describes itself: no 5xx, and no answer it does not tell of."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from .conftest import BEARER, Process, begin

CONFIG = """
[[operations]]
include-path = "/readyz"  # 503 is what it is for, once a rollback to version 0 has been tried
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "503"]

[[operations]]
include-path-regex = "/v1/jobs/.*"
parameters.job_id = "{job}"
"""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)


def test_schemathesis_finds_no_5xx_and_no_undocumented_answer(
    taught_store: Path, launch: Callable[..., Process], upload: bytes
) -> None:
    server = launch(taught_store)
    job = begin(server.client, upload)["id"]
    assert server.client.post(f"/v1/jobs/{job}/cancel").status_code == 200
    (taught_store.parent / "schemathesis.toml").write_text(CONFIG.replace("{job}", job))
    assert server.client.get("/openapi.json").json()["openapi"].startswith("3.1")
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
    options = {
        "--checks": ",".join(CHECKS),
        "--header": f"Authorization: {BEARER['Authorization']}",
        "--max-examples": "12",
        "--seed": "20210",
        "--generation-database": "none",
        "--request-timeout": "30",
        "--suppress-health-check": "all",
    }
    done = subprocess.run(
        [*command, "--continue-on-failure", *(part for pair in options.items() for part in pair)],
        capture_output=True,
        text=True,
        cwd=taught_store.parent,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    cases = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert cases and int(cases[1]) > 500, done.stdout[-2000:]
    assert server.process.poll() is None and server.client.get("/readyz").status_code == 200
