"""Load on the service from a second process, over loopback.

    python benchmarks/service/load.py [--store STORE] [--seconds 8] [--output benchmarks/service/load.json]

Starts `classic serve` on a copy of a store (without one, a store that learned the first three demo domains for an epoch
each), then asks from this process, one sentence with one aspect per request:

    closed loop     1, 8 and 64 clients that ask again as soon as they are answered: sentences/s, p50, p99
    batching off    the same with --batching off; the ratio is what micro-batching is worth
    steady          arrivals at 50 % and 80 % of the peak, open loop: errors, p99 and p99.9 against one question alone
    overload        arrivals at five times the peak, open loop: goodput, how fast the rest is refused, anything lost
    moves           20 publishes and 5 rollbacks under 8 clients: failed requests

Figures of a machine that does other work at the same time are lower bounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from classic.data import DEMO_DOMAINS, load_demo
from classic.files import write_json
from classic.learning.sequence import learn_sequence
from classic.store.store import Store
from classic.systems.system import SystemConfig

TOKEN = "benchmark"
CLIENTS = (1, 8, 64)
OVERLOAD = 5.0
STEADY = (0.5, 0.8)
PUBLISHES, ROLLBACKS = 20, 5
SENTENCES = [(e.sentence, e.aspect) for name in DEMO_DOMAINS for e in load_demo(name).test]
BODIES = [json.dumps({"inputs": [{"sentence": s, "aspects": [a]}]}).encode() for s, a in SENTENCES]


@dataclass
class Tally:
    """What came of the requests."""

    seconds: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    late: int = 0
    failed: int = 0

    def add(self, other: Tally) -> None:
        self.seconds += other.seconds
        self.refused += other.refused
        self.late += other.late
        self.failed += other.failed

    def note(self, status: int, seconds: float) -> None:
        if status == 200:
            self.seconds.append(seconds)
        elif status in (429, 503):  # the queue is full, or there are too many connections
            self.refused.append(seconds)
        elif status == 504:
            self.late += 1
        else:
            self.failed += 1


def percentile(values: list[float], share: float) -> float | None:
    return 1000 * sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


class Server:
    """`classic serve` in a process of its own."""

    def __init__(self, store: Path, *options: str) -> None:
        code = "from classic.cli.main import run; run()"
        command = [sys.executable, "-c", code, "serve", str(store), "--port", "0", "--margin", "100", *options]
        environment = os.environ | {"CLASSIC_TOKEN": TOKEN}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.match(r"(http://\S+)/#token=", line):
                self.url = found[1]
                return
        raise SystemExit("the service did not start")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(60)


class Client:
    """One connection that asks and waits: plain HTTP/1.1, so that the client's own work does not drown the service's."""

    def __init__(self, url: str) -> None:
        self._address = url.removeprefix("http://")
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, method: str, path: str, body: bytes = b"", *, token: bool = True) -> tuple[int, bytes]:
        """Status and body of the answer."""
        if self._stream is None:
            host, _, port = self._address.partition(":")
            self._stream = await asyncio.open_connection(host, int(port))
        reader, writer = self._stream
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._address}\r\n"
        head += f"Authorization: Bearer {TOKEN}\r\n" if token else ""
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        headers = (await reader.readuntil(b"\r\n\r\n")).decode().casefold()
        length = re.search(r"content-length: (\d+)", headers)
        answer = await reader.readexactly(int(length[1]) if length else 0)
        if "connection: close" in headers:
            self.close()
        return int(headers.split(" ", 2)[1]), answer

    async def predict(self, number: int, tally: Tally) -> None:
        """Asks one question and notes what came of it."""
        began = time.perf_counter()
        try:
            status, _ = await self.send("POST", "/v1/predict", BODIES[number % len(BODIES)])
        except (OSError, EOFError):
            status = 0
            self.close()
        tally.note(status, time.perf_counter() - began)

    def close(self) -> None:
        if self._stream is not None:
            self._stream[1].close()
        self._stream = None


async def closed_loop(url: str, clients: int, seconds: float) -> dict[str, Any]:
    """So many clients that ask again as soon as they are answered."""
    tally = Tally()
    began = time.perf_counter()

    async def one(number: int) -> None:
        client = Client(url)
        while time.perf_counter() < began + seconds:
            await client.predict(number, tally)
            number += clients
        client.close()

    await asyncio.gather(*(one(start) for start in range(clients)))
    took = time.perf_counter() - began
    return {
        "clients": clients,
        "sentences_per_second": len(tally.seconds) / took,
        "p50_ms": percentile(tally.seconds, 0.5),
        "p99_ms": percentile(tally.seconds, 0.99),
        "refused": len(tally.refused),
        "failed": tally.failed + tally.late,
    }


async def open_loop(url: str, rate: float, seconds: float) -> dict[str, Any]:
    """Arrivals at a fixed rate, whatever the answers do."""
    tally, idle, tasks = Tally(), list[Client](), []

    async def one(number: int) -> None:
        client = idle.pop() if idle else Client(url)
        await client.predict(number, tally)
        idle.append(client)

    began = time.perf_counter()
    for number in range(int(rate * seconds)):
        if (wait := began + number / rate - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(number)))
    sent = time.perf_counter() - began
    await asyncio.gather(*tasks)
    took = time.perf_counter() - began
    for client in idle:
        client.close()
    return {
        "asked_per_second": len(tasks) / sent,
        "asked": len(tasks),
        "answered": len(tally.seconds),
        "goodput_per_second": len(tally.seconds) / took,
        "refused": len(tally.refused),
        "refused_p50_ms": percentile(tally.refused, 0.5),
        "refused_p99_ms": percentile(tally.refused, 0.99),
        "accepted_but_late": tally.late,
        "failed": tally.failed,
        "answered_p50_ms": percentile(tally.seconds, 0.5),
        "answered_p99_ms": percentile(tally.seconds, 0.99),
        "answered_p999_ms": percentile(tally.seconds, 0.999),
    }


async def moves(url: str, seconds_between: float) -> dict[str, Any]:
    """Publishes and rollbacks while 8 clients ask.

    A publish is a pointer move to the next version, a rollback one to the version before: both load a version, move the
    pointer and exchange the model, which is all a publish does once its domain is trained.
    """
    tally, stop, took = Tally(), asyncio.Event(), list[float]()

    async def one(number: int) -> None:
        client = Client(url)
        while not stop.is_set():
            await client.predict(number, tally)
            number += 8
        client.close()

    asking = [asyncio.create_task(one(start)) for start in range(8)]
    client = Client(url)
    newest = json.loads((await client.send("GET", "/v1/versions"))[1])["live"]
    forwards = [number % newest + 1 for number in range(PUBLISHES)]
    for version in [*forwards, *([newest, 1] * ROLLBACKS)[:ROLLBACKS]]:
        began = time.perf_counter()
        status, _ = await client.send("POST", "/v1/rollback", json.dumps({"version": version}).encode())
        took.append(time.perf_counter() - began)
        assert status == 200, status
        await asyncio.sleep(seconds_between)
    stop.set()
    await asyncio.gather(*asking)
    client.close()
    return {
        "publishes": PUBLISHES,
        "rollbacks": ROLLBACKS,
        "answered": len(tally.seconds),
        "failed": tally.failed + tally.late + len(tally.refused),
        "p99_ms": percentile(tally.seconds, 0.99),
        "move_p50_ms": percentile(took, 0.5),
    }


def cpu_seconds(pid: int) -> float:
    """Seconds of CPU a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_store(folder: Path) -> Path:
    """Three demo domains, an epoch each: as large and as fast as a well-taught one."""
    config = SystemConfig.preset("default", changes={"train.epochs": 1})
    learn_sequence(folder / "made.store", [load_demo(name) for name in DEMO_DOMAINS[:3]], config, rows="last")
    return folder / "made.store"


