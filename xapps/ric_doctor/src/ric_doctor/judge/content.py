"""The content of reports: stale, wrong or empty values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ric.sm import RLC_OID

from ric_doctor.facts import KPM_MEASUREMENT, Stream
from ric_doctor.finding import Finding
from ric_doctor.judge.uses import check_of, use_of
from ric_doctor.text import duration, share

TSTAMP_OFF_US: Final = 1_000
STEPS_BACK: Final = 0.05
BACKLOG_LEAST: Final = 20


def judge(stream: Stream) -> list[Finding]:
    """Findings of one subscription whose reports decode."""
    return [*_frozen(stream), *_tstamp(stream), *_rows(stream), *_kpm(stream)]


def _frozen(stream: Stream) -> Iterator[Finding]:
    if stream.received < 3 or stream.distinct > stream.received / 2:
        return
    yield check_of(stream).found(
        use_of(stream).without,
        f"stale: {stream.received} indications of {stream.distinct} different times of collection",
        "The same report is repeated; decisions rest on an old state.",
        "The node's E2 agent sends a copy that is not updated: check the RLC or MAC task that"
        " fills it.",
    )


def _tstamp(stream: Stream) -> Iterator[Finding]:
    if abs(stream.tstamp_off_us) <= TSTAMP_OFF_US:
        return
    yield check_of(stream).warn(
        f"the timestamp in the message is {duration(abs(stream.tstamp_off_us))} off the time of"
        " collection",
        "rlc-forecaster uses the timestamp in the message; its forecasts have a wrong origin.",
        "The node must write µs since the Unix epoch into tstamp.",
    )


def _rows(stream: Stream) -> Iterator[Finding]:
    rows = stream.rows
    if rows is None:
        return
    if rows.bearers == 0 and stream.oid == RLC_OID:
        yield check_of(stream).note(
            "reports are empty: no UE is attached", "", "Attach a UE to examine more."
        )
    if rows.repeated:
        yield check_of(stream).warn(
            "a bearer is more than once in one report",
            "xApps read both records as the same queue.",
            "RNTI and DRB identity must be unique within a node's report.",
        )
    if rows.steps and rows.steps_back / rows.steps > STEPS_BACK:
        yield check_of(stream).fail(
            f"cumulative counters go backwards in {share(rows.steps_back, rows.steps)} of the"
            " records",
            "The counters are not real: FlexRIC's emulator agents send random numbers.",
            "Use a gNB that fills its reports, or the lab as an E2 node of FlexRIC.",
        )
    if stream.oid == RLC_OID and rows.backlogged >= BACKLOG_LEAST and not rows.delays:
        yield check_of(stream).fail(
            "buffers hold bytes, but head-of-line age and sojourn time are always 0",
            "tc-controller detects by txsdu_wt_us and txsdu_avg_time_to_tx; it never acts.",
            "Use a node that fills them: an OAI gNB does, FlexRIC's emulator agents do not.",
        )


def _kpm(stream: Stream) -> Iterator[Finding]:
    if stream.without_unit:
        yield check_of(stream).note(
            f"the unit of {KPM_MEASUREMENT} is not known: PRBs or percent of them",
            "Versions of OAI differ, and no report of this node shows which it is.",
            "None if the node has MAC reports. Otherwise traffic shows it, usually in seconds;"
            " until then tc-controller estimates utilisation by bytes.",
        )
        return
    if KPM_MEASUREMENT not in stream.unsupported:
        return
    yield check_of(stream).note(
        f"the node does not measure {KPM_MEASUREMENT}",
        "",
        "None if the node has MAC reports: tc-controller takes the utilisation from them.",
    )
