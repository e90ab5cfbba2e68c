"""Whether this client reaches the programs."""

from __future__ import annotations

from typing import Final

from ric_doctor.facts import Endpoint, PortState, Reach
from ric_doctor.finding import Check, Finding
from ric_doctor.text import duration

_WHY: Final = "No xApp can work: no nodes, no reports, no control."
_WHY_FORECASTS: Final = (
    "tc-controller detects violations only when they occur, and the CU's pacers use what they"
    " measure themselves."
)
_OTHER: Final = ("answers a call with an error", "Look at the gateway's log.")

_STATES: Final[dict[PortState, tuple[str, str]]] = {
    PortState.NAME_UNKNOWN: (
        "the name does not resolve ({detail})",
        "Correct the address, or look it up from this machine (in Kubernetes: service.namespace).",
    ),
    PortState.REFUSED: (
        "nothing listens there ({detail})",
        "Start it, or correct host and port. A server on 127.0.0.1 cannot be reached from"
        " another machine or pod.",
    ),
    PortState.UNREACHABLE: (
        "the machine cannot be reached ({detail})",
        "Check routes and network policies between here and there.",
    ),
    PortState.NO_ANSWER: (
        "the connection is neither accepted nor refused ({detail})",
        "Packets are dropped on the way: check firewalls and network policies; or the machine is"
        " down.",
    ),
    PortState.SILENT: (
        "the connection opens, but the server sends nothing ({detail})",
        "The program hangs, or a proxy holds the connection open. Read its log, then restart it.",
    ),
    PortState.CLOSES: (
        "the connection opens and is closed at once ({detail})",
        "Another protocol is served there, a proxy has no backend, or the program is stopping."
        " Check the port.",
    ),
    PortState.TLS_WANTED: (
        "the server uses TLS, the settings say plain text",
        "Set gateway.tls.enabled: true, and gateway.tls.ca_file to the CA of its certificate.",
    ),
    PortState.PLAIN_TEXT: (
        "the server uses plain text, the settings say TLS",
        "Give the server a certificate; or, on loopback only, set gateway.tls.enabled: false.",
    ),
    PortState.HTTP1: (
        "answers in HTTP/1, not gRPC",
        "This is a web or metrics port. Use the gRPC port; a proxy in between must support HTTP/2.",
    ),
    PortState.NOT_HTTP2: (
        "answers with something that is not HTTP/2 ({detail})",
        "Another program listens there; check the port.",
    ),
    PortState.CERTIFICATE: (
        "its certificate is not accepted ({detail})",
        "Set gateway.tls.ca_file to the CA that signed it, gateway.tls.server_name to a name in it,"
        " or renew it if it expired.",
    ),
    PortState.CLIENT_CERTIFICATE: (
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


_FORECASTER_CODES: Final[dict[str, tuple[str, str]]] = {
    "UNIMPLEMENTED": (
        "a gRPC server, but not a forecaster",
        "Check the port: it is that of another program.",
    ),
    "DEADLINE_EXCEEDED": (
        "accepts the stream, but sends no forecast",
        "Read its /readyz, which names what it lacks.",
    ),
}


def of_gateway(reach: Reach) -> Finding:
    """Whether the E2 gateway answers."""
    return _of_server("gateway", reach, _WHY, _CODES)


def of_forecaster(reach: Reach) -> Finding:
    """Whether the forecast stream is open to this client."""
    return _of_server("forecaster", reach, _WHY_FORECASTS, {**_CODES, **_FORECASTER_CODES})


def of_endpoint(endpoint: Endpoint) -> Finding:
    """Whether an HTTP endpoint answers, and the program is ready."""
    check = Check("metrics", endpoint.url)
    if not endpoint.error:
        return check.ok("answers")
    if endpoint.error.startswith("HTTP 503"):
        return check.warn(
            f"is not ready ({endpoint.error})",
            "The program waits for a condition that its answer has as false.",
            "Mend that condition first; its detail says what is missing.",
        )
    return check.warn(
        f"cannot be read ({endpoint.error})",
        "Prometheus cannot read it either: no graphs, no alerts.",
        "Correct the address, or set http.listen of the program to a reachable address; 401 and"
        " 403: give http.token_file or http.tls.certificate_file of a client with the right read.",
    )


def _of_server(check: str, reach: Reach, why: str, codes: dict[str, tuple[str, str]]) -> Finding:
    if reach.port is PortState.ANSWERS and reach.code == "OK":
        return Check(check, reach.address).ok(f"answers in {duration(reach.answered_us)}")
    if reach.port is not PortState.ANSWERS:
        what, remedy = _STATES[reach.port]
        what = what.format(detail=reach.detail)
    else:
        what, remedy = codes.get(reach.code, _OTHER)
        what = f"{what} ({reach.detail})"
    # The texts are of the gateway's settings and files.
    remedy = remedy.replace("gateway", check)
    return Check(check, reach.address).fail(what, why, remedy)
