"""What a refusal under overload costs the service, in CPU of its thread: by the application, and written at once.

    python benchmarks/service/refusal.py [--number 2000] [--output benchmarks/service/refusal.json]

One connection asks for a prediction again and again while the queue is full. The whole application stands behind the
first; nothing of it is asked by the second. Taken in turns, so that other work on the machine falls on both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn
from load import TOKEN, make_store
from uvicorn.server import ServerState

from classic.files import write_json
from classic.serving.app import create_app
from classic.serving.connections import Connection, Crowd
from classic.serving.guard import Access
from classic.serving.problems import overloaded
from classic.serving.service import Service, ServiceConfig
from classic.serving.shedding import Shedder
from classic.serving.telemetry import Telemetry
from classic.store.store import Store

ROUNDS = 5
BODY = json.dumps({"inputs": [{"sentence": "The crema is lovely.", "aspects": ["crema"]}]}).encode()
HEAD = f"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
QUESTION = f"{HEAD}Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY


def full() -> None:
    raise overloaded(3.0)


def ask(port: int, number: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as stream:
        for _ in range(number):
            stream.sendall(QUESTION)
            answer = stream.recv(65536)
            assert answer.startswith(b"HTTP/1.1 429"), answer[:80]
            while not answer.endswith(b"}"):
                answer += stream.recv(65536)


async def cost(app: Any, shedder: Shedder | None, number: int) -> float:
    """Microseconds of CPU of this thread for a refusal; the client is another thread."""
    kind = type("Measured", (Connection,), {"crowd": Crowd(100), "shedder": shedder})
    config = uvicorn.Config(app, http=kind, lifespan="off", log_config=None)
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: kind(config, state, {}), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = threading.Thread(target=ask, args=(port, number))
    began = time.thread_time()
    client.start()
    while client.is_alive():
        await asyncio.sleep(0.02)
    spent = time.thread_time() - began
    server.close()
    return 1e6 * spent / number


async def measure(store: Path, number: int) -> dict[str, Any]:
    service = Service(Store.open(store), ServiceConfig(access=Access(TOKEN)))
    service.live.batcher.admit = full  # type: ignore[method-assign]
    app, quick = create_app(service), Shedder(Access(TOKEN), full, Telemetry())
    rows = [(await cost(app, None, number), await cost(app, quick, number)) for _ in range(ROUNDS)]
    slow, fast = zip(*rows, strict=True)
    return {"number": number, "by_the_application_us": sorted(slow), "at_once_us": sorted(fast)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="a taught store")
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("refusal.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = asyncio.run(measure(options.store or make_store(Path(name)), options.number))
    write_json(options.output, found)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
