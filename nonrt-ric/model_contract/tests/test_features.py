"""Samples have the changes between two reports, across wraps, gaps and restarts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rlc_model import FEATURES, ContractError, FeatureExtractor, MinMaxScaler
from rlc_model.records import REPORT

OCCUPANCY, DRAINED, ARRIVED = (
    FEATURES.index(name)
    for name in ("occupancy_bytes", "drained_bytes_per_ms", "arrived_bytes_per_ms")
)


def rows(*values: tuple[int, int]) -> NDArray[np.void]:
    """Reports of (occupancy, PDU byte counter)."""
    report = np.zeros(len(values), REPORT)
    for row, (occupancy, pdu_bytes) in zip(report, values, strict=True):
        row["txbuf_occ_bytes"] = occupancy
        row["txpdu_bytes"] = pdu_bytes
    return report


def slots(*values: int) -> NDArray[np.intp]:
    return np.array(values, np.intp)


def test_the_first_report_has_levels_but_no_rates() -> None:
    samples = FeatureExtractor().extract(slots(0), rows((5000, 123)), 1_000)
    assert samples.features[0, OCCUPANCY] == 5000
    assert samples.features[0, DRAINED] == 0
    assert not samples.fresh[0]


def test_rates_are_per_millisecond_across_a_gap() -> None:
    extractor = FeatureExtractor()
    extractor.extract(slots(0), rows((1000, 0)), 0)
    samples = extractor.extract(slots(0), rows((4000, 6000)), 3_000)
    assert samples.fresh[0]
    assert samples.features[0, DRAINED] == 2000
    assert samples.features[0, ARRIVED] == 3000


@given(
    st.lists(
        st.tuples(st.sampled_from(["report", "others", "limit", "mac", "forget"]), st.booleans()),
        max_size=30,
    )
)
def test_passing_the_same_array_of_slots_changes_no_result(steps: list[tuple[str, bool]]) -> None:
    same, others = slots(3, 0, 70), slots(1, 3)
    cached, plain = FeatureExtractor(), FeatureExtractor()
    for k, (event, much_later) in enumerate(steps):
        at_us = 1_000 * (k + 1) + (300_000 * k if much_later else 0)
        for extractor, given_slots in ((cached, same), (plain, same.copy())):
            match event:
                case "limit":
                    extractor.update_limit(given_slots[:2], [k, float("nan")], at_us)
                case "mac":
                    extractor.update_mac(given_slots[1:], [k % 29, 1], [k, 2], at_us)
                case "forget":
                    extractor.forget(slots(0))
        if event not in ("report", "others"):
            continue
        chosen = same if event == "report" else others
        report = rows(*((100 * k + row, 7_000 * k * row) for row in range(len(chosen))))
        try:
            expected = plain.extract(chosen.copy(), report, at_us)
        except ContractError:
            with pytest.raises(ContractError):
                cached.extract(chosen, report, at_us)
            continue
        got = cached.extract(chosen, report, at_us)
        report["txpdu_bytes"] = 0
        for name in ("features", "fresh", "known"):
            np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_cached_context_values_expire_in_time(seed: int) -> None:
    """Values of several bearers become usable, and expire, at different times."""
    rng = np.random.default_rng(seed)
    same = slots(2, 0, 5)
    cached, plain = FeatureExtractor(), FeatureExtractor()
    at_us = 0
    for k in range(40):
        at_us += int(rng.choice([1_000, 30_000]))
        if rng.random() < 0.3:
            reported = rng.permutation(same)[: int(rng.integers(1, 4))]
            reported_us = at_us + int(rng.integers(-2, 40)) * 1_000
            for extractor in (cached, plain):
                extractor.update_mac(
                    reported, [k % 29] * len(reported), [k + 1] * len(reported), reported_us
                )
        report = rows((1, k), (2, k), (3, k))
        got, expected = (
            cached.extract(same, report, at_us),
            plain.extract(same.copy(), report, at_us),
        )
        np.testing.assert_array_equal(got.features, expected.features)
        np.testing.assert_array_equal(got.known, expected.known)


@given(start=st.integers(0, 2**32 - 1), drained=st.integers(0, 1_000_000))
def test_rates_are_continuous_across_a_counter_wrap(start: int, drained: int) -> None:
    extractor = FeatureExtractor()
    extractor.extract(slots(0), rows((0, start)), 0)
    samples = extractor.extract(slots(0), rows((0, (start + drained) % 2**32)), 1_000)
    assert samples.features[0, DRAINED] == np.float32(drained)


def test_a_restarted_entity_is_not_a_burst() -> None:
    extractor = FeatureExtractor()
    extractor.extract(slots(0), rows((0, 900_000)), 0)
    samples = extractor.extract(slots(0), rows((100, 50)), 1_000)
    assert not samples.fresh[0]
    assert samples.features[0, DRAINED] == 0


def test_bearers_are_independent_and_slots_are_reusable() -> None:
    extractor = FeatureExtractor(capacity=1)
    extractor.extract(slots(0, 70), rows((0, 100), (0, 5_000)), 0)
    samples = extractor.extract(slots(70, 0), rows((0, 5_400), (0, 110)), 1_000)
    assert samples.features[:, DRAINED].tolist() == [400, 10]
    extractor.forget(slots(0, 9_999))
    again = extractor.extract(slots(0, 70), rows((0, 1), (0, 5_500)), 2_000)
    assert again.fresh.tolist() == [False, True]


def test_invalid_reports_are_refused() -> None:
    extractor = FeatureExtractor()
    with pytest.raises(ContractError, match="report: lacks txbuf_occ_bytes"):
        extractor.extract(slots(0), np.zeros(1, [("rnti", "<u4")]), 0)
    with pytest.raises(ContractError, match="report: has 2 rows for 1 slots"):
        extractor.extract(slots(0), rows((0, 0), (0, 0)), 0)
    extractor.extract(slots(0), rows((0, 0)), 5_000)
    with pytest.raises(ContractError, match="5000 is not after"):
        extractor.extract(slots(0), rows((0, 0)), 5_000)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=2))
def test_scaling_is_invertible(values: list[float]) -> None:
    scaler = MinMaxScaler.of([-1e6, 0.0], [1e6, 1e6])
    scaled = scaler.transform(np.array([values], np.float32))
    for column, value in enumerate(values):
        assert scaler.inverse_column(column, scaled[:, column]) == pytest.approx([value], abs=1)
