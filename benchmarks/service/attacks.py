"""What a local program without a token can do to the service. Traffic goes to 127.0.0.1 only; every attack ends by itself.

    python benchmarks/service/attacks.py [--store STORE] [--seconds 5] [--only "half headers"] [--output FILE]

Starts `classic serve` with 1,024 file descriptors on a copy of a store. Two clients ask one sentence after another, each
on a new connection: undisturbed, under an attack, and while the same program attacks somebody else, who answers at
once; three times in turn. What the third costs is the attacker's share of the machine, not the service's fault.

    half headers    1,100 connections that send half a header and no more; one that is closed is opened again
    endless header  one connection that sends a header line without an end, again and again
    readyz loops    32 connections that ask /readyz as fast as they are answered
    slow readers    200 connections that ask for the page's files and never read

Figures: p50, p90, p99 of the predictions, failures, CPU of the service for each, growth of the log and of the resident
memory. Attacker, clients and service share the cores of one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from load import TOKEN, Client, Tally, cpu_seconds, make_store, percentile

from classic.files import write_json

FILES = 1024
MOST_BYTES = 1 << 31
ROUNDS = 3
Attack = Callable[[str, int, asyncio.Event], Awaitable[int]]


class Server:
    """`classic serve` with few files and a log of its own."""

    def __init__(self, store: Path, log: Path) -> None:
        limit = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES})); "
        code = limit + "from classic.cli.main import run; run()"
        command = [sys.executable, "-c", code, "serve", str(store), "--port", "0"]
        environment = os.environ | {"CLASSIC_TOKEN": TOKEN}
        self.log = log
        self._stream = log.open("wb")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._stream, text=True, env=environment
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.match(r"(http://\S+)/#token=", line):
                self.url = found[1]
                return
        raise SystemExit("the service did not start")

    @property
    def memory(self) -> float:
        """Resident MiB."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found
        return int(found[1]) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self._stream.close()


async def predictions(url: str, seconds: float) -> Tally:
    """Two clients that ask one sentence after another."""
    tally, until = Tally(), time.perf_counter() + seconds

    async def one(number: int) -> None:
        client = Client(url)
        while time.perf_counter() < until:
            began = time.perf_counter()
            try:
                await asyncio.wait_for(client.predict(number, tally), 20)
            except (TimeoutError, OSError):
                tally.note(0, time.perf_counter() - began)
                client.close()
            number += 2
            client.close()  # a new connection for every question: whoever is shut out is noticed

    await asyncio.gather(one(0), one(1))
    return tally


async def half_headers(host: str, port: int, stop: asyncio.Event) -> int:
    opened = 0

    async def hold() -> None:
        nonlocal opened
        while not stop.is_set():
            with suppress(OSError):
                reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 5)
                opened += 1
                writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
                waits = [asyncio.ensure_future(reader.read()), asyncio.ensure_future(stop.wait())]
                await asyncio.wait(waits, return_when="FIRST_COMPLETED")
                for wait in waits:
                    wait.cancel()
                writer.close()
            await asyncio.sleep(1)

    await asyncio.gather(*(hold() for _ in range(1100)), return_exceptions=True)
    return opened


async def endless_header(host: str, port: int, stop: asyncio.Event) -> int:
    sent = 0
    while not stop.is_set() and sent < MOST_BYTES:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Endless: ")
            while not stop.is_set() and sent < MOST_BYTES:
                writer.write(b"x" * 65536)
                await writer.drain()
                sent += 65536
        await asyncio.sleep(0.01)
    return sent


async def readyz_loops(host: str, port: int, stop: asyncio.Event) -> int:
    asked = 0

    async def loop() -> None:
        nonlocal asked
        client = Client(f"http://{host}:{port}")
        while not stop.is_set():
            try:
                await asyncio.wait_for(client.send("GET", "/readyz", token=False), 2)
                asked += 1
            except (OSError, EOFError):
                client.close()
                await asyncio.sleep(0.1)
        client.close()

    await asyncio.gather(*(loop() for _ in range(32)))
    return asked


async def slow_readers(host: str, port: int, stop: asyncio.Event) -> int:
    opened = []
    for _ in range(200):
        with suppress(OSError):
            _, writer = await asyncio.open_connection(host, port, limit=1024)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200)
            opened.append(writer)
    await stop.wait()
    for writer in opened:
        writer.close()
    return len(opened)


ATTACKS: dict[str, Attack] = {
    "half headers": half_headers,
    "endless header": endless_header,
    "readyz loops": readyz_loops,
    "slow readers": slow_readers,
}


