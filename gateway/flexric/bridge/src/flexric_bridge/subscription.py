"""One shared subscription of the bridge, and those who read it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

import grpc
from e2_gateway_server import ProcedureError
from e2_gateway_server.indication import (
    encode_header,
    encode_kpm_report,
    encode_report,
    encode_source,
)
from ric.sm import KPM_OID
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.kpm_definition import KpmDefinitionError, offered
from flexric_bridge.metrics import Flow
from flexric_bridge.nodes import KnownNode
from flexric_bridge.readers import Reader, Tap
from flexric_bridge.records import Record, kpm_report, kpm_selection
from flexric_bridge.sdk import SNssai
from flexric_bridge.v1_reports import SubscriptionRefused, V1Report, V1Selection

LONGEST_MS: Final = 10_000
"""Longest period that FlexRIC accepts; slower readers are thinned."""
MAX_MEASUREMENTS: Final = 64
"""Most measurements of a subscription: each report names those that the node lacks."""
MAX_NAME: Final = 150
"""Characters of a measurement's name (O-RAN.WG3.E2SM-KPM §9.3.9, MeasurementTypeName)."""


Variant = SNssai | V1Selection | None
"""What distinguishes subscriptions to a RAN function: the slice of KPM, the selection of TC v1."""


class UnsupportedSubscription(ProcedureError):  # noqa: N818 - says what happened
    """The node has the RAN function, but the SDK does not report what was requested."""

    def __init__(self, detail: str) -> None:
        super().__init__(grpc.StatusCode.INVALID_ARGUMENT, detail)


class NodeGone(ProcedureError):  # noqa: N818 - says what happened
    """The node is not connected, or was lost during the procedure."""

    def __init__(self, detail: str) -> None:
        super().__init__(grpc.StatusCode.UNAVAILABLE, detail)


@dataclass(eq=False, slots=True)
class SharedSubscription:
    """One subscription and its readers."""

    known: KnownNode
    function_id: int
    oid: str
    flow: Flow
    variant: Variant
    source: bytes = field(init=False)
    period_ms: int = 0
    names: tuple[str, ...] = ()
    handle: int = 0
    """0 while not subscribed."""
    readers: list[Reader] = field(default_factory=list)
    taps: list[Tap] = field(default_factory=list)
    since_ns: int = 0
    one_change: asyncio.Lock = field(default_factory=asyncio.Lock)
    lingering: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.source = encode_source(self.known.id, self.function_id, self.oid)

    @property
    def periodic(self) -> bool:
        """Whether reports come at intervals, so that their absence means something."""
        return not isinstance(self.variant, V1Selection) or self.variant.period_ms is not None

    @property
    def read(self) -> bool:
        """Whether it has readers or taps."""
        return bool(self.readers or self.taps)

    def shortest_period_ms(self) -> int:
        """Shortest period that its readers and taps request."""
        requested = [reader.thinning.period_us for reader in self.readers]
        requested += [tap.thinning.period_us for tap in self.taps]
        return min(requested, default=LONGEST_MS * 1000) // 1000

    def covers(self, period_ms: int, names: tuple[str, ...]) -> bool:
        """Whether its period is short enough and it has these measurements."""
        fast_enough = self.handle and self.period_ms <= period_ms
        return bool(fast_enough) and set(self.names).issuperset(names)

    def deliver(self, record: Record) -> None:
        """Deliver a report to all readers and taps for which it is due."""
        if self.oid == KPM_OID:
            self._deliver_kpm(record)
            return
        self.known.rntis.observe(self.oid, record.message)
        every_us = self.period_ms * 1000
        collected_at_us = record.collected_at_us
        encoded: bytes | None = None
        for reader in self.readers:
            if reader.thinning.due(collected_at_us, every_us):
                if encoded is None:
                    times = (collected_at_us, record.received_at_us)
                    encoded = encode_report(self.source, record.message, *times)
                reader.put(encoded)
        for tap in self.taps:
            if tap.thinning.due(collected_at_us, every_us):
                tap.on_report(record.message, collected_at_us, record.received_at_us)

    def deliver_v1(self, record: Record, report: V1Report) -> None:
        """Deliver a report of E2SM-TC v1: readers share a trigger, so that none is thinned."""
        times = (record.collected_at_us, record.received_at_us)
        source = self.source + encode_header(report.header)
        encoded = encode_report(source, report.message, *times)
        for reader in self.readers:
            reader.put(encoded)

    def refused(self, refusal: SubscriptionRefused) -> None:
        """The node refused the subscription: the streams end with its reason."""
        self.end(UnsupportedSubscription(f"node {self.known.id}: {refusal}"))

    def _deliver_kpm(self, record: Record) -> None:
        """Deliver a KPM report: to each reader the measurements that it requested, without those of
        other readers and those subscribed to infer units."""
        known, report = self.known, kpm_report(record.message)
        units = known.units
        units.learn(report.period_ms, [values for _, values in report.ues])
        ues = known.identities.learn(known.id, [ids for ids, _ in report.ues], known.rntis.known())
        times = (record.collected_at_us, record.received_at_us)
        encoded: dict[tuple[str, ...], bytes] = {}
        for reader in self.readers:
            if reader.thinning.due(record.collected_at_us, self.period_ms * 1000):
                names = reader.measurements
                if names not in encoded:
                    own = kpm_selection(report, ues, names, units.of(names))
                    encoded[names] = encode_kpm_report(self.source, own, *times)
                reader.put(encoded[names])

    def end(self, why: ProcedureError) -> None:
        """End the streams; taps stay for when the node reconnects."""
        for reader in self.readers:
            reader.end(why)
        self.readers.clear()

    def forget(self) -> None:
        """The subscription no longer exists."""
        self.handle = 0
        if self.lingering is not None:
            self.lingering.cancel()
            self.lingering = None


def requested_measurements(request: pb.Subscription) -> tuple[str, ...]:
    """The KPM measurements of a request, without duplicates; raises `UnsupportedSubscription`."""
    names = request.kpm_measurements
    if len(names) > MAX_MEASUREMENTS:
        raise UnsupportedSubscription(
            f"kpm_measurements: {len(names)}; expected at most {MAX_MEASUREMENTS}"
        )
    for index, name in enumerate(names):
        if len(name) > MAX_NAME:
            raise UnsupportedSubscription(
                f"kpm_measurements[{index}]: {len(name)} characters; expected at most {MAX_NAME}"
            )
    return tuple(dict.fromkeys(names))


def announced_measurements(known: KnownNode, names: tuple[str, ...]) -> tuple[str, ...]:
    """The KPM measurements among `names` that the node announces now: a reconnected node may run
    another version, and aborts on measurements that it lacks. Raises `UnsupportedSubscription`."""
    function = known.functions.get(KPM_OID)
    try:
        known_names, _ = offered(b"" if function is None else function.definition, names)
    except KpmDefinitionError as error:
        raise UnsupportedSubscription(f"KPM: {error}") from None
    if not known_names:
        raise UnsupportedSubscription(f"KPM: none of {list(names)} is a measurement of this node")
    return known_names
