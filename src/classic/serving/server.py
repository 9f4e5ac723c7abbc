"""Starting and ending: one process, one loop, one socket."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from classic.errors import InputError
from classic.serving.app import create_app
from classic.serving.connections import ACCEPTS, Connection, Crowd
from classic.serving.guard import LOOPBACK
from classic.serving.service import Service, ServiceConfig
from classic.serving.shedding import Shedder
from classic.serving.wiping import overwrite_freed_memory
from classic.store.store import Store

_DRAIN_SECONDS = 10
_QUEUE = 1024  # connections that wait to be accepted


def serve(store: Store, config: ServiceConfig, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serves a store until SIGTERM or Ctrl-C; then answers what was accepted and ends.

    Args:
        store: The store.
        config: How.
        host: The address to listen on.
        port: The port; 0 lets the system choose.
        tell: Told the address once the service answers.
    """
    if not is_loopback(host) and (config.access.token is None or not config.access.hosts):
        raise InputError(
            f"{host} can be reached from other machines",
            fix="give --allow-host NAME for the name it is reached by, and keep the token",
        )
    listener = _listen(host, port)
    overwrite_freed_memory()
    asyncio.run(_serve(store, config, listener, tell))


async def _serve(store: Store, config: ServiceConfig, listener: socket.socket, tell: Callable[[str], None]) -> None:
    service = Service(store, config)
    shedder = Shedder(config.access, service.live.batcher.admit, service.telemetry)
    server = _Server(
        uvicorn.Config(
            create_app(service),
            http=type("Connection", (Connection,), {"crowd": Crowd(), "shedder": shedder}),
            backlog=ACCEPTS,
            lifespan="off",  # an error at the start is told like any other, not as a traceback
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_DRAIN_SECONDS,
        )
    )

    def leave() -> None:
        service.drain()
        server.force_exit = server.should_exit
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, leave)
    try:
        await service.start()
        address, port = listener.getsockname()[:2]
        tell(f"http://{f'[{address}]' if ':' in address else address}:{port}/")
        await server.serve(sockets=[listener])
    finally:
        await service.stop()


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn would raise them again at the end, before the teaching process is stopped."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:  # asyncio has one number for both: how many wait, and how many it takes at once
            listener.listen(_QUEUE)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host in LOOPBACK:
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # asyncio does this only for sockets that name their protocol; without it answers wait 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(_QUEUE)  # who connects as soon as the address is told waits, and is not refused
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port} ({error.strerror})", fix="choose another --port") from None
    return listener
