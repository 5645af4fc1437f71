"""What the server counts, and Prometheus' text form of it. Labels are few and ours: nothing of a request is one."""

import resource
import sys
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_COUNTERS: Final = {
    "requests": "Requests that were answered, by route and status.",
    "refused": "Requests that were refused before they were routed, by status.",
    "received_bytes": "Bytes of the bodies of requests.",
    "sent_bytes": "Bytes of the bodies of answers.",
    "upstream_errors": "Requests that failed at the model service, by kind.",
    "upstream_retries": "Requests that were sent to the model service once more.",
    "client_gone": "Requests whose client went away before the end of the answer.",
    "turns": "Turns that were recorded.",
    "turn_extensions": "Requests of tool loops that were recorded.",
    "auxiliary": "Requests that were passed on and are no turn, such as those for titles.",
    "added_tokens": "Tokens that were added to requests.",
    "recall_timeouts": "Requests that went without recall, because it took too long.",
    "warnings": "Requests that went on unchanged after a failure of ours.",
    "limited": "Requests that were refused because of a limit of their token.",
    "audit_dropped": "Rows of the log and the audit trail that were dropped, because too many waited.",
    "revoked_requests": "Requests that ended because their token was revoked or expired.",
}


class Metrics:
    """Counters, a histogram of seconds, and gauges that are asked when somebody reads them. Usable in any thread."""

    def __init__(self, gauges: Mapping[str, Callable[[], float]] | None = None) -> None:
        self.gauges: dict[str, Callable[[], float]] = dict(gauges or {})
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def add(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to a counter, by labels of few values."""
        with self._lock:
            self._counts[name, _labels(labels)] += amount

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._counts["requests", _labels({"route": route, "status": str(status)})] += 1
            buckets = self._seconds.setdefault(route, [0] * (len(_BUCKETS) + 1))
            buckets[bisect_left(_BUCKETS, seconds)] += 1
            self._sums[route] = self._sums.get(route, 0.0) + seconds

    def text(self) -> bytes:
        """Return everything in Prometheus' text form."""
        with self._lock:
            counts, sums = sorted(self._counts.items()), dict(self._sums)
            seconds = {route: list(buckets) for route, buckets in sorted(self._seconds.items())}
        lines = [*_counter_lines(counts), *_histogram_lines(seconds, sums), *self._gauge_lines()]
        return "".join(f"{line}\n" for line in lines).encode()

    def _gauge_lines(self) -> Iterator[str]:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        values = {"threads": float(threading.active_count()), "memory_peak_bytes": float(memory)}
        for name, value in (values | {name: read() for name, read in self.gauges.items()}).items():
            yield f"# TYPE promptuary_{name} gauge"
            yield f"promptuary_{name} {value:.10g}"


def _counter_lines(counts: "list[tuple[tuple[str, str], int]]") -> Iterator[str]:
    for name, text in _COUNTERS.items():
        yield f"# HELP promptuary_{name}_total {text}"
        yield f"# TYPE promptuary_{name}_total counter"
        rows = [(labels, count) for (counted, labels), count in counts if counted == name]
        yield from (f"promptuary_{name}_total{labels} {count}" for labels, count in rows or [("", 0)])


def _histogram_lines(seconds: Mapping[str, "list[int]"], sums: Mapping[str, float]) -> Iterator[str]:
    yield "# HELP promptuary_request_seconds How long requests took, to the last byte."
    yield "# TYPE promptuary_request_seconds histogram"
    for route, buckets in seconds.items():
        total = 0
        for most, count in zip((*map(str, _BUCKETS), "+Inf"), buckets, strict=True):
            total += count
            yield f"promptuary_request_seconds_bucket{_labels({'route': route, 'le': most})} {total}"
        yield f"promptuary_request_seconds_sum{_labels({'route': route})} {sums[route]:.6f}"
        yield f"promptuary_request_seconds_count{_labels({'route': route})} {total}"


def _labels(labels: Mapping[str, str]) -> str:
    return f"{{{','.join(f'{name}={chr(34)}{value}{chr(34)}' for name, value in labels.items())}}}" if labels else ""
