"""What can go wrong between an xApp and a RAN function, one type each.

Every error of the SDK is a `RicError`. Each names its place (gateway, node, RAN function) and has
it as attributes, so that callers need not parse text.
"""

from __future__ import annotations


class RicError(Exception):
    """Base of everything the SDK raises on purpose."""


class GatewayError(RicError):
    """A procedure with the E2 gateway did not succeed."""


class GatewayUnavailable(GatewayError):  # noqa: N818 - says what happened
    """The gateway cannot be reached or the connection was lost; retry."""

    def __init__(self, address: str, detail: str) -> None:
        super().__init__(f"E2 gateway {address}: not available: {detail}")
        self.address = address
        self.detail = detail


class GatewayProtocolError(GatewayError):
    """The gateway's answer violates the E2 gateway interface."""

    def __init__(self, address: str, detail: str) -> None:
        super().__init__(f"E2 gateway {address}: unexpected answer: {detail}")
        self.address = address
        self.detail = detail


class AccessDenied(GatewayError):  # noqa: N818 - says what happened
    """The gateway does not know this client, or the client lacks the right or the node."""

    def __init__(self, address: str, detail: str) -> None:
        super().__init__(f"E2 gateway {address}: access denied: {detail}")
        self.address = address
        self.detail = detail


class NodeGone(GatewayError):  # noqa: N818 - says what happened
    """The E2 node is not connected to the gateway, or left during the procedure."""

    def __init__(self, node_id: str, detail: str = "not connected to the gateway") -> None:
        super().__init__(f"E2 node {node_id}: {detail}")
        self.node_id = node_id
        self.detail = detail


class RanFunctionUnknown(GatewayError):  # noqa: N818 - says what happened
    """The E2 node is connected but offers no RAN function with this OID."""

    def __init__(self, node_id: str, oid: str, detail: str = "") -> None:
        text = f"E2 node {node_id}: offers no RAN function with OID {oid}"
        super().__init__(f"{text}: {detail}" if detail else text)
        self.node_id = node_id
        self.oid = oid
        self.detail = detail


class SubscriptionRefused(GatewayError):  # noqa: N818 - says what happened
    """The RAN function refused the event trigger or an action; the same request will fail again."""

    def __init__(self, node_id: str, oid: str, detail: str) -> None:
        super().__init__(f"E2 node {node_id}, RAN function {oid}: subscription refused: {detail}")
        self.node_id = node_id
        self.oid = oid
        self.detail = detail


class ControlTimeout(GatewayError):  # noqa: N818 - says what happened
    """A RIC control timed out; whether it took effect is unknown."""

    def __init__(self, node_id: str, oid: str, timeout_s: float) -> None:
        super().__init__(
            f"E2 node {node_id}, RAN function {oid}: no control answer within {timeout_s:g} s"
        )
        self.node_id = node_id
        self.oid = oid
        self.timeout_s = timeout_s


class PriorityRefused(RicError):  # noqa: N818 - says what happened
    """The system does not permit a nice value; `present` stays."""

    def __init__(self, nice: int, present: int) -> None:
        super().__init__(
            f"nice: {nice} is not permitted; expected {present} or more, CAP_SYS_NICE, or a limit"
            f" RLIMIT_NICE of {20 - nice}"
        )
        self.nice = nice
        self.present = present


class ServiceModelError(RicError):
    """A message or value that violates its service model.

    `model` is the service model ("rlc", "mac", "tc", …), `place` the place in the message or
    value, `found` the value there and `expected` what is valid.
    """

    def __init__(self, model: str, place: str, found: str, expected: str) -> None:
        super().__init__(f"{model}: {place}: {found}; expected {expected}")
        self.model = model
        self.place = place
        self.found = found
        self.expected = expected


class ServiceModelUnavailable(RicError):  # noqa: N818 - says what happened
    """The codec of a service model is not installed."""

    def __init__(self, model: str, missing: str) -> None:
        super().__init__(f"{model}: this service model needs the Python module {missing}")
        self.model = model
        self.missing = missing


class TemplateParameterError(RicError):
    """An unknown pipeline template, or a parameter it does not take."""

    def __init__(self, parameter: str, detail: str) -> None:
        super().__init__(f"{parameter}: {detail}" if parameter else detail)
        self.parameter = parameter
        self.detail = detail


class SettingsError(RicError):
    """Invalid settings or policy; `problems` has one line for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
