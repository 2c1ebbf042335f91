"""What the service counts, for Prometheus; no label has an id."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The numbers of one process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = own = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=own)
        self._requests = Counter(
            "sureness_requests", "Requests that were answered.", ["route", "method", "status"], registry=own
        )
        self._seconds = Histogram(
            "sureness_request_duration_seconds", "Time from the first byte of a request to its answer.", ["route"],
            buckets=_SECONDS, registry=own,
        )  # fmt: skip
        self._batches = Histogram(
            "sureness_batch_requests", "Requests that were computed together.", buckets=_SIZES, registry=own
        )
        self._reloads = Counter("sureness_reloads", "Other files that were found.", ["result"], registry=own)
        for result in ("loaded", "refused"):
            self._reloads.labels(result)
        self._notes = Counter("sureness_notes", "Answers that carry a note of the library.", registry=own)
        self._gauges = {
            name: Gauge(f"sureness_{name}", about, registry=own)
            for name, about in {
                "waiting_requests": "Requests that wait to be computed.",
                "artefact_loaded_timestamp_seconds": "When the file in force was loaded.",
                "artefact_refused": "1 if the newest file was refused and an older one is in force.",
                "users": "Users of the recommender.",
                "items": "Items of the recommender.",
                "unsure_users_ratio": "Share of the users looked at for whom no list is worth showing.",
                "list_size_mean": "Mean list size of the users looked at.",
            }.items()
        }
        self._children: dict[tuple[str, str, int], tuple[Callable[[], object], Callable[[float], object]]] = {}

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        key = route, method, status
        if key not in self._children:
            requests, durations = self._requests.labels(route, method, str(status)), self._seconds.labels(route)
            self._children[key] = requests.inc, durations.observe
        count, observe = self._children[key]
        count()
        observe(seconds)

    def batch(self, n_requests: int) -> None:
        self._batches.observe(n_requests)

    def reloaded(self, result: str) -> None:
        self._reloads.labels(result).inc()

    def noted(self) -> None:
        self._notes.inc()

    def text(self, now: dict[str, float]) -> bytes:
        """Everything in the text format, with the present values of the gauges."""
        for name, value in now.items():
            self._gauges[name].set(value)
        return generate_latest(self.registry)
