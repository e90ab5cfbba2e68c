"""v1 pipelines in v0's words, against a TC function that knows nothing of the lowering."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import e2sm_tc
import gnb_lab
import pytest
from flexric_bridge.tc import v0
from flexric_bridge.tc.plan import plan
from flexric_bridge.tc.rehearsal import rehearse
from flexric_bridge.tc.stages import after, stages
from flexric_bridge.tc.to_v0 import UnsupportedInV0, V0Translation, to_v0
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipelines import (
    codel,
    hashed,
    match,
    osi,
    pipeline,
    queues,
    segregated,
    supported_in_v0,
    target,
)

SCENARIO = {
    "name": "one bearer",
    "duration_s": 3600,
    "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
    "ues": [{"rnti": 17, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
    "flows": [{"name": "ping", "kind": "ping"}],
}
V0_HEADER = e2sm_tc.encode("control-header", {"dummy": 0}, "v0")
V1_HEADER = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 0})


class Gnb:
    """A gNB whose TC function is controlled in v0 or v1 and seen in v0."""

    def __init__(self) -> None:
        self.world = gnb_lab.World(SCENARIO)
        self.world.step_until(1_000)
        self.world.subscribe(gnb_lab.TC_V0_OID, 1)

    def take_v0(self, message: v0.Message) -> None:
        data = e2sm_tc.encode("control", message, "v0")
        self.world.control(gnb_lab.TC_V0_OID, V0_HEADER, data)

    def take_v1(self, wanted: dict[str, Any]) -> None:
        transaction = {
            "bearer": {"ue": {"rnti": 17}, "drb": 1},
            "expected_revision": None,
            "lease_ms": None,
            "dry_run": False,
            "change": {"replace": wanted},
        }
        message = e2sm_tc.encode("control", {"transaction": transaction})
        outcome = self.world.control(gnb_lab.TC_V1_OID, V1_HEADER, message)
        assert "accepted" in e2sm_tc.decode("control-outcome", outcome)

    def seen(self) -> Any:
        reports = self.world.step_until(self.world.now_us + 2_000)
        return e2sm_tc.decode("indication", reports[-1].message, "v0")


def in_force(wanted: dict[str, Any]) -> tuple[v0.State, v0.State]:
    """A pipeline as it is said, and as it is on a node that was led to it from the safe one."""
    said = to_v0(wanted, 0, 64, 64).state
    state = v0.safe()
    for step in plan(state, said):
        state = v0.apply(state, step)
    return said, state


def structure(indication: Any) -> dict[str, Any]:
    """What an indication says of the pipeline, without counters and without filter ids."""
    classifier = copy.deepcopy(indication["cls"])
    for item in classifier.get("flt", []):
        del item["id"]
    return {
        "scheduler": indication["sch"],
        "pacer": indication["pcr"]["type"],
        "classifier": classifier,
        "queues": [
            (
                entry["shp"]["id"],
                entry["queue"]["type"],
                (entry["shp"]["active"], entry["shp"]["max_rate_kbps"]),
                (entry["plc"]["active"], entry["plc"]["max_rate_kbps"], entry["plc"]["dev_id"]),
            )
            for entry in indication["q"]
        ],
    }


def renumbered(wanted: dict[str, Any], translation: V0Translation) -> dict[str, Any]:
    """The v1 pipeline with the queue ids it has in v0."""
    numbers = {v1: number for number, v1 in translation.v1_of_v0.items()}

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        walked = {key: walk(item) for key, item in value.items()}
        if value.keys() >= {"first", "count"} and value["count"] == 1:
            walked["first"] = numbers[value["first"]]
        elif value.keys() >= {"first", "count"}:
            walked["first"] = min(numbers.values())
        if "queue" in value:
            walked["queue"] = numbers[value["queue"]]
        return walked

    result: dict[str, Any] = walk(wanted)
    result["queues"].sort(key=lambda entry: entry["first"])
    classifier = result["classifier"]
    if "osi" in classifier and not classifier["osi"]["filters"]:
        everything = {"id": 0, "match": match(), "target": classifier["osi"]["default"]}
        classifier["osi"]["filters"] = [everything]
    scheduler = result["scheduler"]
    if isinstance(scheduler, dict):
        # Those not listed come after, by their id in v1, which the other numbers may not keep.
        order = scheduler["strict_priority"]["order"]
        listed = {item["first"] for item in order}
        order += [target(numbers[v1]) for v1 in sorted(numbers) if numbers[v1] not in listed]
    return result


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(supported_in_v0(), min_size=1, max_size=4))
def test_each_step_is_one_a_node_takes_and_the_end_is_the_transaction(
    wanted: list[dict[str, Any]],
) -> None:
    gnb = Gnb()
    state = v0.observed(gnb.seen())
    for item in wanted:
        e2sm_tc.validate_pipeline(item)
        said = to_v0(item, state.base, 64, 64)
        for step in plan(state, said.state):
            state = v0.apply(state, step)
            assert not v0.missing_queues(state)
            # The node refuses a rule that points to a queue that is not there.
            gnb.take_v0(step)
        assert state == said.state
        other = Gnb()
        other.take_v1(renumbered(item, said))
        assert structure(gnb.seen()) == structure(other.seen())
        assert v0.alike(state, v0.observed(gnb.seen()))


@settings(max_examples=60, deadline=None)
@given(supported_in_v0(), supported_in_v0(), st.data())
def test_a_plan_broken_off_anywhere_can_be_taken_back(
    before: dict[str, Any], after: dict[str, Any], data: st.DataObject
) -> None:
    was, start = in_force(before)
    steps = plan(start, to_v0(after, 0, 64, 64).state)
    state = start
    for step in steps[: data.draw(st.integers(0, len(steps)))]:
        state = v0.apply(state, step)
    for step in plan(state, was):
        state = v0.apply(state, step)
        assert not v0.missing_queues(state)
    # Filters may have got other numbers; their order is what counts.
    assert v0.alike(_numbered(was), _numbered(state))


@settings(max_examples=100, deadline=None)
@given(supported_in_v0(), supported_in_v0(), st.data())
def test_whichever_controls_of_a_stage_are_refused_a_node_can_run_what_is_left(
    before: dict[str, Any], wanted: dict[str, Any], data: st.DataObject
) -> None:
    was, start = in_force(before)
    steps = plan(start, to_v0(wanted, 0, 64, 64).state)
    cut = stages(start, steps)
    assert list(itertools.chain.from_iterable(cut)) == steps
    whole = data.draw(st.integers(0, len(cut)))
    sent = list(itertools.chain.from_iterable(cut[: whole + 1]))
    taken = sum(map(len, cut[:whole]))
    answers = [True] * taken + [data.draw(st.booleans()) for _ in sent[taken:]]
    state = start
    for count in range(len(answers) + 1):
        state = after(start, sent, answers[:count])
        assert not v0.missing_queues(state)
    for step in plan(state, was):
        state = v0.apply(state, step)
        assert not v0.missing_queues(state)
    assert v0.alike(_numbered(was), _numbered(state))


async def test_the_rehearsal_is_of_a_whole_transaction_and_its_way_back() -> None:
    there = len(plan(v0.safe(), to_v0(hashed(8), 0, 64, 64).state))
    back = len(plan(to_v0(hashed(8), 0, 64, 64).state, v0.safe()))
    assert await rehearse() == there + back


def test_what_needs_another_control_waits_for_it() -> None:
    spread = stages(v0.safe(), plan(v0.safe(), to_v0(hashed(8), 0, 64, 64).state))
    assert len(spread) == 1, "queues, their spreading and the pacer need nothing of one another"
    directed = to_v0(segregated(), 0, 64, 64).state
    there = [
        [(step["type"], step["act"]) for step in stage]
        for stage in stages(v0.safe(), plan(v0.safe(), directed))
    ]
    assert there[0] == [("QUEUE", "ADD"), ("QUEUE", "MOD")]
    assert ("CLS", "ADD") in there[1], "a rule waits for the queue it points to"
    back = stages(directed, plan(directed, v0.safe()))
    removals = [("QUEUE", "DEL") in [(s["type"], s["act"]) for s in stage] for stage in back]
    alone = [{s["act"] for s in stage} == {"DEL"} for stage in back]
    assert removals.count(True) == 1
    assert all(apart for removal, apart in zip(removals, alone, strict=True) if removal)


def _numbered(state: v0.State) -> v0.State:
    if not isinstance(state.classifier, v0.Osi):
        return state
    filters = tuple(enumerate(rule for _, rule in state.classifier.filters))
    return v0.State(state.queues, v0.Osi(filters), state.priority, state.paced)


def test_queues_come_before_the_rules_that_use_them_and_go_after() -> None:
    there = plan(v0.safe(), to_v0(segregated(), 0, 64, 64).state)
    kinds = [(step["type"], step["act"]) for step in there]
    assert kinds == [
        ("QUEUE", "ADD"),
        ("QUEUE", "MOD"),
        ("SCH", "MOD"),
        ("CLS", "ADD"),
        ("PCR", "MOD"),
    ]
    back = plan(to_v0(segregated(), 0, 64, 64).state, v0.safe())
    kinds = [(step["type"], step["act"]) for step in back]
    assert kinds.index(("SCH", "MOD")) < kinds.index(("QUEUE", "DEL"))
    assert kinds.index(("CLS", "MOD")) < kinds.index(("QUEUE", "DEL"))
    assert kinds[-2:] == [("CLS", "MOD"), ("PCR", "MOD")]


def test_what_is_in_force_is_not_sent_again() -> None:
    state = to_v0(hashed(8), 0, 64, 64).state
    assert plan(state, state) == []
    faster = to_v0({**hashed(8), "queues": [queues(0, 8, codel(10))]}, 0, 64, 64).state
    assert [step["type"] for step in plan(state, faster)] == ["QUEUE"] * 8


def test_queues_with_gaps_are_cleared_before_others_are_added() -> None:
    plain = v0.Queue("FIFO")
    found = v0.State({0: plain, 1: plain, 5: plain}, v0.Spread("STO", None))
    steps = plan(found, to_v0(hashed(4), 0, 64, 64).state)
    state = found
    for step in steps:
        state = v0.apply(state, step)
    assert sorted(state.queues) == [0, 1, 2, 3]
    assert steps[0]["type"] == "CLS"


@pytest.mark.parametrize(
    ("changed", "cause", "element"),
    [
        (
            {"scheduler": {"deficit_round_robin": {"quantum_bytes": 1514}}},
            "unsupported",
            "scheduler",
        ),
        ({"pacer": {"drql": {"mtu_bytes": 1500}}}, "unsupported", "pacer"),
        (
            {"classifier": {"l4s_ecn": {"l4s": target(0), "classic": target(1)}}},
            "unsupported",
            "classifier",
        ),
        (
            {"queues": [queues(0, 2, {"bode": {"bound_us": 10}})]},
            "unsupported",
            "queues[0].discipline",
        ),
        (
            {"queues": [queues(0, 2, {"fifo": {"drop": "head"}})]},
            "unsupported",
            "queues[0].discipline.fifo.drop",
        ),
        (
            {"queues": [queues(0, 1), queues(1, 1, limit_packets=5)]},
            "unsupported",
            "queues[1].limit_packets",
        ),
        (
            {
                "queues": [
                    queues(
                        0,
                        2,
                        {
                            "codel": {
                                "target_us": 1500,
                                "interval_us": 100_000,
                                "ecn": True,
                                "ce_threshold_us": None,
                                "l4s": False,
                            }
                        },
                    )
                ]
            },
            "out_of_range",
            "queues[0].discipline.codel.target_us",
        ),
        (
            {
                "queues": [
                    queues(
                        0,
                        2,
                        policer={"rate_kbps": 9000, "burst_bytes": 3000, "exceed": "drop"},
                    )
                ]
            },
            "out_of_range",
            "queues[0].policer.burst_bytes",
        ),
        (
            {
                "queues": [
                    queues(0, 2, shaper={"rate_kbps": 8000, "burst_bytes": 10_000, "group": 3})
                ]
            },
            "unsupported",
            "queues[0].shaper.group",
        ),
        (
            {
                "queues": [
                    queues(0, 2, shaper={"rate_kbps": 8000, "burst_bytes": 10_001, "group": None})
                ]
            },
            "out_of_range",
            "queues[0].shaper.burst_bytes",
        ),
        (
            {"classifier": osi([(match(source={"v6": {"address": "::1", "length": 128}}), 1)], 0)},
            "unsupported",
            "classifier.osi.filters[0].match.source",
        ),
        (
            {
                "classifier": osi(
                    [(match(), 0), (match(source={"v4": {"address": "10.0.0.0", "length": 8}}), 1)],
                    0,
                )
            },
            "unsupported",
            "classifier.osi.filters[1].match.source",
        ),
        (
            {"classifier": osi([(match(destination_port={"low": 1, "high": 2}), 1)], 0)},
            "unsupported",
            "classifier.osi.filters[0].match.destination_port",
        ),
        (
            {"classifier": osi([(match(dscp=46), 1)], 0)},
            "unsupported",
            "classifier.osi.filters[0].match.dscp",
        ),
        ({"classifier": {"round_robin": target(0)}}, "unsupported", "classifier.round_robin"),
        (
            {"scheduler": {"strict_priority": {"order": [target(0, 2)]}}},
            "unsupported",
            "scheduler.strict_priority.order[0]",
        ),
        ({"queues": [queues(0, 65)]}, "capacity", "queues"),
    ],
)
def test_what_v0_cannot_say_is_refused_with_its_element(
    changed: dict[str, Any], cause: str, element: str
) -> None:
    plain = pipeline(classifier={"round_robin": target(0, 2)}, queues=[queues(0, 2)], pacer="bdp5g")
    with pytest.raises(UnsupportedInV0) as refused:
        to_v0({**plain, **changed}, 0, 64, 64)
    assert (refused.value.cause, refused.value.element) == (cause, element)
