"""The core in lockstep with the emulated gNB: real RLC, MAC, TCP and TC function, virtual time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tc_controller.core.controller import Controller
from tc_controller.live.decisions import RecentDecisions
from tc_controller.live.detail import bearer_detail
from tc_controller.live.feed import Feed
from tc_controller.policy_file import load_policy, parse_policy
from tc_evaluate import lockstep

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

ROOT = Path(__file__).parents[3]
SCENARIO = ROOT / "lab" / "scenarios" / "default.yaml"
DEFAULT = Path(__file__).parents[1] / "policies" / "default.yaml"
HARQ_ROUND_MS = 5


class Lockstep(lockstep.Lockstep):
    """The default scenario and a controller, with what the tests read of them."""

    def __init__(self, controller: Controller, **overrides: Any) -> None:
        super().__init__(gnb_lab.World(SCENARIO, overrides=overrides), controller)

    def ping_p95_ms(self, from_s: float, to_s: float) -> float:
        samples = self.world.rtt_samples_us("ping")
        chosen = [rtt for at_us, rtt in samples if from_s * 1e6 <= at_us < to_s * 1e6]
        return float(np.percentile(chosen, 95)) / 1000

    def goodput_bytes(self) -> int:
        return next(int(f["goodput_bytes"]) for f in self.world.flows() if f["name"] == "bulk")


def policy(ladder: str, rule: str = "") -> Controller:
    return Controller(parse_policy(f"version: 1\nrules: [{{name: r, ladder: {ladder}{rule}}}]"))


class EveryTurn(Controller):
    """A controller that is given each report, and looks at all bearers with each tick."""

    @property
    def _rests_until_us(self) -> int:
        return 0

    @_rests_until_us.setter
    def _rests_until_us(self, _: int) -> None:
        pass

    def turn_from_us(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("scenario", "until_s"),
    [("default", 12.0), ("ten_ues", 3.0), ("handover", 8.0), ("evening", 2.0)],
)
def test_turns_that_are_left_out_change_no_decision(scenario: str, until_s: float) -> None:
    path = SCENARIO.with_stem(scenario)
    runs = []
    for kind in (Controller, EveryTurn):
        lab = lockstep.Lockstep(gnb_lab.World(path), kind(load_policy(DEFAULT)))
        lab.run(until_s)
        runs.append((lab.records, lab.controller.counters, lab.world.summary()))
    assert runs[0] == runs[1]
    assert runs[0][0]


def test_bloat_is_detected_and_removed() -> None:
    controller = Controller(load_policy(DEFAULT), acting=False)
    lab = Lockstep(controller)
    lab.run(6)
    before = lab.goodput_bytes()
    lab.run(10)
    uncontrolled = (lab.goodput_bytes() - before) / 4
    controller.enable()
    lab.run(10.1)
    (decided,) = lab.events("decided")
    (answered,) = lab.events("answered")
    assert (decided["trigger"], decided["rung"]["template"]) == ("base", "low_latency")
    assert "accepted" in answered["outcome"]
    assert answered["detect_to_ack_us"] < 3_000
    lab.run(16)
    before = lab.goodput_bytes()
    lab.run(20)
    controlled = (lab.goodput_bytes() - before) / 4
    (verified,) = lab.events("verified")
    assert verified["verdict"] == "satisfied"
    assert lab.ping_p95_ms(4, 10) > 300
    assert lab.ping_p95_ms(14, 20) <= 30
    assert controlled >= 0.9 * uncontrolled
    assert not lab.events("rolled_back")


def test_the_base_is_in_force_before_anything_is_wrong() -> None:
    lab = Lockstep(Controller(load_policy(DEFAULT)))
    lab.run(8)
    assert lab.events("decided")[0]["inputs"]["hol_us"] < 5_000
    ping = [{"name": "ping", "kind": "ping", "interval_ms": 100}]
    alone = Lockstep(Controller(load_policy(DEFAULT)), flows=ping)
    alone.run(8)
    assert lab.ping_p95_ms(0, 8) <= alone.ping_p95_ms(0, 8) + HARQ_ROUND_MS
    assert lab.transactions == 1


def test_a_young_violation_never_becomes_bloat() -> None:
    lab = Lockstep(policy("[{template: fq_codel}]"))
    lab.run(6)
    assert lab.events("decided")[0]["inputs"]["hol_us"] < 20_000
    assert lab.ping_p95_ms(2, 6) <= 30
    assert [record["verdict"] for record in lab.events("verified")] == ["satisfied"]


def test_reports_that_are_on_their_way_at_a_decision_undo_nothing() -> None:
    delays = {"split.e2_report_delay_us": 80_000, "split.e2_control_delay_us": 1_000}
    lab = Lockstep(Controller(load_policy(DEFAULT)), **delays)
    lab.run(5)
    assert lab.transactions == 1
    assert not lab.events("reapplied")


def test_a_rung_that_starves_the_radio_is_rolled_back_and_the_next_one_helps() -> None:
    ladder = "[{template: flow_slicing, greedy_rate_kbps: 2000}, {template: fq_codel}]"
    controller = policy(ladder, ", enforce: {cool_down_ms: 1000}")
    controller.acting = False
    lab = Lockstep(controller)
    lab.run(5)
    controller.enable()
    lab.run(16)
    rolled_back, *others = lab.events("rolled_back")
    assert not others
    assert rolled_back["to"] == "safe"
    first, second = lab.events("decided")[:2]
    assert first["rung"]["template"] == "flow_slicing"
    assert second["rung"]["template"] == "fq_codel"
    assert second["at_us"] - rolled_back["at_us"] >= 1_000_000
    assert lab.events("verified")[-1]["verdict"] == "satisfied"


@pytest.mark.parametrize(
    "trace", ["nyc-2019/trace-3201037-timessquare.xz", "mahimahi-us/TMobile-LTE-driving.down.xz"]
)
def test_on_recorded_radios_the_delay_is_a_tenth_and_most_of_the_goodput_stays(trace: str) -> None:
    shared = Path(os.environ.get("SOJOURN_SHARED", ROOT.parent / "shared"))
    path = shared / "traces" / trace
    if not path.exists():
        pytest.skip(f"{path.name} is not there; SOJOURN_SHARED names the directory of the traces")

    def ride(seed: int, *, acting: bool) -> tuple[float, int]:
        channel = {"mahimahi": {"path": str(path)}}
        controller = Controller(load_policy(DEFAULT), acting=False)
        lab = Lockstep(controller, **{"ues[0].channel": channel, "seed": seed})
        lab.run(10)
        controller.acting = acting
        lab.run(11)
        before = lab.goodput_bytes()
        lab.run(40)
        assert acting == bool(lab.events("decided"))
        return lab.ping_p95_ms(11, 40), lab.goodput_bytes() - before

    free_bytes = held_bytes = 0
    # When a hole at the end of a ride is filled decides over megabytes: a mean over seeds counts.
    for seed in (1, 2, 3):
        (free_ms, free), (held_ms, held) = ride(seed, acting=False), ride(seed, acting=True)
        assert held_ms * 10 <= free_ms
        free_bytes += free
        held_bytes += held
    assert held_bytes >= 0.9 * free_bytes


@pytest.mark.parametrize("template", ["segregate_greedy", "fq_codel", "low_latency"])
def test_templates_hold_the_objective(template: str) -> None:
    lab = Lockstep(policy(f"[{{template: {template}}}]"))
    lab.run(8)
    assert lab.ping_p95_ms(3, 8) <= 30
    assert not lab.events("rolled_back")


def test_sparse_bulk_and_inherited_delays_are_those_that_the_gnb_measures() -> None:
    """Means derived from E2SM-TC and RLC reports, beside the gNB's own of each packet."""
    controller = Controller(load_policy(DEFAULT), acting=False)
    lab = Lockstep(controller)

    def so_far() -> dict[str, tuple[float, float]]:
        """Packets and sum of delays, ms, by kind and who measures."""
        (totals,) = controller.counters.service.values()
        (bearer,) = lab.world.summary()["bearers"]
        kinds = totals.delays_by_kind(15, lab.world.now_us + lab.world.epoch_us).items()
        found = dict.fromkeys(("e2 sparse", "e2 bulk", "e2 inherited"), (0.0, 0.0))
        found |= {f"e2 {kind.value}": (mean.count, mean.sum_us / 1e3) for kind, mean in kinds}
        gnb = bearer["sojourn_by_kind_ms"].items()
        return found | {f"gnb {k}": (d["count"], d["count"] * d["mean"]) for k, d in gnb}

    def means(from_s: float, to_s: float) -> dict[str, float]:
        lab.run(from_s)
        before = so_far()
        lab.run(to_s)
        grown = {k: np.subtract(now, before[k]) for k, now in so_far().items()}
        return {k: total / packets for k, (packets, total) in grown.items() if packets}

    bloated = means(4, 10)
    assert set(bloated) == {"e2 sparse", "gnb sparse", "e2 bulk", "gnb bulk"}
    for kind in ("sparse", "bulk"):
        assert bloated[f"gnb {kind}"] > 1_000
        assert bloated[f"e2 {kind}"] == pytest.approx(bloated[f"gnb {kind}"], rel=0.1)
    controller.enable()
    # Each second is counted a little after its end: what waited before is left out.
    relieved = means(11.5, 24)
    assert relieved["gnb sparse"] < 1
    assert 10 < relieved["gnb bulk"] < 100
    assert relieved["e2 sparse"] == pytest.approx(relieved["gnb sparse"], abs=0.2)
    assert relieved["e2 bulk"] == pytest.approx(relieved["gnb bulk"], rel=0.25)
    at_end = so_far()
    inherited_ms = {}
    for who, share in (("e2", 0.2), ("gnb", 0.05)):
        packets, total_ms = at_end[f"{who} inherited"]
        assert packets == pytest.approx(5_867, rel=share), "8.4 MB of 1428 bytes"
        inherited_ms[who] = total_ms / packets
    assert inherited_ms["gnb"] > 1_500
    assert inherited_ms["e2"] == pytest.approx(inherited_ms["gnb"], rel=0.02)


