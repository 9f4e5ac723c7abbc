"""Ray, started here or joined elsewhere. The only place that knows how to keep it to this machine."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from classic.errors import DiskError, InputError


def start_ray(address: str | None, cpus: int, *, extra: str) -> Any:
    """The module `ray`, connected.

    Ray started here listens on loopback only and asks for a token that nobody else has. A running cluster is joined with
    the token its owner gave (``RAY_AUTH_TOKEN``).

    Args:
        address: Of a running cluster; None starts Ray here.
        cpus: How many CPUs Ray started here may give away, whatever the machine has.
        extra: The extra of this package that brings Ray, for the one who has not got it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before the import, which reads them all
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    if address is None:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # Ray's name for keeping to loopback, on Linux as well; an address of 127.0.0.1 it would replace by the machine's.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError:
        raise InputError("the engine ray needs Ray", fix=f"pip install 'classic-asc[{extra}]'") from None
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.WARNING}
    if address is None:
        ray.init("local", num_cpus=cpus, ignore_reinit_error=True, include_dashboard=False, **quiet)
        return ray
    try:
        ray.init(address, ignore_reinit_error=True, **quiet)
    except (ConnectionError, RuntimeError) as error:
        raise InputError(
            f"no Ray cluster answers at {address!r} ({error})",
            fix="check the address, and RAY_AUTH_TOKEN if the cluster asks for a token",
        ) from None
    return ray


@contextmanager
def enough_room(ray: Any) -> Iterator[None]:
    """Says in one sentence that Ray's memory for objects is full, and the disk it would write them to as well."""
    try:
        yield
    except (ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError):
        raise DiskError(
            "Ray has no room left, neither in its memory for objects nor on the disk it writes them to",
            fix="make room on that disk (RAY_TMPDIR names another) and do the same again; nothing that is done is lost",
            reason="no room left",
        ) from None
