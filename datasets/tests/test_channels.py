"""Loading of public traces; invalid lines are named by their number."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rlc_dataset import DatasetError
from rlc_dataset.channels import (
    ChannelTrace,
    RateColumns,
    load_colosseum,
    load_mahimahi,
    load_rates,
    load_trace,
    load_ucc,
    mahimahi_text,
)

ROOT = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("SOJOURN_SHARED", ROOT.parent / "shared")) / "traces"

UCC_HEADER = "Timestamp,Speed,SNR,CQI,DL_bitrate,State\n"
COLOSSEUM_HEADER = (
    "Timestamp,IMSI,RNTI,,dl_mcs,dl_n_samples,dl_buffer [bytes],tx_brate downlink [Mbps],dl_cqi,,"
    "sum_requested_prbs,sum_granted_prbs,tx_errors downlink (%)\n"
)


def colosseum_row(at_ms: int, rnti: int = 71, mcs: float = 9.5, samples: int = 4) -> str:
    return f"{at_ms},1,{rnti},,{mcs},{samples},1500,2.5,10.5,,7,6,12.5\n"


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
    assert trace.quantities["error_pct"][0] == 12.5
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


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"PK\x03\x04 and more", "a ZIP archive"),
        (bz2.compress(b"1\n2\n"), "packed by bzip2"),
        (b"\x28\xb5\x2f\xfd and more", "packed by zstd"),
        (b"PAR1 and more", "Parquet"),
        ("1\n2\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_is_no_text_is_said_by_its_kind(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "drive.csv"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as error:
        load_trace(path)
    assert str(error.value) == f"{path}: is {kind}; expected text, plain or packed by gzip or xz"


def test_packed_text_is_recognised_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "drive.trace"
    for pack in (gzip.compress, lzma.compress):
        path.write_bytes(pack(b"\xef\xbb\xbf1\r\n2\r\n"))
        assert len(load_trace(path)) == 2


def test_json_is_said_to_be_json(tmp_path: Path) -> None:
    path = put(tmp_path / "drive", '\n {"intervals": []}')
    with pytest.raises(DatasetError, match=r"drive: is JSON; expected .* rate column by name"):
        load_trace(path)


RATES = RateColumns("when", "rate", "Mbit/s")


def test_any_table_with_times_and_rates_is_a_trace(tmp_path: Path) -> None:
    text = "rate,when,\n1,10.0,x\n2,10.5,x\n9,11.01,x\n3,11.02,x\n-,11.5,x\n5,12.5,x\n"
    text += "6,99,x\n7,99.5,x\n"
    trace = load_rates(put(tmp_path / "t.csv", text), RATES)
    assert (trace.period_us, trace.sessions) == (500_000, 2)
    first = trace.of_session(0).quantities["rate_bps"]
    assert np.array_equal(first, [1e6, 2e6, 3e6, np.nan, np.nan, 5e6], equal_nan=True)
    assert trace.of_session(1).time_us.tolist() == [99_000_000, 99_500_000]
    assert trace.of_session(0).lab_channel() == {
        "rate_series": {"period_ms": 500, "values_kbps": [1000, 2000, 3000, 3000, 3000, 5000]}
    }


@pytest.mark.parametrize(
    "times",
    [
        ["Wed Dec 15 16:04:00 UTC 2021", "Wed Dec 15 16:04:03 UTC 2021"],
        ["2021-12-15T16:04:00Z", "2021-12-15 16:04:03+00:00"],
        ["2021.12.15_16.04.00", "2021.12.15_16.04.03"],
        ["1639584240", "1639584243.0004"],
    ],
)
def test_times_are_seconds_or_dates(tmp_path: Path, times: list[str]) -> None:
    text = "when,rate\n" + "".join(f"{time},1\n" for time in times)
    trace = load_rates(put(tmp_path / "t.csv", text), RATES)
    assert trace.time_us.tolist() == [1_639_584_240_000_000, 1_639_584_243_000_000]


def test_json_is_read_by_paths_of_names(tmp_path: Path) -> None:
    # As iperf3 --json has it, in one long line.
    sums = [{"sum": {"start": at, "bits_per_second": 1e6 * at}} for at in range(1, 400)]
    path = put(tmp_path / "iperf3.json", json.dumps({"start": {}, "intervals": sums}))
    columns = RateColumns("intervals.sum.start", "intervals.sum.bits_per_second", "bit/s")
    assert load_rates(path, columns).quantities["rate_bps"][:2].tolist() == [1e6, 2e6]
    # As flent has it, with names that have dots and spaces, and nothing at first.
    results = {"TCP 10.0.0.1": [None, 2.0, 3.0], "x": 1}
    path = put(tmp_path / "flent", json.dumps({"x_values": [0.0, 0.2, 0.4], "results": results}))
    trace = load_rates(path, RateColumns("x_values", "results.TCP 10.0.0.1", "Mbit/s"))
    assert np.array_equal(trace.quantities["rate_bps"], [np.nan, 2e6, 3e6], equal_nan=True)
    message = r"column results\.up: has no up; there is TCP 10\.0\.0\.1, x"
    with pytest.raises(DatasetError, match=message):
        load_rates(path, RateColumns("x_values", "results.up", "Mbit/s"))
    with pytest.raises(DatasetError, match=r"has 1 values and x_values has 3; expected as many"):
        load_rates(path, RateColumns("x_values", "results.x", "Mbit/s"))
    # Readers differ in which of the two they take.
    path = put(tmp_path / "twice", '{"x_values": [0.0, 0.2], "y": [1, 2], "y": [3, 4]}')
    with pytest.raises(DatasetError, match=r"key 'y' given twice; expected it once$"):
        load_rates(path, RateColumns("x_values", "y", "Mbit/s"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("when,speed\n1,1\n", "column rate: is missing; the header has when, speed"),
        ("when,rate\n1,1\n2,fast\n", "column rate, row 3: is 'fast'; expected a number from 0 to"),
        ("when,rate\n1,1\n2,-1\n", "column rate, row 3: is '-1'; expected a number from 0 to"),
        ("when,rate\nnoon,1\n", "column when, row 2: is 'noon'; expected seconds, ISO 8601"),
        ("when,rate\n1,1\n1,2\n", "column when: has 2 rows with increasing times; expected two"),
        ("when,rate\n1,-\n2,\n", "column rate: has no rate"),
        ("when,rate\n0,1\n9999,1\n", "column when: has a row each 9999 s (median); expected 3600"),
        ("{", "expected JSON"),
    ],
)
def test_a_wrong_table_of_rates_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DatasetError, match=re.escape(message)):
        load_rates(put(tmp_path / "t.csv", text), RATES)
    with pytest.raises(DatasetError, match=r"'Mbps'; expected of bit/s, kbit/s, Mbit/s, Gbit/s"):
        RateColumns("a", "b", "Mbps")
