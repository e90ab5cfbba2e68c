"""Whether a gRPC server is at the configured address."""

from __future__ import annotations

from typing import Final

from ric_doctor.facts import Door, Reach
from ric_doctor.finding import Check, Finding
from ric_doctor.text import duration

SLOW_US: Final = 50_000
"""Reading a list in memory takes well under 1 ms; at this latency a control takes longer than the
delay of most queues."""

_WHY: Final = "No xApp can work: no nodes, no reports, no control."

_DOORS: Final[dict[Door, tuple[str, str]]] = {
    Door.NAME_UNKNOWN: (
        "the name does not resolve ({detail})",
        "Correct the address, or look it up from this machine (in Kubernetes: service.namespace).",
    ),
    Door.REFUSED: (
        "nothing listens there ({detail})",
        "Start it, or correct host and port. A server on 127.0.0.1 cannot be reached from"
        " another machine or pod.",
    ),
    Door.UNREACHABLE: (
        "the machine cannot be reached ({detail})",
        "Check routes and network policies between here and there.",
    ),
    Door.NO_ANSWER: (
        "the connection is neither accepted nor refused ({detail})",
        "Packets are dropped on the way: check firewalls and network policies; or the machine is"
        " down.",
    ),
    Door.SILENT: (
        "the connection opens, but the server sends nothing ({detail})",
        "The program hangs, or a proxy holds the connection open. Read its log, then restart it.",
    ),
    Door.CLOSES: (
        "the connection opens and is closed at once ({detail})",
        "Another protocol is served there, a proxy has no backend, or the program is stopping."
        " Check the port.",
    ),
    Door.TLS_WANTED: (
        "the server uses TLS, the settings say plain text",
        "Set gateway.tls.enabled: true, and gateway.tls.ca_file to the CA of its certificate.",
    ),
    Door.PLAIN_TEXT: (
        "the server uses plain text, the settings say TLS",
        "Give the server a certificate; or, on loopback only, set gateway.tls.enabled: false.",
    ),
    Door.HTTP1: (
        "answers in HTTP/1, not gRPC",
        "This is a web or metrics port. Use the gRPC port; a proxy in between must support HTTP/2.",
    ),
    Door.NOT_HTTP2: (
        "answers with something that is not HTTP/2 ({detail})",
        "Another program listens there; check the port.",
    ),
    Door.CERTIFICATE: (
        "its certificate is not accepted ({detail})",
        "Set gateway.tls.ca_file to the CA that signed it, gateway.tls.server_name to a name in it,"
        " or renew it if it expired.",
    ),
    Door.CLIENT_CERTIFICATE: (
        "requires a client certificate and does not accept ours ({detail})",
        "Set gateway.tls.certificate_file and gateway.tls.key_file to a pair signed by the CA of"
        " the server.",
    ),
}

_CODES: Final[dict[str, tuple[str, str]]] = {
    "UNIMPLEMENTED": (
        "a gRPC server, but not an E2 gateway",
        "Check the port: the forecast stream and the E2 gateway are separate servers.",
    ),
    "UNAUTHENTICATED": (
        "does not know this client",
        "Set gateway.token_file or gateway.tls.certificate_file to those of a client in the access"
        " file of the gateway.",
    ),
    "PERMISSION_DENIED": (
        "denies access",
        "Give this client the right in the access file of the gateway, or use another client's"
        " certificate or token.",
    ),
    "DEADLINE_EXCEEDED": (
        "accepts the call, but does not answer",
        "The gateway hangs. Read its log and metrics, then restart it.",
    ),
    "UNAVAILABLE": (
        "accepts the connection, but drops the call",
        "Read the gateway's log: it is starting, stopping or overloaded.",
    ),
}


def of_gateway(reach: Reach) -> list[Finding]:
    """Of the E2 gateway."""
    check = "gateway"
    if (found := of_door(check, reach, _WHY)) is not None:
        return [found]
    if reach.code != "OK":
        what, remedy = _CODES.get(
            reach.code, ("answers a call with an error", "Look at the gateway's log.")
        )
        return [Check(check, reach.address).fail(f"{what} ({reach.detail})", _WHY, remedy)]
    slowest_us = max(reach.answers_us, default=0)
    quickest_us = min(reach.answers_us, default=0)
    what = f"answers in {duration(quickest_us)}"
    if quickest_us <= SLOW_US:
        return [Check(check, reach.address).ok(what)]
    return [
        Check(check, reach.address).warn(
            f"{what} at best, {duration(slowest_us)} at worst, to list its nodes",
            "Controls take the same path: the queue grows until one arrives.",
            "Check the load of the gateway's machine and the network in between; run the xApp next"
            " to its gateway.",
        )
    ]


def of_door(check: str, reach: Reach, why: str) -> Finding | None:
    """The failure before any call; `None` if there is none."""
    if reach.door is Door.ANSWERS:
        return None
    what, remedy = _DOORS[reach.door]
    if check != "gateway":
        remedy = remedy.replace("gateway.", f"{check}.")
    return Check(check, reach.address).fail(what.format(detail=reach.detail), why, remedy)
