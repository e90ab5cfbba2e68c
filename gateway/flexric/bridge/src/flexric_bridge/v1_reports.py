"""Reports of nodes that announce E2SM-TC v1 themselves: what is subscribed, and the records."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import e2sm_tc
from ric.errors import ServiceModelError

from flexric_bridge.records import Record
from flexric_bridge.sdk import V1_HEAD, V1_REFUSED


@dataclass(frozen=True, slots=True)
class V1Selection:
    """One subscription of a node: an event trigger and an action definition, both as bytes."""

    trigger: bytes
    action: bytes
    """Empty: the outcomes of controls, which are not reported."""
    period_ms: int | None = None
    """`None`: not periodic."""
    name: str = ""

    def __str__(self) -> str:
        return self.name


OUTCOMES: Final = V1Selection(e2sm_tc.encode("event-trigger", "on_change"), b"", name="outcomes")
"""FlexRIC carries no outcome of a control to an xApp; the node reports it."""


def selections(trigger: bytes, actions: Sequence[bytes]) -> list[V1Selection]:
    """One for each action, since FlexRIC takes one in a subscription.

    Raises `ServiceModelError` for other bytes.
    """
    try:
        when = e2sm_tc.decode("event-trigger", trigger)
        definitions = [e2sm_tc.decode("action-definition", action) for action in actions]
    except e2sm_tc.CodecError as error:
        raise ServiceModelError("tc", "subscription", str(error), "E2SM-TC v1") from None
    if not definitions:
        raise ServiceModelError("tc", "actions", "none", "at least one action definition")
    kind = next(iter(when)) if isinstance(when, dict) else when
    period_ms = when["periodic"]["period_ms"] if kind == "periodic" else None
    when_name = f"each {period_ms} ms" if period_ms else kind.replace("_", " ")
    found = []
    for action, definition in zip(actions, definitions, strict=True):
        # Two selections of a node share no counters: part of the name where it alone is not enough.
        some = f" {zlib.crc32(trigger + action):08x}" if definition["bearers"] else ""
        name = f"{definition['style']} {when_name}{some}"
        found.append(V1Selection(trigger, action, period_ms, name))
    return found


class SubscriptionRefused(Exception):  # noqa: N818 - says what happened
    """The node refused a subscription that FlexRIC had admitted; the message has its reason."""


@dataclass(frozen=True, slots=True)
class V1Report:
    """A report with its two octet strings."""

    header: bytes
    message: bytes


def v1_report(record: Record) -> tuple[Record, V1Report]:
    """The record with its time of collection, and its report.

    Raises `SubscriptionRefused`, and `ServiceModelError` for other bytes.
    """
    body = record.message
    if len(body) < V1_HEAD.size or len(body) < V1_HEAD.size + V1_HEAD.unpack_from(body)[0]:
        raise ServiceModelError("tc", "report", f"{len(body)} bytes", "header and message")
    end = V1_HEAD.size + V1_HEAD.unpack_from(body)[0]
    header, message = body[V1_HEAD.size : end], body[end:]
    if header == V1_REFUSED:
        raise SubscriptionRefused(message.decode("utf-8", "replace"))
    try:
        collected_at_us = e2sm_tc.decode("indication-header", header)["collected_at_us"]
    except e2sm_tc.CodecError as error:
        raise ServiceModelError("tc", "header", str(error), "E2SM-TC v1") from None
    return record._replace(collected_at_us=collected_at_us), V1Report(header, message)


def announces_v1(definition: bytes) -> bool:
    """Whether this is the RAN function definition of a TC function in E2SM-TC v1: the service model
    announces another where its node has none."""
    try:
        e2sm_tc.decode("ran-function-definition", definition)
    except e2sm_tc.CodecError:
        return False
    return True
