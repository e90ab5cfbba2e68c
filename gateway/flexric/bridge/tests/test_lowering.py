"""v1 pipelines lowered to v0, against a TC function that is independent of the lowering."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import e2sm_tc
import gnb_lab
from e2sm_tc import v0
from flexric_bridge.tc.transition import after
from flexric_bridge.tc.warm_up import warm_up
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipelines import hashed, match, segregated, supported_in_v0, target

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
    """A gNB whose TC function is controlled in v0 or v1 and reports in v0."""

    def __init__(self) -> None:
        self.world = gnb_lab.World(SCENARIO)
        self.world.step_until(1_000)
        self.world.subscribe(gnb_lab.TC_V0_OID, 1)

    def take_v0(self, control: bytes) -> None:
        self.world.control(gnb_lab.TC_V0_OID, V0_HEADER, control)

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

    def report(self) -> bytes:
        return bytes(self.world.step_until(self.world.now_us + 2_000)[-1].message)


def lowered(wanted: dict[str, Any], base: int = 0) -> v0.State:
    return v0.lower(wanted, base, 64, 64)


def steps_to(state: v0.State, target: v0.State) -> list[bytes]:
    return list(itertools.chain.from_iterable(state.controls_to(target)))


def state_after(state: v0.State, target: v0.State) -> v0.State:
    """The state after the controls from one state to another."""
    for control in steps_to(state, target):
        state = state.after(control)
    return state


def kinds(controls: list[bytes]) -> list[tuple[str, str]]:
    decoded = (e2sm_tc.decode("control", control, "v0") for control in controls)
    return [(control["type"], control["act"]) for control in decoded]


def structure(report: bytes) -> dict[str, Any]:
    """The pipeline in an indication, without counters and filter ids."""
    indication = e2sm_tc.decode("indication", report, "v0")
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


def renumbered(wanted: dict[str, Any], state: v0.State) -> dict[str, Any]:
    """The v1 pipeline with the queue ids it has in v0."""
    v1_ids = json.loads(state.to_json())["v1_ids"]
    numbers = {v1: int(number) for number, v1 in v1_ids.items()}

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
    state = v0.State.observed(gnb.report())
    for item in wanted:
        e2sm_tc.validate_pipeline(item)
        end = lowered(item, state.base)
        for control in steps_to(state, end):
            state = state.after(control)
            # The node refuses a rule that points to a queue that is not there.
            gnb.take_v0(control)
        assert settled(state) == settled(end)
        other = Gnb()
        other.take_v1(renumbered(item, end))
        report = gnb.report()
        assert structure(report) == structure(other.report())
        assert end.agrees_with(v0.State.observed(report))


def settled(state: v0.State) -> dict[str, Any]:
    """A state without names and ids in v1, which v0 controls do not carry."""
    content: dict[str, Any] = json.loads(state.to_json())
    assert content["unknown"] == []
    return {**content["pipeline"], "name": None}


@settings(max_examples=60, deadline=None)
@given(supported_in_v0(), supported_in_v0(), st.data())
def test_a_plan_broken_off_anywhere_can_be_undone(
    before: dict[str, Any], wanted: dict[str, Any], data: st.DataObject
) -> None:
    was = lowered(before)
    start = state_after(v0.State.safe(), was)
    controls = steps_to(start, lowered(wanted))
    state = start
    for control in controls[: data.draw(st.integers(0, len(controls)))]:
        state = state.after(control)
    assert settled_with_numbered_filters(state_after(state, was)) == settled(was)


def settled_with_numbered_filters(state: v0.State) -> dict[str, Any]:
    """Filters may have got other numbers; their order is what counts."""
    content = settled(state)
    classifier = content["classifier"]
    if "osi" in classifier:
        for number, item in enumerate(classifier["osi"]["filters"]):
            item["id"] = number
    return content


@settings(max_examples=100, deadline=None)
@given(supported_in_v0(), supported_in_v0(), st.data())
def test_whichever_controls_of_a_group_are_refused_a_node_can_run_what_is_left(
    before: dict[str, Any], wanted: dict[str, Any], data: st.DataObject
) -> None:
    was = lowered(before)
    start = state_after(v0.State.safe(), was)
    groups = start.controls_to(lowered(wanted))
    whole = data.draw(st.integers(0, len(groups)))
    sent = list(itertools.chain.from_iterable(groups[: whole + 1]))
    taken = sum(map(len, groups[:whole]))
    answers = [True] * taken + [data.draw(st.booleans()) for _ in sent[taken:]]
    for count in range(len(answers) + 1):
        # Raises for a pipeline that no node can run.
        state = after(start, sent, answers[:count])
    assert settled_with_numbered_filters(state_after(state, was)) == settled(was)


async def test_the_warm_up_is_a_whole_transaction_and_its_way_back() -> None:
    safe, there = v0.State.safe(), lowered(hashed(8))
    expected = len(steps_to(safe, there)) + len(steps_to(there, safe))
    assert await warm_up() == expected


def test_what_needs_another_control_waits_for_it() -> None:
    safe, spread, directed = v0.State.safe(), lowered(hashed(8)), lowered(segregated())
    groups = safe.controls_to(spread)
    assert len(groups) == 1, "queues, their spreading and the pacer need nothing of one another"
    there = [kinds(group) for group in safe.controls_to(directed)]
    assert there[0] == [("QUEUE", "ADD"), ("QUEUE", "MOD")]
    assert ("CLS", "ADD") in there[1], "a rule waits for the queue it points to"
    back = [kinds(group) for group in directed.controls_to(safe)]
    removals = [group for group in back if ("QUEUE", "DEL") in group]
    assert len(removals) == 1
    assert {action for _, action in removals[0]} == {"DEL"}


def test_queues_come_before_the_rules_that_use_them_and_go_after() -> None:
    safe, there = v0.State.safe(), lowered(segregated())
    assert kinds(steps_to(safe, there)) == [
        ("QUEUE", "ADD"),
        ("QUEUE", "MOD"),
        ("SCH", "MOD"),
        ("CLS", "ADD"),
        ("PCR", "MOD"),
    ]
    back = kinds(steps_to(there, safe))
    assert back.index(("SCH", "MOD")) < back.index(("QUEUE", "DEL"))
    assert back.index(("CLS", "MOD")) < back.index(("QUEUE", "DEL"))
    assert back[-2:] == [("CLS", "MOD"), ("PCR", "MOD")]
