"""What happened when: phases, states of alerts, notifications, delay of the bearer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal, Self

from sojourn_demo import DemoError
from sojourn_demo.ops.stack import Prometheus
from sojourn_demo.programs import LOOPBACK

DELAY: Final = "1000 * max(sojourn_gnb_rlc_hol_max_seconds)"
"""Age of the head of the RLC buffer, ms; the gNB exports it, so it is there without controller."""
Kind = Literal["phase", "pending", "firing", "inactive", "notified", "resolved"]
MAX_BODY: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, in s of the run.

    Attributes:
        kind: A phase began; an alert's state in Prometheus; Alertmanager sent a notification that
            an alert fires, or that it is resolved.
        name: Of the phase or alert.
        text: One sentence.
    """

    at_s: float
    kind: Kind
    name: str
    text: str = ""


@dataclass(slots=True)
class Timeline:
    """Events and samples of a run."""

    started_s: float = field(default_factory=time.monotonic)
    events: list[Event] = field(default_factory=list)
    delay_ms: list[tuple[float, float]] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    """State of each alert that was ever pending or firing."""

    def now_s(self) -> float:
        """Seconds since the start."""
        return round(time.monotonic() - self.started_s, 2)

    def add(self, kind: Kind, name: str, text: str = "") -> None:
        """Records an event of now."""
        self.events.append(Event(self.now_s(), kind, name, text))

    def last(self, kind: Kind, name: str, since_s: float = 0.0) -> float | None:
        """When the newest such event since `since_s` happened."""
        times = [e.at_s for e in self.events if (e.kind, e.name) == (kind, name)]
        return max((at_s for at_s in times if at_s >= since_s), default=None)

    def poll(self, prometheus: Prometheus) -> None:
        """Reads delay and alerts; an unanswered request leaves a gap."""
        try:
            samples, alerts = prometheus.query(DELAY), prometheus.alerts()
        except (DemoError, OSError):
            return
        for sample in samples:
            self.delay_ms.append((self.now_s(), float(sample["value"][1])))
        now: dict[str, str] = {}
        texts: dict[str, str] = {}
        # "pending" sorts after "firing", so an alert that fires for one label set fires.
        for alert in sorted(alerts, key=lambda alert: str(alert["state"]), reverse=True):
            name = alert["labels"]["alertname"]
            now[name] = alert["state"]
            texts[name] = alert["annotations"].get("description", "")
        for name in sorted(now.keys() | self.states.keys()):
            state: Any = now.get(name, "inactive")
            if state != self.states.get(name, "inactive"):
                self.add(state, name, texts.get(name, ""))
            self.states[name] = state

    def as_json(self) -> dict[str, Any]:
        """Events and samples for ``ops.json``."""
        return {
            "events": [asdict(event) for event in self.events],
            "delay_ms": [list(sample) for sample in self.delay_ms],
        }


class Receiver:
    """The NOC's end: an HTTP server on loopback that records Alertmanager's notifications."""

    def __init__(self, timeline: Timeline) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """A notification of Alertmanager's webhook."""
                length = min(int(self.headers.get("Content-Length", 0)), MAX_BODY)
                try:
                    _record(timeline, json.loads(self.rfile.read(length))["alerts"])
                except (ValueError, KeyError, TypeError):
                    self.send_error(400)
                    return
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Requests are in the timeline."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where notifications are posted."""
        return f"http://{LOOPBACK}:{self._server.server_port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _record(timeline: Timeline, alerts: Iterable[dict[str, Any]]) -> None:
    for alert in alerts:
        kind: Kind = "resolved" if alert["status"] == "resolved" else "notified"
        timeline.add(kind, alert["labels"]["alertname"], alert["annotations"].get("summary", ""))
