"""A run taken at once is what the extractor says report by report."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlc_model import Bearer, BearerSeries, ContractError, FeatureExtractor, Quantity, run_arrays
from rlc_model.records import REQUIRED_FIELDS
from rlc_model.series import report_array

START_US = 1_700_000_000_000_000


def series(
    rng: np.random.Generator, ue: int, rows: int, *, gaps: float = 0.0, told: float = 0.7
) -> BearerSeries:
    steps = 1 + (rng.random(rows) < gaps) * rng.integers(0, 400, rows)
    drained = rng.integers(0, 3_000_000, rows)
    report = report_array(
        {
            "txbuf_occ_bytes": rng.integers(0, 2**32, rows),
            "txbuf_occ_pkts": rng.integers(0, 5_000, rows),
            "txpdu_bytes": (rng.integers(0, 2**32) + np.cumsum(drained)) % 2**32,
            "txsdu_avg_time_to_tx": rng.choice([0.0, 1.5, 9e9, np.nan, np.inf, -1.0], rows),
            "txsdu_wt_us": rng.integers(0, 2**32, rows),
        }
    )

    def some(high: int) -> np.ndarray:
        return rng.integers(0, high, rows).astype(np.float64)

    silent = rng.random(rows) > told
    return BearerSeries(
        Bearer(ue, 1),
        START_US + 1_000 * np.cumsum(steps).astype(np.int64),
        report,
        np.where(rng.random(rows) > told, np.nan, some(2**32)),
        np.where(silent, np.nan, some(29)),
        np.where(silent, np.nan, some(90_000)),
    )


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 60),
    gaps=st.sampled_from([0.0, 0.1, 0.6]),
    told=st.sampled_from([0.0, 0.2, 0.9]),
    context=st.tuples(st.sampled_from([1, 3, 20]), st.booleans()),
)
def test_training_sees_what_serving_sees(
    seed: int, rows: int, gaps: float, told: float, context: tuple[int, bool]
) -> None:
    """Whether MAC and TC reports come before or after the RLC report of their instant."""
    context_ms, late = context
    rng = np.random.default_rng(seed)
    all_series = [series(rng, ue, rows, gaps=gaps, told=told) for ue in (17, 18)]
    run = run_arrays(all_series, context_us=1_000 * context_ms)
    extractor = FeatureExtractor(capacity=1)
    for slot, one in enumerate(all_series):
        at = np.array([slot], np.intp)
        due_us = START_US
        for row, at_us in enumerate(one.at_us.tolist()):
            told_now = row == 0 or at_us >= due_us
            if told_now:
                since_us = at_us - int(one.at_us[0])
                due_us = at_us + 1_000 * context_ms - since_us % (1_000 * context_ms)

            def note(at=at, one=one, row=row, at_us=at_us) -> None:  # type: ignore[no-untyped-def]
                extractor.note_limit(at, one.limit_bytes[row : row + 1], at_us)
                if not np.isnan(one.mcs[row]):
                    extractor.note_mac(
                        at, one.mcs[row : row + 1], one.tbs_bytes[row : row + 1], at_us
                    )

            if told_now and not late:
                note()
            samples = extractor.extract(at, one.report[row : row + 1], at_us)
            if told_now and late:
                note()
            t = (at_us - run.start_us) // run.period_us
            assert run.present[t, slot]
            assert run.features[t, slot].tobytes() == samples.features[0].tobytes()
            assert run.fresh[t, slot] == samples.fresh[0]
            assert run.told[t, slot].tolist() == samples.told[0].tolist()
            assert np.isfinite(samples.features).all()
    assert run.present.sum() == 2 * rows


def test_targets_are_known_only_where_the_report_knows_them() -> None:
    rng = np.random.default_rng(1)
    one = series(rng, 17, 10, told=1.0)
    one.report["txpdu_bytes"] = 100 * np.arange(10)
    one.report["txpdu_bytes"][5:] = 0  # the entity was set up anew
    one.limit_bytes[3] = np.nan
    short = BearerSeries(Bearer(18, 1), *(getattr(one, f)[4:6] for f in one.__slots__[1:]))
    run = run_arrays([short, one])
    assert [b.ue for b in run.bearers] == [17, 18]
    drain = run.targets[Quantity.DRAIN]
    assert np.isnan(drain[[0, 5], 0]).all()
    assert (drain[[1, 2, 3, 4], 0] == 100).all()
    assert np.flatnonzero(np.isnan(run.targets[Quantity.QUEUE_LIMIT][:, 0])).tolist() == [3]
    occupancy = run.targets[Quantity.OCCUPANCY]
    assert np.flatnonzero(~np.isnan(occupancy[:, 1])).tolist() == [4, 5]
    assert (run.features[~run.present] == 0).all()


def test_limit_mcs_and_tbs_are_those_of_the_instant_before() -> None:
    extractor = FeatureExtractor()
    slot = np.array([3], np.intp)
    report = np.zeros(1, [(name, "<u4") for name in REQUIRED_FIELDS])
    extractor.note_mac(slot, [9], [700], 1_000)
    extractor.note_limit(slot, [4_000], 1_000)
    at_once = extractor.extract(slot, report, 1_000)
    assert at_once.features[0, 6:].tolist() == [0, 0, 0]
    assert at_once.told.tolist() == [[False, False, False]]
    extractor.note_mac(slot, [10], [800], 2_000)
    after = extractor.extract(slot, report, 2_000)
    assert after.features[0, 6:].tolist() == [4_000, 9, 700]
    assert after.told.all()


def test_what_was_told_long_ago_is_not_told() -> None:
    extractor = FeatureExtractor()
    slot = np.array([0], np.intp)
    report = np.zeros(1, [(name, "<u4") for name in REQUIRED_FIELDS])
    extractor.note_mac(slot, [9], [700], 0)
    extractor.note_limit(slot, [4_000], 50_000)
    extractor.note_limit(slot, [np.nan], 60_000)
    assert extractor.extract(slot, report, 250_000).features[0, 6:].tolist() == [4_000, 9, 700]
    later = extractor.extract(slot, report, 251_000)
    assert later.features[0, 6:].tolist() == [4_000, 0, 0]
    assert later.told.tolist() == [[True, False, False]]


def test_a_slot_used_again_knows_nothing_of_who_had_it() -> None:
    extractor = FeatureExtractor()
    slot = np.array([0], np.intp)
    extractor.note_mac(slot, [9], [700], 0)
    extractor.forget(slot)
    report = np.zeros(1, [(name, "<u4") for name in REQUIRED_FIELDS])
    assert not extractor.extract(slot, report, 1_000).told.any()


@pytest.mark.parametrize(
    ("mcs", "tbs", "message"),
    [
        ([32.0], [0], r"^mcs\[0\]: is 32; expected 0 to 31"),
        ([np.nan], [0], r"^mcs\[0\]: is nan"),
        ([1], [-1], r"^tbs_bytes\[0\]: is -1"),
        ([1, 2], [1], r"^mcs: has shape \(2,\) for 1 slots"),
    ],
)
def test_what_no_mac_report_says_is_refused(
    mcs: list[float], tbs: list[float], message: str
) -> None:
    with pytest.raises(ContractError, match=message):
        FeatureExtractor().note_mac(np.array([0], np.intp), mcs, tbs, 0)


def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(ContractError, match=r"^limit_bytes\[1\]: is inf; expected 0 to"):
        FeatureExtractor().note_limit(np.array([0, 1], np.intp), [np.nan, np.inf], 0)


def test_what_is_no_run_is_refused() -> None:
    rng = np.random.default_rng(1)
    one = series(rng, 17, 5)
    with pytest.raises(ContractError, match="run: has no bearer"):
        run_arrays([])
    one.at_us[2] = one.at_us[1]
    with pytest.raises(ContractError, match=r"UE 17 DRB 1: time_us, report 2: is not after"):
        run_arrays([one])
    one.at_us[2] += 300
    with pytest.raises(ContractError, match=r"report 2: .* is 300 µs off the grid of 1000 µs"):
        run_arrays([one])
    one.at_us[2:] += 10**15
    with pytest.raises(ContractError, match=r"run: spans \d+ instants; at most"):
        run_arrays([one])
    none = BearerSeries(Bearer(1, 1), *(getattr(one, f)[:0] for f in one.__slots__[1:]))
    with pytest.raises(ContractError, match=r"UE 1 DRB 1: has no report"):
        run_arrays([none])