def test_the_live_page_shows_bulk_and_until_it_has_left_what_was_inherited() -> None:
    controller = Controller(load_policy(DEFAULT), acting=False)
    lab = Lockstep(controller)
    feed = Feed(controller, RecentDecisions(), dict, {}, 60)

    def values(to_s: float) -> list[float | None]:
        lab.run(to_s)
        for _ in feed.sample(lab.world.now_us + lab.world.epoch_us):
            pass
        for _ in feed.changes():
            pass
        (row,) = json.loads("".join(feed.whole()))["bearers"]
        found: list[float | None] = row["values"]
        return found

    values(9)
    sojourn_ms, _, _, bulk_ms, inherited_ms = values(10)
    assert min(sojourn_ms or 0, bulk_ms or 0) > 1_000
    assert inherited_ms is None
    controller.enable()
    seconds = [values(10 + second) for second in range(1, 8)]
    inherited = [each[4] for each in seconds]
    assert max(filter(None, inherited)) > 1_500
    assert inherited[-1] is None
    sojourn_ms, _, _, bulk_ms, _ = seconds[-1]
    assert 0 < (sojourn_ms or 0) < 10 < (bulk_ms or 0) < 50
    (node,) = controller.nodes.values()
    (key,) = node.bearers
    facts = dict(bearer_detail(controller, key, (), lab.world.now_us)["facts"])
    assert facts["Delay of packets"].startswith("sparse ")
    assert ", bulk " in facts["Delay of packets"]
