"""What Prometheus may know: counts and times, no texts, no names of domains."""

from __future__ import annotations

import logging

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope

log = logging.getLogger("classic.serving.access")

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Telemetry:
    """Counters of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "classic_requests", "Answered requests", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "classic_request_seconds",
            "Time to the end of an answer",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.predictions = Counter("classic_predictions", "Aspects judged", registry=self.registry)
        self.batches = Counter("classic_batches", "Forward passes", registry=self.registry)
        self.dropped = Counter("classic_dropped", "Aspects that nobody waited for any more", registry=self.registry)
        self.waiting = Gauge("classic_waiting_tokens", "Tokens in the queue", registry=self.registry)
        self.version = Gauge("classic_live_version", "The version that answers", registry=self.registry)
        self.moves = Counter("classic_version_moves", "Publishes and rollbacks", registry=self.registry)
        self.jobs = Counter("classic_jobs", "Teaching jobs by how they ended", ("state",), registry=self.registry)

    def request(self, scope: Scope, status: int, seconds: float) -> None:
        """Counts and logs one request by its route, never by its path or query."""
        found = scope.get("route")
        route = str(found.path) if found is not None and scope["path"].startswith(("/v1/", "/metrics")) else "other"
        method = scope["method"] if scope["method"] in ("GET", "POST") else "other"
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
        log.info("%s %s %d %.0f ms", method, route, status, 1000 * seconds)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self.registry)
