"""Whether classes, and a bearer with a guaranteed rate, have what they are promised."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from ric.sm import tc
from tc_controller.core.policy.schema import Rule
from tc_controller.core.verify.class_compliance import ClassMeter
from tc_controller.core.verify.compliance import Assessment, Compliance, begun
from tc_controller.core.verify.service import PacketMeter, ServiceTotals

#: Queues of a class, both kinds.
RUN = 4


@dataclass
class Queue:
    """A ``QueueStatus`` of a flow of constant rate."""

    id: int
    kbps: int = 0
    backlog_bytes: int = 0
    mean_sojourn_us: int = 0
    drop_every: int = 0
    forwarded_bytes: int = 1_000_000
    forwarded_packets: int = 1_000
    dropped_packets: int = 7
    marked_packets: int = 0
    last_sojourn_us: int = 0

    def advance(self, ms: int) -> None:
        packets = self.kbps * ms // 8_000
        self.forwarded_bytes += packets * 1_000
        self.forwarded_packets += packets
        if self.drop_every:
            self.dropped_packets += packets // self.drop_every


def rule(*classes: dict[str, Any], **objective: Any) -> Rule:
    queues = RUN // 2 * (len(classes) + 1)
    base = [{"template": "low_latency", "queues": queues}]
    named = [
        {"name": name, "match": [{"qfi": number}], **each}
        for number, (name, each) in enumerate(zip("ab", classes, strict=False))
    ]
    return Rule.model_validate(
        {"name": "r", "base": base, "classes": named, "objective": objective}
    )


def assessed(
    of: Rule, *queues: Queue, ms: int = 1_000, share_of_cell: float | None = None
) -> tuple[Assessment | None, dict[str, Assessment]]:
    rung = of.compiled_base()[0]
    pipeline = tc.pipeline(rung.template, rung.parameters) if of.classes else None
    meter = ClassMeter(pipeline)
    for at_ms in range(0, ms + 1, 10):
        meter.add(at_ms * 1_000, queues)
        for queue in queues:
            queue.advance(10)
    return meter.assess(of, PacketMeter(), lambda: share_of_cell)


def in_class(number: int, kbps: int, **status: Any) -> Queue:
    return Queue(number * RUN + 1, kbps, **status)


GUARANTEED = {"objective": {"guaranteed_mbps": 8}}


@pytest.mark.parametrize(
    ("kbps", "backlog_bytes", "rest_kbps", "state", "reason"),
    [
        (8_000, 9_000, 2_400, Compliance.MET, "8.0 of 8 Mbit/s guaranteed"),
        (4_000, 0, 2_400, Compliance.MET, "4.0 of 8 Mbit/s guaranteed; it asked for no more"),
        (4_000, 9_000, 8_000, Compliance.VIOLATED, "4.0 of 8 Mbit/s guaranteed"),
        (
            4_000,
            9_000,
            0,
            Compliance.INFEASIBLE,
            "4.0 of 8 Mbit/s guaranteed, needs 8.0 Mbit/s, radio gives 4.0",
        ),
    ],
)
def test_a_guaranteed_rate_is_met_violated_or_infeasible(
    kbps: int, backlog_bytes: int, rest_kbps: int, state: Compliance, reason: str
) -> None:
    backlogged = in_class(1, kbps, backlog_bytes=backlog_bytes)
    _, states = assessed(rule(GUARANTEED), backlogged, in_class(0, rest_kbps))
    assert states == {"a": Assessment(state, reason)}


def test_guarantees_of_classes_that_ask_for_their_rate_are_what_the_radio_needs() -> None:
    both = rule(GUARANTEED, {"objective": {"guaranteed_mbps": 80}})
    short = in_class(1, 4_000, backlog_bytes=9_000)
    _, states = assessed(both, short, in_class(2, 8_000))
    assert states["a"].state is Compliance.VIOLATED
    _, states = assessed(both, short, in_class(2, 8_000, backlog_bytes=9_000))
    assert states["a"].reason.endswith("needs 88.0 Mbit/s, radio gives 12.0")


def test_a_share_counts_while_the_class_has_packets() -> None:
    shared = rule({"share": 0.5})
    for kbps, backlog_bytes, state in (
        (8_000, 9_000, Compliance.MET),
        (2_400, 9_000, Compliance.VIOLATED),
        (2_400, 0, Compliance.MET),
    ):
        queue = in_class(1, kbps, backlog_bytes=backlog_bytes)
        _, states = assessed(shared, queue, in_class(0, 8_000))
        assert states["a"].state is state


def test_loss_and_delay_of_a_class_are_compared_with_their_bounds() -> None:
    lossy = rule({"objective": {"loss_ratio": 0.02}})
    assert assessed(lossy, in_class(1, 80_000, drop_every=100))[1]["a"].state is Compliance.MET
    _, states = assessed(lossy, in_class(1, 80_000, drop_every=20))
    assert states["a"] == Assessment(
        Compliance.VIOLATED, "4.76% of the packets dropped, at most 2.00%"
    )
    bound = rule({"objective": {"bound_ms": 20}})
    for sojourn_us, state in (
        (14_000, Compliance.MET),
        (15_000, Compliance.AT_RISK),
        (21_000, Compliance.VIOLATED),
    ):
        # The flow that waits longest counts.
        queues = in_class(1, 8_000, mean_sojourn_us=sojourn_us), in_class(1, 8_000)
        assert assessed(bound, *queues)[1]["a"].state is state


def test_no_data_idle_and_a_stalled_radio_are_no_violation() -> None:
    guaranteed = rule(GUARANTEED)
    assert assessed(guaranteed, ms=0)[1]["a"].state is Compliance.NO_DATA
    assert assessed(guaranteed, in_class(0, 8_000))[1]["a"].state is Compliance.IDLE
    waiting = in_class(1, 0, backlog_bytes=9_000)
    assert assessed(guaranteed, waiting)[1]["a"].state is Compliance.RADIO_STALLED


def test_counters_from_before_the_first_report_do_not_count() -> None:
    queue = in_class(1, 8_000)
    queue.forwarded_bytes = 10**12
    assert assessed(rule(GUARANTEED), queue)[1]["a"].reason == "8.0 of 8 Mbit/s guaranteed"


def test_a_guaranteed_rate_of_the_bearer_is_feasible_or_not() -> None:
    promised = rule(guaranteed_mbps=8)
    short = "needs 8.0 Mbit/s, radio gives 4.0"
    for kbps, backlog_bytes, expected in (
        (4_000, 9_000, Assessment(Compliance.INFEASIBLE, short)),
        (4_000, 0, None),
        (8_000, 9_000, None),
    ):
        rate, _ = assessed(promised, Queue(5, kbps, backlog_bytes))
        assert rate == expected


def test_the_split_of_the_mac_is_named_where_it_is_the_reason() -> None:
    promised = rule(guaranteed_mbps=8)
    short = Queue(5, 6_400, 9_000)
    rate, _ = assessed(promised, short, share_of_cell=0.1)
    assert rate == Assessment(
        Compliance.INFEASIBLE,
        "needs 8.0 Mbit/s; the MAC gives this UE 10% of the cell, 6.4 of about 64.0 Mbit/s",
    )
    for share in (0.95, 0.85):
        # It has the cell, or the whole cell would not do.
        rate, _ = assessed(promised, short, share_of_cell=share)
        assert rate is not None
        assert rate.reason == "needs 8.0 Mbit/s, radio gives 6.4"
    _, states = assessed(
        rule(GUARANTEED), in_class(1, 6_400, backlog_bytes=9_000), share_of_cell=0.1
    )
    assert states["a"].reason.endswith(
        "the MAC gives this UE 10% of the cell, 6.4 of about 64.0 Mbit/s"
    )


def test_packets_dropped_for_their_delay_were_not_within_the_bound() -> None:
    bound = rule({"objective": {"bound_ms": 20}})
    kept = in_class(1, 80_000, mean_sojourn_us=9_000, drop_every=100)
    _, states = assessed(bound, kept)
    assert states["a"].state is Compliance.MET
    assert states["a"].reason.endswith(
        "1.0% dropped and nothing queued in 100% of the reports: the bound costs rate"
    )
    kept.backlog_bytes = 9_000
    assert assessed(bound, kept)[1]["a"].reason.endswith("bound 20 ms, 1.0% dropped")
    lossy = in_class(1, 8_000, mean_sojourn_us=9_000, drop_every=10)
    _, states = assessed(bound, lossy)
    assert states["a"].state is Compliance.VIOLATED
    assert states["a"].reason.endswith("9.1% dropped, p95 allows 5.0%")


def test_what_flows_lose_that_do_not_back_off_is_judged_in_each_class() -> None:
    of = rule({"share": 0.5})
    rung = of.compiled_base()[0]
    meter, packets, totals = (
        ClassMeter(tc.pipeline(rung.template, rung.parameters)),
        PacketMeter(),
        ServiceTotals(),
    )
    for games_kbps, others_kbps, expected in (
        (8_000, 8_000, Compliance.VIOLATED),
        (8_000, 0, Compliance.INFEASIBLE),
    ):
        game = in_class(1, games_kbps, drop_every=2, backlog_bytes=9_000)
        queues = game, in_class(0, others_kbps)
        state = None
        for second in range(5):
            status = SimpleNamespace(
                collected_at_us=second * 1_000_000,
                revision=1,
                queues=queues,
                ungreedy_queues=(),
                dropped_packets=0,
            )
            packets.add(status, None, totals, 0, 0.0)  # type: ignore[arg-type]
            for at_ms in range(0, 1_000, 10):
                meter.add(second * 1_000_000 + at_ms * 1_000, queues)
                for queue in queues:
                    queue.advance(10)
            state = meter.assess(of, packets, lambda: None)[1]["a"]
        assert state is not None
        assert state.state is expected, state.reason
        assert "flows that do not back off" in state.reason


def test_a_class_that_hovers_at_a_threshold_is_at_risk_until_it_is_calm() -> None:
    state, seen = None, []
    for second in range(30):
        raw = Compliance.AT_RISK if second in (1, 3, 4, 8) else Compliance.MET
        state = begun(Assessment(raw, ""), state, second * 1_000_000)
        seen.append(state.state)
    assert seen == [Compliance.MET] + [Compliance.AT_RISK] * 13 + [Compliance.MET] * 16
    violated = begun(Assessment(Compliance.VIOLATED, ""), state, 30_000_000)
    assert (violated.state, violated.since_us) == (Compliance.VIOLATED, 30_000_000)
    assert begun(Assessment(Compliance.IDLE, ""), violated, 31_000_000).state is Compliance.IDLE
