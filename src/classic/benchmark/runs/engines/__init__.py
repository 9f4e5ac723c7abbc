"""Where jobs are carried out: on this machine, one after the other, or on a Ray cluster."""

from __future__ import annotations

from classic.benchmark.runs.runner import Engine
from classic.errors import InputError, unknown_name


def find(name: str, address: str | None = None) -> Engine:
    """The engine of that name."""
    if name == "local":
        from classic.benchmark.runs.engines.local import Local

        if address is not None:
            raise InputError("--address needs the engine ray", fix="add --engine ray, or leave --address out")
        return Local()
    if name == "ray":
        from classic.benchmark.runs.engines.on_ray import OnRay

        return OnRay(address)
    raise unknown_name("engine", name, ["local", "ray"])
