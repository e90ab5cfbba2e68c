"""Classes of flows within a bearer: what belongs to them and what they are promised."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, model_validator
from ric.explain import PlacedError

from tc_controller.core.policy.rung import Strict

#: Kbit/s of E2SM-TC's shapers and guarantees, in Mbit/s.
RateMbps = Annotated[float, Field(ge=0.001, le=100_000.0)]
Share = Annotated[float, Field(gt=0.0, le=1.0)]
_Port = Annotated[int, Field(ge=0, le=65_535)]
#: Assigned Internet Protocol Numbers (IANA).
_PROTOCOLS: Final = {"icmp": 1, "tcp": 6, "udp": 17, "icmpv6": 58}

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _prefix(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(f"{error}; expected an IP address or prefix, 10.0.0.0/8") from None
    return text


class FlowMatch(Strict):
    """Packets by their header; all given fields must match."""

    qfi: int | None = Field(default=None, ge=0, le=63, description="QoS flow identifier.")
    dscp: int | None = Field(default=None, ge=0, le=63, description="DSCP (RFC 2474).")
    protocol: (
        Literal["icmp", "tcp", "udp", "icmpv6"] | Annotated[int, Field(ge=0, le=255)] | None
    ) = Field(default=None, description="IP protocol: icmp, tcp, udp, icmpv6, or its number.")
    source: Annotated[str, AfterValidator(_prefix)] | None = Field(
        default=None, description="Source address or prefix, as 10.0.0.0/8."
    )
    destination: Annotated[str, AfterValidator(_prefix)] | None = Field(
        default=None, description="Destination address or prefix."
    )
    source_port: _Port | tuple[_Port, _Port] | None = Field(
        default=None, description="Source port, or lowest and highest: [5000, 5100]."
    )
    destination_port: _Port | tuple[_Port, _Port] | None = Field(
        default=None, description="Destination port, or lowest and highest."
    )

    @model_validator(mode="after")
    def _matches_something(self) -> FlowMatch:
        if self == FlowMatch.model_construct():
            raise ValueError("no field; expected at least one, or the class would take everything")
        for name in ("source_port", "destination_port"):
            low, high = ports(getattr(self, name))
            if low > high:
                problem = f"{low} to {high}; expected the lower port first"
                raise PlacedError((name,), problem)
        source, destination = networks(self)
        if source and destination and source.version != destination.version:
            problem = f"{self.destination!r}; expected a prefix of the source's IP version"
            raise PlacedError(("destination",), problem)
        return self

    def __str__(self) -> str:
        """Text for people: ``protocol tcp and source port 8000 to 8080``."""
        fields = self.model_dump(exclude_none=True)
        return " and ".join(f"{name.replace('_', ' ')} {_words(fields[name])}" for name in fields)

    def ie(self) -> dict[str, Any]:
        """The E2SM-TC ``FlowMatch``."""
        source, destination = networks(self)
        fields = {
            "source": None if source is None else _prefix_ie(source),
            "destination": None if destination is None else _prefix_ie(destination),
            "source_port": None if self.source_port is None else _ports_ie(self.source_port),
            "destination_port": (
                None if self.destination_port is None else _ports_ie(self.destination_port)
            ),
            "protocol": protocol_number(self),
            "dscp": self.dscp,
            "qfi": self.qfi,
        }
        return {name: value for name, value in fields.items() if value is not None}


def networks(match: FlowMatch) -> tuple[_Network | None, _Network | None]:
    """Source and destination prefix."""
    source, destination = match.source, match.destination
    return (
        None if source is None else ipaddress.ip_network(source),
        None if destination is None else ipaddress.ip_network(destination),
    )


def ports(given: int | tuple[int, int] | None) -> tuple[int, int]:
    """Lowest and highest port."""
    if given is None:
        return 0, 65_535
    return (given, given) if isinstance(given, int) else given


def protocol_number(match: FlowMatch) -> int | None:
    """The IP protocol number."""
    protocol = match.protocol
    return _PROTOCOLS[protocol] if isinstance(protocol, str) else protocol


def _words(value: object) -> str:
    return f"{value[0]} to {value[1]}" if isinstance(value, tuple) else str(value)


def _prefix_ie(network: _Network) -> dict[str, Any]:
    value = {"address": str(network.network_address), "length": network.prefixlen}
    return {f"v{network.version}": value}


def _ports_ie(given: int | tuple[int, int]) -> dict[str, int]:
    low, high = ports(given)
    return {"low": low, "high": high}


class ClassObjective(Strict):
    """What the packets of a class are promised; what is not given is not promised."""

    bound_ms: float | None = Field(
        default=None,
        gt=0.0,
        le=10_000.0,
        description="Bound on the sojourn in the pipeline, ms. Later packets are dropped (BoDe) "
        "unless `loss_ratio` is given.",
    )
    guaranteed_mbps: RateMbps | None = Field(
        default=None,
        description="Rate up to which the class goes before all others, Mbit/s.",
    )
    maximum_mbps: RateMbps | None = Field(
        default=None, description="Rate that the class does not exceed, Mbit/s."
    )
    loss_ratio: Share | None = Field(
        default=None,
        description="Largest part of the packets that the pipeline may drop. With it no queue of "
        "the class drops before the buffer is full.",
    )

    @model_validator(mode="after")
    def _rates_ordered(self) -> ClassObjective:
        check_rates(self.guaranteed_mbps, self.maximum_mbps)
        return self


def check_rates(guaranteed_mbps: float | None, maximum_mbps: float | None) -> None:
    """Refuses a guaranteed rate above the maximum."""
    if guaranteed_mbps is None or maximum_mbps is None or guaranteed_mbps <= maximum_mbps:
        return
    problem = f"{guaranteed_mbps:g}; expected at most maximum_mbps, {maximum_mbps:g}"
    raise PlacedError(("guaranteed_mbps",), problem)


class TrafficClass(Strict):
    """Flows of a bearer with an objective and a share of their own."""

    name: str = Field(min_length=1, max_length=64, description="For logs and metrics.")
    match: Annotated[tuple[FlowMatch, ...], Field(max_length=84)] = Field(
        description="Flows of the class: those that any of these matches.",
        # Checked below: pydantic would count the valid ones only.
        json_schema_extra={"minItems": 1},
    )
    objective: ClassObjective = Field(default_factory=ClassObjective)
    share: Share | None = Field(
        default=None,
        description="Share of the bearer while all classes have packets; more where others "
        "have none, or where the guarantee is more. Classes without one, and the flows of no "
        "class, divide what is left.",
    )

    def __str__(self) -> str:
        """Text for people: flows and what they are promised."""
        objective = self.objective
        promises = [
            form.format(value)
            for form, value in (
                ("guaranteed {:g} Mbit/s", objective.guaranteed_mbps),
                ("at most {:g} Mbit/s", objective.maximum_mbps),
                ("share {:.0%}", self.share),
                ("within {:g} ms", objective.bound_ms),
                ("at most {:.2%} lost", objective.loss_ratio),
            )
            if value is not None
        ]
        return f"{' or '.join(map(str, self.match))}: {', '.join(promises) or 'a queue per flow'}"

    @model_validator(mode="after")
    def _has_flows(self) -> TrafficClass:
        if not self.match:
            raise PlacedError(("match",), "an empty list; expected at least one match")
        return self
