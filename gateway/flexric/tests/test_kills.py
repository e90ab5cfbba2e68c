"""Each part is killed ten times under load, or `--kills` times; the xApps keep running and get
reports again.

Killed programs are restarted as by a supervisor, nodes together with the RIC; reports must arrive
again, and the time of that is printed. The RIC survives the end of its peers because
libflexric_level_triggered.so is preloaded.
"""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle, islice

import e2sm_tc
import grpc
import pytest
import yaml
from flexric_processes import LAB, Network, Site, make_site
from loop import SCENARIO
from programs import indications, sdk_process, start_bridge, start_controller, start_forecaster
from ric.sm import TC_V0_OID
from sojourn_demo.programs import Program, free_address
from sojourn_interfaces.e2_gateway_pb2 import ControlRequest, ControlResponse

pytestmark = pytest.mark.shows("kills")

AWAY_S = 20.0
PATIENCE_S = 120.0
FLOWING = 200  # reports of a node
DRAIN_S = 1.5
"""Reports in flight arrive within this time; a node counts as disconnected after 2 s or more."""
CONTROL = "/sojourn.e2.v1.E2Gateway/Control"
STARTS = {"controller": start_controller, "forecaster": start_forecaster}
RR = e2sm_tc.encode("control", {"type": "CLS", "act": "ADD", "cls_type": "RR", "dummy": 0}, "v0")


@dataclass
class Chain:
    """RIC, nodes, bridge and xApps, with controls in flight."""

    network: Network
    bridge: Program
    rounds: int
    xapps: dict[str, Program] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)

    def start(self, name: str) -> None:
        self.xapps[name] = STARTS[name](self.network.site, self.bridge.ready["listen"])

    def kill_bridge(self) -> None:
        self.bridge.kill()

    def restart_bridge(self) -> None:
        """Kills the bridge; returns once another listens at its address."""
        address = self.bridge.ready["listen"]
        self.kill_bridge()
        self.bridge = start_bridge(self.network.site, *with_state(self.network.site, address))

    def kill_xapps(self) -> None:
        for xapp in self.xapps.values():
            xapp.kill()

    def kill_sdk(self) -> None:
        """Kills the SDK process; returns once the bridge has started another."""
        killed = sdk_process(self.bridge)
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        gives_up = time.monotonic() + PATIENCE_S
        while sdk_process(self.bridge) in (None, killed):
            assert time.monotonic() < gives_up, "the bridge started no other process"
            time.sleep(0.02)

    def counts(self) -> dict[tuple[str, str], float]:
        """Indications that each xApp got of each node."""
        return {
            (name, node): indications(xapp, node)
            for name, xapp in self.xapps.items()
            for node in self.network.agents
        }

    def recover(self) -> float:
        """Restarts ended programs until every xApp has new reports of every node; returns the time
        from the last start to these, s."""
        gives_up = time.monotonic() + PATIENCE_S
        before, began = self.counts(), time.monotonic()
        while True:
            if self.network.repair():
                began = time.monotonic()
                time.sleep(DRAIN_S)
                before = self.counts()
            now = self.counts()
            if all(now[key] > count + FLOWING for key, count in before.items()):
                return time.monotonic() - began
            assert time.monotonic() < gives_up, f"no reports within {PATIENCE_S} s: {now}"
            time.sleep(0.05)

    def all_alive(self) -> bool:
        return self.bridge.alive and all(xapp.alive for xapp in self.xapps.values())

    def control_for_ever(self) -> None:
        """Ten controls a second; outcomes are ignored."""
        with grpc.insecure_channel(self.bridge.ready["listen"]) as channel:
            control = channel.stream_stream(
                CONTROL,
                request_serializer=ControlRequest.SerializeToString,
                response_deserializer=ControlResponse.FromString,
            )
            for node in cycle(self.network.agents):
                if self.stop.wait(0.1):
                    return
                request = ControlRequest(
                    node_id=node, ran_function_oid=TC_V0_OID, header=bytes(4), message=RR
                )
                try:
                    next(control(iter([request]), timeout=5), None)
                except grpc.RpcError:
                    continue


