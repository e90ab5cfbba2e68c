"""Loading of public traces; invalid lines are named by their number."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rlc_dataset import DatasetError
from rlc_dataset.channels import (
    ChannelTrace,
    load_colosseum,
    load_mahimahi,
    load_trace,
    load_ucc,
    mahimahi_text,
)

ROOT = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("SOJOURN_SHARED", ROOT.parent / "shared")) / "traces"

UCC_HEADER = "Timestamp,Speed,SNR,CQI,DL_bitrate,State\n"
COLOSSEUM_HEADER = (
    "Timestamp,IMSI,RNTI,,dl_mcs,dl_n_samples,dl_buffer [bytes],tx_brate downlink [Mbps],dl_cqi,,"
    "sum_requested_prbs,sum_granted_prbs\n"
)


def colosseum_row(at_ms: int, rnti: int = 71, mcs: float = 9.5, samples: int = 4) -> str:
    return f"{at_ms},1,{rnti},,{mcs},{samples},1500,2.5,10.5,,7,6\n"


def put(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_mahimahi_opportunities_are_bytes_per_period(tmp_path: Path) -> None:
    path = put(tmp_path / "t", "0\n1\n1\n4\n4\n4\n9\n")
    trace = load_mahimahi(path)
    assert trace.period_us == 1_000
    capacity = trace.quantities["capacity_bytes"]
    assert (capacity / 1500).tolist() == [3, 0, 0, 3, 0, 0, 0, 0, 1]
    coarse = load_mahimahi(path, period_ms=4).quantities["capacity_bytes"]
    assert (coarse / 1500).tolist() == [6, 0, 1]
    assert trace.lab_channel() == {"mahimahi": {"path": str(path)}}


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
def test_compressed_files_are_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / ("t.xz" if pack is lzma.compress else "t.gz")
    path.write_bytes(pack(b"1\r\n2\r\n"))
    assert len(load_mahimahi(path)) == 2
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DatasetError, match=rf"^{path}"):
        load_mahimahi(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2.5\n", "row 2: is '2.5'; expected a whole number of ms"),
        ("1\n-2\n", "row 2: is '-2'"),
        ("5\n4\n", "row 2: 4 ms is before 5 ms"),
        ("99999999999\n", "row 1: 99999999999 ms is more than 600000 ms after the line above"),
        (
            "".join(f"{600_000 * k}\n" for k in range(146)),
            "row 146: 87000000 ms is more than a day",
        ),
        ("", "has no opportunity after 0 ms"),
        ("0\n0\n", "has no opportunity after 0 ms"),
        ("1" * 5000, "row 1: is longer than 4096 characters"),
    ],
)
def test_invalid_mahimahi_traces_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load_mahimahi(put(tmp_path / "t", text))


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t")
    for path in (tmp_path / "t", Path("/dev/zero")):
        with pytest.raises(DatasetError, match=f"^{path}: is no regular file; expected one"):
            load_mahimahi(path)


def test_a_compressed_file_of_more_lines_than_the_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rlc_dataset.channels.text.MAX_LINES", 100)
    path = tmp_path / "t.xz"
    path.write_bytes(lzma.compress(b"1\n" * 101))
    with pytest.raises(DatasetError, match=f"^{path}: has more than 100 lines"):
        load_mahimahi(path)


def test_the_last_row_of_a_second_is_used_and_a_dash_is_not_measured(tmp_path: Path) -> None:
    text = UCC_HEADER + (
        "2019.12.16_12.27.05,0,5.0,12,30,D\n"
        "2019.12.16_12.27.05,0,6.0,13,40,D\n"
        "2019.12.16_12.27.08,0,-,-,2,D\n"
        "2019.12.16_13.00.00,0,1.0,3,9,D\n"
    )
    trace = load_ucc(put(tmp_path / "t.csv", text))
    assert trace.sessions == 2
    first = trace.of_session(0)
    assert np.diff(first.time_us).tolist() == [1_000_000] * 3
    assert first.quantities["rate_bps"].tolist()[::3] == [40_000, 2_000]
    assert np.isnan(first.quantities["cqi"]).tolist() == [False, True, True, True]
    assert first.lab_channel() == {"cqi_series": {"period_ms": 1000, "values": [13] * 4}}
    with pytest.raises(DatasetError, match="has 2 sessions; choose one"):
        trace.lab_channel()
    table = trace.table()
    assert table.column("cqi").null_count == 3
    assert table.schema.field("rate_bps").metadata == {b"unit": b"bit/s"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("2019.12.16_12.27.05,0,5,16,30,D", r"column CQI, row 2: is '16'; expected .* 0 to 15"),
        ("2019.12.16_12.27.05,0,5,1,nan,D", r"column DL_bitrate, row 2: is 'nan'"),
        ("2019-12-16,0,5,1,3,D", r"column Timestamp, row 2: is '2019-12-16'; expected YYYY"),
        ("2019.12.16_12.27.05,0", r"row 2: has 2 fields; expected 6"),
        (
            "2019.12.16_12.27.05,0,5,1,3,D\n2019.12.16_12.27.04,0,5,1,3,D",
            r"column Timestamp, row 3: .* is before the row above",
        ),
        ("", "has no row"),
    ],
)
def test_invalid_ucc_files_are_refused(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load_ucc(put(tmp_path / "t.csv", UCC_HEADER + row + "\n"))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"column CQI: is missing; the header has Timestamp"):
        load_ucc(put(tmp_path / "t.csv", "Timestamp,SNR\n"))
    with pytest.raises(DatasetError, match="is empty; expected a header"):
        load_colosseum(put(tmp_path / "t.csv", ""))


def test_a_jump_of_the_clock_starts_a_session(tmp_path: Path) -> None:
    times = [0, 250, 516, 750, 90_000, 90_250, 1_000, 1_250]
    text = COLOSSEUM_HEADER + "".join(colosseum_row(t) for t in times)
    text += colosseum_row(1_500, rnti=72)
    trace = load_colosseum(put(tmp_path / "t.csv", text))
    assert trace.session.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 3]
    assert trace.time_us[:4].tolist() == [0, 250_000, 500_000, 750_000]
    assert trace.quantities["rate_bps"][0] == 2_500_000
    assert trace.of_session(0).lab_channel() == {
        "mcs_series": {"period_ms": 250, "values": [9] * 4}
    }


def test_a_row_without_samples_has_no_mcs(tmp_path: Path) -> None:
    text = COLOSSEUM_HEADER + colosseum_row(0) + colosseum_row(250, mcs=0, samples=0)
    trace = load_colosseum(put(tmp_path / "t.csv", text))
    assert np.isnan(trace.quantities["mcs"]).tolist() == [False, True]
    assert trace.lab_channel() == {"mcs_series": {"period_ms": 250, "values": [9, 9]}}


def test_a_trace_without_mcs_and_cqi_has_no_lab_channel(tmp_path: Path) -> None:
    text = COLOSSEUM_HEADER + colosseum_row(0, samples=0)
    with pytest.raises(DatasetError, match="has neither MCS nor CQI"):
        load_colosseum(put(tmp_path / "t.csv", text)).lab_channel()


def test_the_first_line_tells_the_format(tmp_path: Path) -> None:
    ucc = put(tmp_path / "a", UCC_HEADER + "2019.12.16_12.27.05,0,5.0,12,30,D\n")
    colosseum = put(tmp_path / "b", COLOSSEUM_HEADER + colosseum_row(0))
    mahimahi = put(tmp_path / "c", "\n1\n2\n")
    found = [load_trace(path).source for path in (ucc, colosseum, mahimahi)]
    assert found == ["ucc", "colosseum", "mahimahi"]
    for text in ("", "Timestamp,SNR\n", "-1\n"):
        with pytest.raises(DatasetError, match=r"d, row 1: is .*; expected a whole number of ms"):
            load_trace(put(tmp_path / "d", text))


def test_a_window_is_written_as_a_trace_of_its_own(tmp_path: Path) -> None:
    trace = load_mahimahi(put(tmp_path / "t", "1\n1\n4\n4\n6\n"))
    window = trace.window(2, 6)
    assert mahimahi_text(window) == "2\n2\n4\n"
    again = load_mahimahi(put(tmp_path / "w", mahimahi_text(window)))
    capacity = window.quantities["capacity_bytes"]
    assert (again.quantities["capacity_bytes"] == capacity).all()
    assert mahimahi_text(trace.window(1, 3)) == ""


@pytest.mark.parametrize(
    ("folder", "pattern", "load"),
    [
        ("mahimahi-us", "*", load_mahimahi),
        ("ucc-5g", "*.csv*", load_ucc),
        ("tractor", "*.csv*", load_colosseum),
    ],
)
def test_the_public_files_are_readable(
    folder: str, pattern: str, load: Callable[[Path], ChannelTrace]
) -> None:
    files = sorted((TRACES / folder).glob(pattern))
    if not files:
        pytest.skip(f"the public traces are not at {TRACES}; set SOJOURN_SHARED")
    for path in files:
        trace = load(path)
        for number in range(trace.sessions):
            one = trace.of_session(number)
            assert (np.diff(one.time_us) == trace.period_us).all()
            assert all((v[~np.isnan(v)] >= -50).all() for v in one.quantities.values())


def test_a_mahimahi_trace_has_its_published_rate() -> None:
    path = TRACES / "mahimahi-us/ATT-LTE-driving-2016.down"
    if not path.exists():
        pytest.skip(f"the public traces are not at {TRACES}; set SOJOURN_SHARED")
    trace = load_mahimahi(path)
    rate_mbps = 8 * trace.quantities["capacity_bytes"].sum() / len(trace) / 1_000
    assert rate_mbps == pytest.approx(4.56, abs=0.01)
