"""The demo in an OpenAirInterface gNB: what is missing is named, measurements are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from sojourn_demo import DemoError
from sojourn_demo.cli import main
from sojourn_demo.oai.build import GNB_SETTINGS, SETTINGS, UE_SETTINGS, Oai
from sojourn_demo.oai.network import packets
from sojourn_demo.oai.radio_clock import StatusClock
from sojourn_demo.oai.recorder import Unwrapped
from sojourn_demo.oai.run import DEFAULT_POLICY, write_policy

CELL = """
  dl_carrierBandwidth                = 106;
  dl_UL_TransmissionPeriodicity      = 6;
  nrofDownlinkSlots                  = 7;
  nrofDownlinkSymbols                = 6;
"""


@pytest.fixture
def oai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build tree with the expected files; its folder of settings is two levels up."""
    build = tmp_path / "oai" / "cmake_targets" / "build"
    build.mkdir(parents=True)
    (build / "nr-softmodem").write_bytes(b"\0sojourn: traffic control %s in OAI (%s)\n\0")
    for name in ("nr-uesoftmodem", "librfsimulator.so"):
        (build / name).touch()
    settings = tmp_path / "oai" / SETTINGS
    settings.mkdir(parents=True)
    (settings / GNB_SETTINGS).write_text(CELL)
    (settings / UE_SETTINGS).touch()
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    return build


def test_without_oai_the_demo_names_the_missing_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OAI_BUILD", raising=False)
    assert main(["--through", "oai", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == (
        "sojourn-demo: OAI_BUILD is not set; expected the build tree of OpenAirInterface\n"
    )


def test_options_of_another_gnb_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--udp", "60"]) == 2
    assert "--udp, --mcs, --rlc-period-ms: expected --through oai" in capsys.readouterr().err


def test_a_build_tree_is_found_with_its_settings(oai: Path) -> None:
    found = Oai.found({"OAI_BUILD": str(oai)})
    assert found.gnb_settings.name == GNB_SETTINGS
    # Two periods of 5 ms in a frame, each with seven downlink slots and six symbols of the next.
    assert found.downlink_prb_per_frame() == pytest.approx(2 * 106 * (7 + 6 / 14))


def test_a_gnb_without_traffic_control_is_named(oai: Path) -> None:
    (oai / "nr-softmodem").write_bytes(b"\0OAI\0")
    with pytest.raises(DemoError, match="nr-softmodem: has no traffic control"):
        Oai.found({"OAI_BUILD": str(oai)})


def test_missing_programs_are_named_with_their_packages(
    oai: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name in {"ip", "iperf3"} else name)
    with pytest.raises(DemoError, match="no ip, iperf3 here; install iperf3, iproute2"):
        Oai.found({"OAI_BUILD": str(oai)})


def test_settings_elsewhere_are_named_by_a_variable(oai: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.conf"
    with pytest.raises(DemoError, match=r"OAI_GNB_CONF=.*other.conf: no such file"):
        Oai.found({"OAI_BUILD": str(oai), "OAI_GNB_CONF": str(other)})
    other.write_text(CELL.replace("= 6;", "= 9;", 1))
    found = Oai.found({"OAI_BUILD": str(oai), "OAI_GNB_CONF": str(other)})
    with pytest.raises(DemoError, match="dl_UL_TransmissionPeriodicity: 9; expected 0 to 7"):
        found.downlink_prb_per_frame()


def test_a_radio_that_is_slow_has_a_time_of_its_own() -> None:
    clock = StatusClock(dict)
    assert clock.at([5.0]).tolist() == [5.0]
    clock.take({}, 0)
    for at_us, radio_us in ((100_000, 0), (200_000, 50_000), (200_000, 50_000), (300_000, 150_000)):
        clock.take({"at_us": at_us, "radio_us": radio_us}, 1_000_000)
    wall_us = [1_100_000, 1_150_000, 1_250_000, 1_310_000, 1_090_000]
    assert clock.at(wall_us).tolist() == [0, 25_000, 100_000, 160_000, -10_000]


def test_a_counter_goes_on_where_it_wraps() -> None:
    counter = Unwrapped()
    for value in ((1 << 32) - 5, 5, 7):
        counter.take(value)
    assert counter.total == 12


def test_packets_of_a_device_are_counted() -> None:
    assert packets("lo", "rx") is not None
    assert packets("no-such-device", "tx") is None


def test_the_policy_gets_the_wanted_period(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    to = tmp_path / "policy.yaml"
    write_policy(root / DEFAULT_POLICY, to, 5)
    assert "rlc_period_ms: 5\n" in to.read_text()
    bad = tmp_path / "bad.yaml"
    bad.write_text("- 1\n")
    with pytest.raises(DemoError, match=r"bad.yaml: expected a policy"):
        write_policy(bad, to, 5)
    with pytest.raises(DemoError, match=r"none.yaml: No such file"):
        write_policy(tmp_path / "none.yaml", to, 5)