@pytest.fixture(scope="module")
def chain(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Chain]:
    if not LAB.is_file():
        pytest.skip(f"there is no {LAB}: make flexric-node")
    with ExitStack() as stack:
        site = make_site(tmp_path_factory.mktemp("flexric"), 61)
        scenario = site.directory / "scenario.yaml"
        scenario.write_text(yaml.safe_dump({**SCENARIO, "duration_s": 36_000}))
        network = Network(site)
        stack.callback(network.stop)
        for nb_id in (1, 2):
            network.add_lab(nb_id, scenario)
        bridge = start_bridge(site, *with_state(site, free_address()))
        made = Chain(network, bridge, request.config.getoption("--kills"))
        stack.callback(made.kill_bridge)
        stack.callback(made.kill_xapps)
        for name in STARTS:
            made.start(name)
        load = threading.Thread(target=made.control_for_ever)
        load.start()
        stack.callback(load.join, 20)
        stack.callback(made.stop.set)
        made.recover()
        yield made


def with_state(site: Site, address: str) -> tuple[str, ...]:
    """Arguments of a bridge that comes back as it was."""
    return ("--listen", address, "--state", str(site.directory / "bridge.json"))


def was_killed(chain: Chain, name: str, took_s: list[float]) -> None:
    print(f"{name}: reports again after", " ".join(f"{s:.1f}" for s in took_s), "s", flush=True)
    typical_s, longest_s = statistics.median(took_s), max(took_s)
    print(
        f"{name}: {len(took_s)} times, median {typical_s:.1f} s, the longest {longest_s:.1f} s",
        flush=True,
    )
    assert len(took_s) == chain.rounds
    assert chain.all_alive()


def test_the_bridge(chain: Chain) -> None:
    took_s, listens_s = [], []
    for _ in range(chain.rounds):
        began = time.monotonic()
        chain.restart_bridge()
        listens_s.append(time.monotonic() - began)
        chain.recover()
        took_s.append(time.monotonic() - began)
        assert chain.all_alive()
    print(f"bridge: listens again after {max(listens_s):.1f} s at most", flush=True)
    was_killed(chain, "bridge", took_s)


def test_the_sdks_process(chain: Chain) -> None:
    took_s = []
    for _ in range(chain.rounds):
        began = time.monotonic()
        chain.kill_sdk()
        chain.recover()
        took_s.append(time.monotonic() - began)
        assert chain.all_alive()
    was_killed(chain, "SDK", took_s)


def test_the_ric(chain: Chain) -> None:
    took_s = []
    for _ in range(chain.rounds):
        chain.network.ric.kill()
        took_s.append(chain.recover())
        assert chain.all_alive()
    was_killed(chain, "RIC", took_s)


def test_five_consecutive_crashes_of_the_ric(chain: Chain) -> None:
    """The delay of restarts is tested on virtual time; here all come back after the fifth."""
    began = time.monotonic()
    for _ in range(4):
        chain.network.ric.kill()
        chain.network.repair()
    chain.network.ric.kill()
    within_s = time.monotonic() - began
    took_s = chain.recover()
    print(f"five deaths within {within_s:.1f} s: reports again after {took_s:.1f} s", flush=True)
    assert chain.all_alive()


def test_a_ric_that_stays_away(chain: Chain) -> None:
    """Away for longer than the SDK process waits for it."""
    chain.network.ric.kill()
    time.sleep(AWAY_S)
    took_s = chain.recover()
    print(f"away for {AWAY_S:g} s: reports again after {took_s:.1f} s", flush=True)
    assert chain.all_alive()


def test_a_node(chain: Chain) -> None:
    took_s = []
    for name in islice(cycle(chain.network.agents), chain.rounds):
        chain.network.agents[name].kill()
        took_s.append(chain.recover())
        assert chain.all_alive()
    was_killed(chain, "node", took_s)


def test_an_xapp(chain: Chain) -> None:
    took_s = []
    for name in islice(cycle(STARTS), chain.rounds):
        chain.xapps[name].kill()
        chain.start(name)
        took_s.append(chain.recover())
        assert chain.all_alive()
    was_killed(chain, "xApp", took_s)
