"""Whether a gRPC server is where the settings say."""

from __future__ import annotations

from typing import Final

from ric_doctor.facts import Door, Reach
from ric_doctor.finding import Finding, Level, ok
from ric_doctor.text import duration

SLOW_US: Final = 50_000
"""A procedure that reads a list in memory takes well under a millisecond; at this, one control at
a time would be longer on its way than most queues are deep."""

_WHY: Final = "No xApp gets further than this: no nodes, no reports, no control."

_DOORS: Final[dict[Door, tuple[str, str]]] = {
    Door.NAME_UNKNOWN: (
        "the name does not resolve ({detail})",
        "Correct the address, or ask the DNS for it from this machine (in Kubernetes:"
        " service.namespace).",
    ),
    Door.REFUSED: (
        "nobody listens there ({detail})",
        "Start it, or correct host and port. One that listens on 127.0.0.1 cannot be reached from"
        " another machine or pod.",
    ),
    Door.UNREACHABLE: (
        "the machine cannot be reached ({detail})",
        "Look at routes and the network policy between here and there.",
    ),
    Door.NO_ANSWER: (
        "the connection is neither accepted nor refused ({detail})",
        "Something on the way drops packets: look at firewalls and network policies; or the machine"
        " is gone.",
    ),
    Door.SILENT: (
        "the connection opens and then nothing comes ({detail})",
        "The program behind the port hangs, or a proxy holds the connection open. Look at its log,"
        " then restart it.",
    ),
    Door.CLOSES: (
        "the connection opens and is closed at once ({detail})",
        "Another protocol is spoken there, a proxy has nobody behind it, or the program is just"
        " ending. Check the port.",
    ),
    Door.TLS_WANTED: (
        "speaks TLS, and the settings say plain text",
        "Set gateway.tls.enabled: true, and gateway.tls.ca_file to the CA of its certificate.",
    ),
    Door.PLAIN_TEXT: (
        "speaks plain text, and the settings say TLS",
        "Give the server a certificate; or, on loopback alone, set gateway.tls.enabled: false.",
    ),
    Door.HTTP1: (
        "answers in HTTP/1, not gRPC",
        "This is a web or metrics port. Give the gRPC port; a proxy between must speak HTTP/2.",
    ),
    Door.NOT_HTTP2: (
        "answers with something that is not HTTP/2 ({detail})",
        "Another program listens there. Check the port.",
    ),
    Door.CERTIFICATE: (
        "its certificate is not accepted ({detail})",
        "Set gateway.tls.ca_file to the CA that signed it, gateway.tls.server_name to a name in it,"
        " or renew it if it expired.",
    ),
    Door.CLIENT_CERTIFICATE: (
        "wants a certificate of ours and does not accept what it got ({detail})",
        "Set gateway.tls.certificate_file and gateway.tls.key_file to a pair signed by the CA that"
        " the server knows.",
    ),
}

_CODES: Final[dict[str, tuple[str, str]]] = {
    "UNIMPLEMENTED": (
        "a gRPC server, but not an E2 gateway",
        "Check the port: the forecast stream and the E2 gateway are two doors.",
    ),
    "UNAUTHENTICATED": (
        "does not know us",
        "Set gateway.token to a valid token.",
    ),
    "PERMISSION_DENIED": (
        "does not let us in",
        "Have the gateway's operator allow this client, or use another token.",
    ),
    "DEADLINE_EXCEEDED": (
        "accepts the call and does not answer it",
        "The gateway hangs behind its socket. Look at its log and its metrics, then restart it.",
    ),
    "UNAVAILABLE": (
        "accepts the connection and loses the call",
        "Look at the gateway's log: it is starting, stopping, or overloaded.",
    ),
}


def of_gateway(reach: Reach) -> list[Finding]:
    """Of the E2 gateway."""
    check = "gateway"
    if (found := of_door(check, reach, _WHY)) is not None:
        return [found]
    if reach.code != "OK":
        what, remedy = _CODES.get(
            reach.code,
            ("answers a call with an error", "Look at the gateway's log."),
        )
        return [Finding(Level.FAIL, check, reach.address, f"{what} ({reach.detail})", _WHY, remedy)]
    slowest_us = max(reach.answers_us, default=0)
    quickest_us = min(reach.answers_us, default=0)
    what = f"answers in {duration(quickest_us)}"
    if quickest_us <= SLOW_US:
        return [ok(check, reach.address, what)]
    return [
        Finding(
            Level.WARN,
            check,
            reach.address,
            f"{what} at best, {duration(slowest_us)} at worst, to list its nodes",
            "Controls go the same way: the queue has grown by the time one arrives.",
            "Look at the load of the gateway's machine and at the network in between; an xApp"
            " belongs beside its gateway.",
        )
    ]


def of_door(check: str, reach: Reach, why: str) -> Finding | None:
    """What is wrong before any call; `None` when nothing is."""
    if reach.door is Door.ANSWERS:
        return None
    what, remedy = _DOORS[reach.door]
    if check != "gateway":
        remedy = remedy.replace("gateway.", f"{check}.")
    return Finding(Level.FAIL, check, reach.address, what.format(detail=reach.detail), why, remedy)