def sink() -> None:
    """Somebody else to attack: takes every connection, reads 64 KiB of it, answers at once. Tells its port first."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            for _ in range(64):
                said = await reader.read(1024)
                if not said:
                    break
                if said.endswith(b"\r\n\r\n"):
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            writer.transport.abort()

    async def serve() -> None:
        server = await asyncio.start_server(take, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(serve())


def attacker(name: str, host: str, port: int, seconds: float) -> None:
    """In a process of its own, at a lower priority: another program's work must not be taken for the service's."""
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))

    async def attack() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, stop.set)
        print(await ATTACKS[name](host, port, stop))

    asyncio.run(attack())


def figures(tally: Tally) -> dict[str, Any]:
    shares = {f"p{round(100 * share)}_ms": percentile(tally.seconds, share) for share in (0.5, 0.9, 0.99)}
    failed = tally.failed + tally.late + len(tally.refused)
    return {"answered": len(tally.seconds), "failed": failed} | shares


def attacked(name: str, address: str, url: str, seconds: float) -> tuple[Tally, int]:
    """Predictions of one service while an address is attacked, and how much of it there was."""
    command = [sys.executable, __file__, "--attack", name, *address.split(":"), str(seconds + 2)]
    attack = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    tally = asyncio.run(predictions(url, seconds))
    did = int((attack.communicate()[0] or "0").strip() or 0)
    time.sleep(1)
    return tally, did


def measure(store: Path, folder: Path, seconds: float, only: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"files": FILES, "rounds": ROUNDS}
    elsewhere = subprocess.Popen([sys.executable, __file__, "--sink"], stdout=subprocess.PIPE, text=True)
    assert elsewhere.stdout is not None
    other = f"127.0.0.1:{elsewhere.stdout.readline().strip()}"
    for name in only or ATTACKS:
        busy = os.getloadavg()[0]
        server = Server(store, folder / f"{name}.log")
        address, pid = server.url.removeprefix("http://"), server.process.pid
        asyncio.run(predictions(server.url, 2))  # warm
        memory, log, did = server.memory, server.log.stat().st_size, 0
        tallies = {"undisturbed": Tally(), "attacked": Tally(), "attack on another": Tally()}
        spent = dict.fromkeys(tallies, 0.0)
        for _ in range(ROUNDS):
            for kind, total in tallies.items():
                began = cpu_seconds(pid)
                if kind == "undisturbed":
                    tally = asyncio.run(predictions(server.url, seconds))
                else:
                    tally, much = attacked(name, address if kind == "attacked" else other, server.url, seconds)
                    did += much if kind == "attacked" else 0
                spent[kind] += cpu_seconds(pid) - began
                total.add(tally)
        rows = {kind: figures(tally) for kind, tally in tallies.items()}
        for kind, row in rows.items():
            row["cpu_ms_each"] = 1000 * spent[kind] / max(1, row["answered"])
        found[name] = rows | {
            "attack": did,
            "seconds": seconds,
            "load_before": busy,
            "p99_ratio": rows["attacked"]["p99_ms"] / rows["undisturbed"]["p99_ms"],
            "p99_ratio_of_attack_on_another": rows["attack on another"]["p99_ms"] / rows["undisturbed"]["p99_ms"],
            "p99_against_attack_on_another": rows["attacked"]["p99_ms"] / rows["attack on another"]["p99_ms"],
            "log_bytes": server.log.stat().st_size - log,
            "memory_growth_mib": server.memory - memory,
        }
        print(name, json.dumps(found[name]), flush=True)
        server.stop()
    elsewhere.terminate()
    elsewhere.wait()
    return found


def main() -> None:
    if sys.argv[1:2] == ["--sink"]:
        with suppress(KeyboardInterrupt):
            sink()
        return
    if sys.argv[1:2] == ["--attack"]:
        attacker(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="a taught store; it is copied")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", nargs="*", default=[], choices=list(ATTACKS), help="the others keep their figures")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("attacks.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = options.store or make_store(folder)
        copy = Path(shutil.copytree(store, folder / "served.store", ignore=shutil.ignore_patterns("service", "work")))
        found = measure(copy, folder, options.seconds, options.only)
    found["machine"] = {"cores": os.cpu_count(), "type": platform.machine()}
    before = json.loads(options.output.read_text()) if options.only and options.output.is_file() else {}
    write_json(options.output, before | found)


if __name__ == "__main__":
    main()
