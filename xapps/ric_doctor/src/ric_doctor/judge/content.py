"""The content of reports: stale, wrong or empty values."""

from __future__ import annotations

from typing import Final

from ric.sm import RLC_OID

from ric_doctor.facts import KPM_MEASUREMENT, Stream
from ric_doctor.finding import Finding, Level
from ric_doctor.judge.uses import about, use_of
from ric_doctor.text import duration, share

TSTAMP_OFF_US: Final = 1_000
STEPS_BACK: Final = 0.05
BACKLOG_LEAST: Final = 20


def judge(stream: Stream) -> list[Finding]:
    """Findings of one subscription whose reports decode."""
    return [*_frozen(stream), *_tstamp(stream), *_rows(stream), *_kpm(stream)]


def _frozen(stream: Stream) -> list[Finding]:
    if stream.received < 3 or stream.distinct > stream.received / 2:
        return []
    return [
        about(
            stream,
            use_of(stream).without,
            f"stale: {stream.received} indications of {stream.distinct} different times of"
            " collection",
            "The same report is repeated; decisions rest on an old state.",
            "The node's E2 agent sends a copy that is not updated: check the RLC or MAC task that"
            " fills it.",
        )
    ]


def _tstamp(stream: Stream) -> list[Finding]:
    if abs(stream.tstamp_off_us) <= TSTAMP_OFF_US:
        return []
    return [
        about(
            stream,
            Level.WARN,
            f"the timestamp in the message is {duration(abs(stream.tstamp_off_us))} off the time of"
            " collection",
            "rlc-forecaster uses the timestamp in the message; its forecasts have a wrong origin.",
            "The node must write µs since the Unix epoch into tstamp.",
        )
    ]


def _rows(stream: Stream) -> list[Finding]:
    rows = stream.rows
    if rows is None:
        return []
    findings = []
    if rows.bearers == 0 and stream.oid == RLC_OID:
        findings.append(
            about(
                stream,
                Level.NOTE,
                "reports are empty: no UE is attached",
                "",
                "Attach a UE to examine more.",
            )
        )
    if rows.repeated:
        findings.append(
            about(
                stream,
                Level.WARN,
                "a bearer is more than once in one report",
                "xApps read both records as the same queue.",
                "RNTI and DRB identity must be unique within a node's report.",
            )
        )
    if rows.steps and rows.steps_back / rows.steps > STEPS_BACK:
        findings.append(
            about(
                stream,
                Level.FAIL,
                f"cumulative counters go backwards in {share(rows.steps_back, rows.steps)} of the"
                " records",
                "The counters are not real: FlexRIC's emulator agents send random numbers.",
                "Use a gNB that fills its reports, or the lab as an E2 node of FlexRIC.",
            )
        )
    if stream.oid == RLC_OID and rows.backlogged >= BACKLOG_LEAST and not rows.delays:
        findings.append(
            about(
                stream,
                Level.FAIL,
                "buffers hold bytes, but head-of-line age and sojourn time are always 0",
                "tc-controller detects by txsdu_wt_us and txsdu_avg_time_to_tx; it never acts.",
                "Use a node that fills them: an OAI gNB does, FlexRIC's emulator agents do not.",
            )
        )
    return findings


def _kpm(stream: Stream) -> list[Finding]:
    if stream.without_unit:
        return [
            about(
                stream,
                Level.NOTE,
                f"the unit of {KPM_MEASUREMENT} is not known: PRBs or percent of them",
                "Versions of OAI differ, and no report of this node shows which it is.",
                "None if the node has MAC reports. Otherwise traffic shows it, usually in seconds;"
                " until then tc-controller estimates utilisation by bytes.",
            )
        ]
    if KPM_MEASUREMENT not in stream.unsupported:
        return []
    return [
        about(
            stream,
            Level.NOTE,
            f"the node does not measure {KPM_MEASUREMENT}",
            "",
            "None if the node has MAC reports: tc-controller takes the utilisation from them.",
        )
    ]
