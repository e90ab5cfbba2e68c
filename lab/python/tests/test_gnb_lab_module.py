"""The world from Python: scenarios in three shapes, lockstep, forks, and errors by name."""

from __future__ import annotations

import struct
import threading
from pathlib import Path

import gnb_lab
import pytest

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
SMALL = {
    "duration_s": 5,
    "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
    "ues": [{"rnti": 17921, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
    "flows": [
        {"name": "bulk", "kind": "tcp", "hystart": False},
        {"name": "ping", "kind": "ping", "interval_ms": 50},
    ],
}


def test_text_path_and_mapping_give_the_same_world() -> None:
    path = SCENARIOS / "default.yaml"
    worlds = [
        gnb_lab.World(path),
        gnb_lab.World(path.read_text()),
        gnb_lab.World(path, overrides={}),
    ]
    for world in worlds:
        world.step_until(1_000_000)
    first, *others = [world.summary() for world in worlds]
    assert first["flows"][0]["goodput_bytes"] > 100_000
    assert others == [first, first]
    assert gnb_lab.World(SMALL).summary()["flows"][1]["name"] == "ping"


def test_a_report_each_ms_carries_what_the_bearer_holds() -> None:
    world = gnb_lab.World(SMALL, epoch_us=1_700_000_000_000_000)
    subscription = world.subscribe(gnb_lab.RLC_OID, 1)
    indications = world.step_until(2_000_000)
    assert len(indications) == 2000
    last = indications[-1]
    assert (last.subscription, last.sequence, last.ran_function_id) == (subscription, 1999, 143)
    assert last.collected_at_us == last.received_at_us == 1_700_000_002_000_000
    count, occupancy_bytes = struct.unpack_from("<I40xI", last.message)
    (bearer,) = world.bearers()
    assert (count, occupancy_bytes) == (1, bearer["rlc_occupancy_bytes"])
    assert last.kpm is None
    assert world.unsubscribe(subscription)
    assert world.step_until(2_100_000) == []


def test_reports_are_given_away_until_one_is_answered_or_another_function_reports() -> None:
    world = gnb_lab.World(SMALL, epoch_us=0)
    world.subscribe(gnb_lab.RLC_OID, 1)
    world.subscribe(gnb_lab.MAC_OID, 10)
    taken: list[tuple[int, bytes]] = []

    def take(at_us: int, message: bytes) -> str | None:
        taken.append((at_us, message))
        return "seven" if at_us == 7_000 else None

    times_us, newest_us, answer, left = world.step_taking(50_000, 1_000, gnb_lab.RLC_OID, take)
    assert (times_us, newest_us) == ([1_000, 2_000, 3_000, 4_000, 5_000, 6_000], 6_000)
    assert answer == "seven"
    assert [(item.ran_function_oid, item.message) for item in left] == [
        (gnb_lab.RLC_OID, taken[-1][1])
    ]
    times_us, _, answer, left = world.step_taking(50_000, 1_000, gnb_lab.RLC_OID, take)
    given = [at_us for at_us, _ in taken]
    # The MAC's report is of the same time, before or behind that of the RLC.
    assert (given[-1], answer, world.now_us) in [(9_000, None, 10_000), (10_000, None, 10_000)]
    assert times_us == given[7:]
    assert gnb_lab.MAC_OID in [item.ran_function_oid for item in left]
    # Whole steps only.
    assert world.step_taking(12_500, 1_000, gnb_lab.RLC_OID, take)[0] == [11_000, 12_000]
    with pytest.raises(ValueError, match="step_us: 0; expected 1 or more"):
        world.step_taking(20_000, 0, gnb_lab.RLC_OID, take)


def test_reports_of_other_functions_are_given_away_with_the_time_of_their_step() -> None:
    world = gnb_lab.World(SMALL, epoch_us=1_000_000)
    world.subscribe(gnb_lab.RLC_OID, 4)
    world.subscribe(gnb_lab.MAC_OID, 10)
    rlc: list[int] = []
    mac: list[tuple[int, int]] = []

    def take(at_us: int, _message: bytes) -> None:
        rlc.append(at_us)

    def take_mac(now_us: int, at_us: int, message: bytes) -> bytes | None:
        mac.append((now_us, at_us))
        return message if now_us == 30_000 else None

    stepped = world.step_taking(50_000, 1_000, gnb_lab.RLC_OID, take, {gnb_lab.MAC_OID: take_mac})
    times_us, newest_us, answer, left = stepped
    assert mac == [(now_us, 1_000_000 + now_us) for now_us in (10_000, 20_000, 30_000)]
    assert times_us == [4_000, 8_000, 10_000, 12_000, 16_000, 20_000, 24_000, 28_000]
    assert (newest_us, rlc[-1]) == (28_000, 1_028_000)
    assert [(item.ran_function_oid, item.message) for item in left] == [(gnb_lab.MAC_OID, answer)]


def test_kpm_is_a_typed_report() -> None:
    world = gnb_lab.World(SMALL)
    world.subscribe(gnb_lab.KPM_OID, 100, kpm_measurements=["DRB.UEThpDl", "DRB.Unheard"])
    (indication,) = world.step_until(100_000)
    assert indication.kpm is not None
    assert indication.kpm["unsupported"] == ["DRB.Unheard"]
    assert indication.kpm["ues"][0]["rnti"] == 17921
    assert indication.message == b""


def test_a_fork_answers_what_if_and_leaves_the_world_alone() -> None:
    world = gnb_lab.World(SMALL)
    world.step_until(1_000_000)
    fork = world.fork()
    fork.step_until(1_500_000)
    assert (world.now_us, fork.now_us) == (1_000_000, 1_500_000)
    world.step_until(1_500_000)
    assert world.summary() == fork.summary()


def test_overrides_replace_elements_and_errors_name_their_path() -> None:
    world = gnb_lab.World(SMALL, overrides={"ues[0].drbs[0].pipeline": "fq_codel"})
    world.step_until(1_000)
    assert world.summary()["bearers"][0]["pipeline"] == "fq_codel"
    with pytest.raises(gnb_lab.ScenarioError, match=r"scenario: flows\[1\].kind: unknown value"):
        gnb_lab.World(SMALL, overrides={"flows[1].kind": "tpc"})
    with pytest.raises(gnb_lab.ScenarioError, match="scenario: empty"):
        gnb_lab.World("")
    with pytest.raises(gnb_lab.ScenarioError, match=r"missing\.yaml: cannot be opened"):
        gnb_lab.World(Path("missing.yaml"))
    with pytest.raises(TypeError, match="YAML text, a path or a mapping"):
        gnb_lab.World(7)  # type: ignore[arg-type]


def test_what_no_ran_function_takes_is_an_error() -> None:
    world = gnb_lab.World(SMALL)
    with pytest.raises(gnb_lab.E2Error, match=r'no RAN function "1\.2"'):
        world.subscribe("1.2", 1)
    with pytest.raises(gnb_lab.E2Error, match="either period_ms or event_trigger"):
        world.subscribe(gnb_lab.RLC_OID)
    with pytest.raises(gnb_lab.E2Error, match="event trigger"):
        world.subscribe(gnb_lab.RLC_OID, event_trigger=b"\x01")
    with pytest.raises(gnb_lab.E2Error, match="takes no control"):
        world.control(gnb_lab.RLC_OID, b"", b"")
    assert world.control(gnb_lab.TC_V1_OID, b"", b"")[:1] != b"", "a refusal is an outcome"
    with pytest.raises(gnb_lab.E2Error, match="header"):
        world.control(gnb_lab.TC_V0_OID, b"", b"")


def test_a_control_takes_the_e2_delays_and_keeps_what_arrives_meanwhile() -> None:
    delays = {"e2_report_delay_us": 10_000, "e2_control_delay_us": 5_000}
    world = gnb_lab.World(SMALL | {"split": delays})
    world.subscribe(gnb_lab.RLC_OID, 1)
    assert len(world.step_until(50_000)) == 40
    world.control(gnb_lab.TC_V1_OID, b"", b"")
    assert world.now_us == 65_000
    assert [i.sequence for i in world.step_until(65_000)] == list(range(40, 55))


def test_other_threads_run_while_the_world_steps() -> None:
    world = gnb_lab.World(SMALL)
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    world.step_until(20_000_000)
    done.set()
    thread.join()
    assert ticks > 0
    assert len(world.rtt_samples_us("ping")) > 100


def test_the_schema_is_the_models() -> None:
    schema = gnb_lab.scenario_schema()
    assert set(SMALL) <= set(schema["properties"])
    assert gnb_lab.World(SMALL).ran_functions[gnb_lab.TC_V1_OID]
