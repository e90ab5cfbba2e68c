"""Features of a whole run equal those extracted report by report."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlc_model import (
    Bearer,
    BearerSeries,
    ContractError,
    FeatureExtractor,
    Quantity,
    limit_outcomes,
    run_arrays,
)
from rlc_model.records import REQUIRED_FIELDS
from rlc_model.series import report_array

START_US = 1_700_000_000_000_000


def series(
    rng: np.random.Generator, ue: int, rows: int, *, gaps: float = 0.0, reported: float = 0.7
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

    unknown = rng.random(rows) > reported
    return BearerSeries(
        Bearer(ue, 1),
        START_US + 1_000 * np.cumsum(steps).astype(np.int64),
        report,
        np.where(rng.random(rows) > reported, np.nan, some(2**32)),
        np.where(unknown, np.nan, some(29)),
        np.where(unknown, np.nan, some(90_000)),
    )


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 60),
    gaps=st.sampled_from([0.0, 0.1, 0.6]),
    reported=st.sampled_from([0.0, 0.2, 0.9]),
    context=st.tuples(st.sampled_from([1, 3, 20]), st.booleans()),
)
def test_training_features_equal_serving_features(
    seed: int, rows: int, gaps: float, reported: float, context: tuple[int, bool]
) -> None:
    """Whether MAC and TC reports come before or after the RLC report of their instant."""
    context_ms, late = context
    rng = np.random.default_rng(seed)
    all_series = [series(rng, ue, rows, gaps=gaps, reported=reported) for ue in (17, 18)]
    run = run_arrays(all_series, context_us=1_000 * context_ms)
    extractor = FeatureExtractor(capacity=1)
    for slot, one in enumerate(all_series):
        at = np.array([slot], np.intp)
        due_us = START_US
        for row, at_us in enumerate(one.at_us.tolist()):
            due = row == 0 or at_us >= due_us
            if due:
                since_us = at_us - int(one.at_us[0])
                due_us = at_us + 1_000 * context_ms - since_us % (1_000 * context_ms)

            def update(at=at, one=one, row=row, at_us=at_us) -> None:  # type: ignore[no-untyped-def]
                extractor.update_limit(at, one.limit_bytes[row : row + 1], at_us)
                if not np.isnan(one.mcs[row]):
                    extractor.update_mac(
                        at, one.mcs[row : row + 1], one.tbs_bytes[row : row + 1], at_us
                    )

            if due and not late:
                update()
            samples = extractor.extract(at, one.report[row : row + 1], at_us)
            if due and late:
                update()
            t = (at_us - run.start_us) // run.period_us
            assert run.present[t, slot]
            assert run.features[t, slot].tobytes() == samples.features[0].tobytes()
            assert run.fresh[t, slot] == samples.fresh[0]
            assert run.known[t, slot].tolist() == samples.known[0].tolist()
            assert np.isfinite(samples.features).all()
    assert run.present.sum() == 2 * rows


def test_targets_are_unknown_without_a_rate_limit_or_report() -> None:
    rng = np.random.default_rng(1)
    one = series(rng, 17, 10, reported=1.0)
    one.report["txpdu_bytes"] = 100 * np.arange(10)
    one.report["txpdu_bytes"][5:] = 0  # the entity restarted
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


def test_a_limit_is_reported_once_per_status_and_is_the_truth_at_any_time() -> None:
    rng = np.random.default_rng(1)
    one = series(rng, 17, 10, reported=1.0)
    limit = 1_000.0 * np.arange(10)
    limit[4] = np.nan
    one.limit_bytes[:] = limit
    run = run_arrays([one], context_us=4_000)
    assert np.flatnonzero(run.limit_reported[:, 0]).tolist() == [0, 8]
    np.testing.assert_array_equal(run.targets[Quantity.QUEUE_LIMIT][:, 0], limit)
    alone = limit_outcomes((Quantity.DRAIN, Quantity.QUEUE_LIMIT), limit)
    assert np.isnan(alone[:, 0]).all()
    np.testing.assert_array_equal(alone[:, 1], limit.astype(np.float32))


def test_limit_mcs_and_tbs_are_from_an_earlier_instant() -> None:
    extractor = FeatureExtractor()
    slot = np.array([3], np.intp)
    report = np.zeros(1, [(name, "<u4") for name in REQUIRED_FIELDS])
    extractor.update_mac(slot, [9], [700], 1_000)
    extractor.update_limit(slot, [4_000], 1_000)
    at_once = extractor.extract(slot, report, 1_000)
    assert at_once.features[0, 6:].tolist() == [0, 0, 0]
    assert at_once.known.tolist() == [[False, False, False]]
    extractor.update_mac(slot, [10], [800], 2_000)
    after = extractor.extract(slot, report, 2_000)
    assert after.features[0, 6:].tolist() == [4_000, 9, 700]
    assert after.known.all()


def test_context_values_expire() -> None:
    extractor = FeatureExtractor()
    slot = np.array([0], np.intp)
    report = np.zeros(1, [(name, "<u4") for name in REQUIRED_FIELDS])
    extractor.update_mac(slot, [9], [700], 0)
    extractor.update_limit(slot, [4_000], 50_000)
    extractor.update_limit(slot, [np.nan], 60_000)
    assert extractor.extract(slot, report, 250_000).features[0, 6:].tolist() == [4_000, 9, 700]
    later = extractor.extract(slot, report, 251_000)
    assert later.features[0, 6:].tolist() == [4_000, 0, 0]
    assert later.known.tolist() == [[True, False, False]]


def test_a_reused_slot_has_no_context_values_of_its_last_bearer() -> None:
    extractor = FeatureExtractor()
    slot = np.array([0], np.intp)
    extractor.update_mac(slot, [9], [700], 0)
    extractor.forget(slot)
    report = np.zeros(1, [(name, "<u4") for name in REQUIRED_FIELDS])
    assert not extractor.extract(slot, report, 1_000).known.any()


@pytest.mark.parametrize(
    ("mcs", "tbs", "message"),
    [
        ([32.0], [0], r"^mcs\[0\]: is 32; expected 0 to 31"),
        ([np.nan], [0], r"^mcs\[0\]: is nan"),
        ([1], [-1], r"^tbs_bytes\[0\]: is -1"),
        ([1, 2], [1], r"^mcs: has shape \(2,\) for 1 slots"),
    ],
)
def test_invalid_mac_values_are_refused(mcs: list[float], tbs: list[float], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        FeatureExtractor().update_mac(np.array([0], np.intp), mcs, tbs, 0)


def test_an_infinite_limit_is_refused() -> None:
    with pytest.raises(ContractError, match=r"^limit_bytes\[1\]: is inf; expected 0 to"):
        FeatureExtractor().update_limit(np.array([0, 1], np.intp), [np.nan, np.inf], 0)


def test_invalid_runs_are_refused() -> None:
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
    with pytest.raises(ContractError, match=r"run: spans \d+ instants; expected at most"):
        run_arrays([one])
    empty = BearerSeries(Bearer(1, 1), *(getattr(one, f)[:0] for f in one.__slots__[1:]))
    with pytest.raises(ContractError, match=r"UE 1 DRB 1: has no report"):
        run_arrays([empty])
