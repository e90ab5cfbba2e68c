"""What reports say about whoever fills them."""

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
    """Of one subscription with reports that decode."""
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
            "The same report comes again and again; decisions rest on a state long gone.",
            "The node's E2 agent sends a copy that nobody renews: look at the RLC or MAC task that"
            " should fill it.",
        )
    ]


def _tstamp(stream: Stream) -> list[Finding]:
    if abs(stream.tstamp_off_us) <= TSTAMP_OFF_US:
        return []
    return [
        about(
            stream,
            Level.WARN,
            f"the time within the message is {duration(abs(stream.tstamp_off_us))} off the time of"
            " collection",
            "rlc-forecaster goes by the time within; its forecasts carry a wrong origin.",
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
                "reports come and are empty: no UE is attached",
                "",
                "Attach a UE to see more.",
            )
        )
    if rows.repeated:
        findings.append(
            about(
                stream,
                Level.WARN,
                "a bearer is in one report more than once",
                "Both records are taken for the same queue.",
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
                "These are not counts of anything: FlexRIC's emulator agents send random numbers.",
                "Use a gNB that fills its reports, or the lab as an E2 node of FlexRIC.",
            )
        )
    if stream.oid == RLC_OID and rows.backlogged >= BACKLOG_LEAST and not rows.delays:
        findings.append(
            about(
                stream,
                Level.FAIL,
                "buffers hold bytes, and neither age nor sojourn is ever above 0",
                "tc-controller detects by txsdu_wt_us and txsdu_avg_time_to_tx: it will never act.",
                "The node does not fill them: FlexRIC's emulator agents do not, an OAI gNB does.",
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
                "Versions of OAI differ, and nothing that this node reported tells which it is.",
                "Nothing, with MAC reports there. Without: traffic tells it, most often in seconds;"
                " until then tc-controller judges the use of the radio by bytes.",
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
            "Nothing, with MAC reports there: tc-controller takes the use of the radio from them.",
        )
    ]