def measure(store: Path, seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = {"domains": len(Store.open(store).domains())}
    with Server(store, "--batching", "off") as server:
        asyncio.run(closed_loop(server.url, 8, 2))  # warm
        found["batching_off"] = [asyncio.run(closed_loop(server.url, clients, seconds)) for clients in CLIENTS]
    with Server(store) as server:
        asyncio.run(closed_loop(server.url, 8, 2))
        found["batching_on"] = [asyncio.run(closed_loop(server.url, clients, seconds)) for clients in CLIENTS]
        peak = max(row["sentences_per_second"] for row in found["batching_on"])
        alone = found["batching_on"][0]["p50_ms"]
        found["steady"] = {}
        for share in STEADY:
            row = asyncio.run(open_loop(server.url, share * peak, 2 * seconds))
            ratios = {f"{name}_against_alone": row[f"answered_{name}_ms"] / alone for name in ("p99", "p999")}
            found["steady"][f"{share:.0%}"] = row | ratios
        busy = cpu_seconds(server.process.pid)
        calm = asyncio.run(closed_loop(server.url, 64, seconds))
        spent = {"peak": (cpu_seconds(server.process.pid) - busy) / (calm["sentences_per_second"] * seconds)}
        os.nice(10)  # hundreds of clients are somebody else's machines: they must not take the service's cores
        busy = cpu_seconds(server.process.pid)
        found["overload"] = asyncio.run(open_loop(server.url, OVERLOAD * peak, seconds))
        found["overload"]["share_of_peak"] = found["overload"]["goodput_per_second"] / peak
        # What a sentence costs the service, refusals included: says the same on a busy machine as on an idle one.
        spent["overload"] = (cpu_seconds(server.process.pid) - busy) / max(1, found["overload"]["answered"])
        found["overload"]["cpu_seconds_per_sentence"] = spent
        found["overload"]["share_of_peak_by_cpu"] = spent["peak"] / spent["overload"]
        found["moves"] = asyncio.run(moves(server.url, 0.2))
    found["batching_ratio"] = {
        str(on["clients"]): on["sentences_per_second"] / off["sentences_per_second"]
        for on, off in zip(found["batching_on"], found["batching_off"], strict=True)
    }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="a taught store; it is copied")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("load.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = options.store or make_store(folder)
        copy = Path(shutil.copytree(store, folder / "served.store", ignore=shutil.ignore_patterns("service", "work")))
        busy = os.getloadavg()[0]
        found = measure(copy, options.seconds)
    found["machine"] = {"cores": os.cpu_count(), "type": platform.machine(), "load_before": busy}
    write_json(options.output, found)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
