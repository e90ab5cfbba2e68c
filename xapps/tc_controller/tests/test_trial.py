"""Schedule and statistics of trials, on synthetic periods."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from tc_controller.core.bearer_view import BearerView
from tc_controller.core.drain_history import DrainHistory
from tc_controller.core.inputs import BearerKey
from tc_controller.core.prb_window import PrbWindow
from tc_controller.core.rlc_windows import RlcWindows
from tc_controller.core.student_t import quantile
from tc_controller.core.trial import Arm, Schedule, arm_of_bearer
from tc_controller.core.trial_effect import Effect, least_pairs, look_error, paired, two_sample
from tc_controller.core.trial_meter import Measured, TrialMeter
from tc_controller.core.trial_policy import Trial
from tc_controller.core.trial_results import BearerResults, Effects
from tc_controller.core.trial_stop import better, decided
from tc_world import RLC_FIELDS

PERIOD_US = 1_000_000


def schedule(seed: str = "1/r/gnb-1", share: float = 0.5) -> Schedule:
    return Schedule(seed, 5_000_000, PERIOD_US, share)


def arms(of: Schedule, periods: int) -> list[Arm | None]:
    middles = (of.started_us + k * PERIOD_US + PERIOD_US // 2 for k in range(periods))
    found = [of.at(at_us) for at_us in middles]
    return [None if period is None else period.arm for period in found]


# ---------------------------------------------------------------------------------- schedule


def test_the_same_seed_gives_the_same_schedule_and_another_seed_another() -> None:
    assert arms(schedule(), 400) == arms(schedule(), 400)
    assert arms(schedule(), 400) != arms(schedule("2/r/gnb-1"), 400)


def test_a_pair_has_both_arms_and_either_comes_first_as_often() -> None:
    order = arms(schedule(), 2_000)
    pairs = list(zip(order[::2], order[1::2], strict=True))
    assert set(pairs) == {(Arm.BASE, Arm.AGAINST), (Arm.AGAINST, Arm.BASE)}
    assert 430 <= Counter(pairs)[Arm.BASE, Arm.AGAINST] <= 570


def test_a_small_share_leaves_the_base_in_force_between_pairs() -> None:
    order = arms(schedule(share=0.1), 1_000)
    assert order.count(Arm.AGAINST) == order.count(Arm.BASE) == 100
    assert order.count(None) == 800


def test_periods_follow_each_other_without_a_gap() -> None:
    of = schedule()
    ends_us = of.started_us
    for k in range(100):
        period = of.at(of.started_us + k * PERIOD_US)
        assert period is not None
        assert (period.begins_us, period.pair, period.second) == (ends_us, k // 2, k % 2 == 1)
        ends_us = period.ends_us


def test_bearers_keep_their_arm_and_as_many_as_the_share_are_on_the_former_pipeline() -> None:
    keys = [BearerKey("gnb-1", rnti, 1) for rnti in range(4_000)]
    drawn = [arm_of_bearer("1", key, 0.2) for key in keys]
    assert drawn == [arm_of_bearer("1", key, 0.2) for key in keys]
    assert 700 <= drawn.count(Arm.AGAINST) <= 900


# ----------------------------------------------------------------------------------- measure


@pytest.mark.parametrize("scale_us", [20.0, 3_000.0, 800_000.0])
def test_the_histogram_gives_percentiles_to_a_twentieth(scale_us: float) -> None:
    values = np.random.default_rng(1).exponential(scale_us, 5_000).astype(np.float32)
    windows, key = RlcWindows("gnb-1", 4), BearerKey("gnb-1", 1, 1)
    rows = np.zeros(1, RLC_FIELDS)
    rows["rnti"] = rows["rbid"] = 1
    windows.update(1, rows)
    view = BearerView(windows, DrainHistory(windows), PrbWindow(1_000), 0, 1, None, None)
    meter = TrialMeter(windows, lambda _: view, [key])
    for number, value in enumerate(values):
        rows["txsdu_wt_us"], rows["txpdu_bytes"] = value, 1_000 * (number + 1)
        windows.update(1_000 * (number + 2), rows)
        meter.sample()
        meter.sample()
    found = meter.finish(windows, [key], 95.0)[key]
    assert found.sojourn_us == pytest.approx(float(np.percentile(values, 95)), rel=0.05, abs=5.0)
    assert found.rate_kbps == pytest.approx(8_000.0, rel=0.01)
    assert found.drops_per_mb is None
    assert not meter.finish(RlcWindows("gnb-1", 4), [key], 95.0)


# -------------------------------------------------------------------------------- statistics


@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [  # Fisher and Yates, Statistical Tables, table III; 3.365 at 0.99 and 5.
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.95, 4, 2.132),
        (0.99, 5, 3.365),
        (0.975, 10, 2.228),
        (0.995, 30, 2.750),
        (0.975, 120, 1.980),
        (0.025, 10, -2.228),
    ],
)
def test_quantiles_of_student_are_those_of_the_tables(
    probability: float, freedom: int, expected: float
) -> None:
    assert quantile(probability, freedom) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("probability", [0.0, 1.0, math.nan])
def test_a_quantile_of_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        quantile(probability, 3)


def periods(rng: np.random.Generator, pairs: int) -> NDArray[np.float64]:
    """Sojourns of consecutive periods: a drifting load, heavy tails, both correlated over time."""
    drift = np.cumsum(rng.normal(0, 0.2, 2 * pairs))
    return 100.0 * np.exp(drift) + 20.0 * rng.standard_t(2, 2 * pairs)


def differences(seed: int, pairs: int, effect: float) -> list[float]:
    """Former pipeline less base, in pairs whose order a coin decides."""
    rng = np.random.default_rng(seed)
    values = periods(rng, pairs)
    coin = rng.choice([-1.0, 1.0], pairs)
    return list(effect + coin * (values[::2] - values[1::2]))


def looks(seed: int, pairs: int, effect: float) -> list[Effect]:
    observed = differences(seed, pairs, effect)
    found = (paired(observed[:n], 0.95) for n in range(1, pairs + 1))
    return [each for each in found if each is not None]


def test_of_two_equal_pipelines_fewer_trials_than_stated_find_a_difference_at_any_look() -> None:
    trials, pairs = 200, 30
    false = sum(any(e.low > 0 or e.high < 0 for e in looks(s, pairs, 0.0)) for s in range(trials))
    assert false <= 0.05 * trials


def test_the_interval_contains_the_effect_at_all_looks_at_once_as_often_as_stated() -> None:
    trials, effect = 100, 80.0
    missed = sum(
        any(not e.low <= effect <= e.high for e in looks(seed, 30, effect))
        for seed in range(1_000, 1_000 + trials)
    )
    assert missed <= 0.05 * trials


def test_a_large_effect_is_found_with_the_fewest_pairs_and_the_interval_narrows() -> None:
    found = looks(3, 200, 2_000.0)
    assert found[least_pairs(0.95) - 1].low > 0.0
    assert math.isinf(found[least_pairs(0.95) - 2].low)
    early, late = found[20], found[-1]
    assert late.high - late.low < 0.6 * (early.high - early.low)
    assert all(each.low <= each.estimate <= each.high for each in found)


@pytest.mark.parametrize("pairs", [8, 20, 100])
def test_looking_at_any_time_costs_less_than_twice_the_width_of_one_look(pairs: int) -> None:
    ratios = []
    for seed in range(30):
        values = np.random.default_rng(seed).normal(0.0, 3.0, pairs)
        effect = paired(list(values), 0.95)
        assert effect is not None
        student = quantile(0.975, pairs - 1) * values.std(ddof=1) / math.sqrt(pairs)
        ratios.append((effect.high - effect.low) / 2 / student)
    assert 1.0 < float(np.median(ratios)) < 1.9


def test_too_few_pairs_bound_nothing() -> None:
    assert least_pairs(0.95) == 7
    effect = paired([5.0] * 6, 0.95)
    assert effect is not None
    assert effect.as_dict() == {"units": 6, "estimate": 5.0, "low": None, "high": None}
    assert paired([], 0.95) is None


def test_differences_without_any_spread_give_a_point() -> None:
    assert paired([5.0] * 8, 0.95) == Effect(8, 5.0, 5.0, 5.0)
    assert paired([0.0] * 8, 0.95) == Effect(8, 0.0, 0.0, 0.0)


def test_welch_interval_of_two_samples_is_that_of_the_tables() -> None:
    # Variances 1 and 4 of 3 values each: 1.291 standard error, 2.94 degrees, t = 3.207.
    effect = two_sample([9.0, 10.0, 11.0], [4.0, 6.0, 8.0], 0.95)
    assert effect is not None
    assert (effect.units, effect.estimate) == (6, 4.0)
    assert effect.high - effect.estimate == pytest.approx(
        quantile(0.975, 2.9412) * math.sqrt(5 / 3), rel=1e-4
    )
    assert two_sample([1.0], [], 0.95) is None
    alone = two_sample([1.0], [2.0, 3.0], 0.95)
    assert alone is not None
    assert math.isinf(alone.high)


def bearer_trial(seed: int, effect_us: float) -> list[Effects]:
    """All looks at a trial of 24 bearers that differ much, for 20 periods."""
    rng = np.random.default_rng(seed)
    keys = [BearerKey("gnb-1", rnti, 1) for rnti in range(24)]
    own_us = dict(zip(keys, rng.normal(30_000.0, 10_000.0, 24), strict=True))
    arms_of = {key: arm_of_bearer(str(seed), key, 0.4) for key in keys}
    results, looks = BearerResults(0, {}), []
    for _ in range(20):
        measured: dict[Arm, dict[BearerKey, Measured]] = {Arm.BASE: {}, Arm.AGAINST: {}}
        for key, arm in arms_of.items():
            sojourn_us = own_us[key] + rng.normal(0.0, 5_000.0) + effect_us * (arm is Arm.BASE)
            measured[arm][key] = Measured(sojourn_us, 1_000.0, 0.0)
        assert results.add(measured) is None
        found = results.effects(0.95)
        if found is not None:
            looks.append(found)
    last = results.last(0.95)
    assert last is not None
    return [*looks, last]


def test_of_two_equal_pipelines_a_trial_of_bearers_finds_a_difference_as_rarely() -> None:
    trials, false = 200, 0
    for seed in range(trials):
        found = [look.sojourn_us for look in bearer_trial(seed, 0.0)]
        assert len(found) == 6
        false += any(e is not None and (e.low > 0 or e.high < 0) for e in found)
    assert false <= 0.05 * trials


def test_a_trial_of_bearers_finds_what_there_is() -> None:
    effect = bearer_trial(1, -30_000.0)[-1].sojourn_us
    assert effect is not None
    assert effect.units == 24
    assert effect.low <= -30_000.0 <= effect.high < 0.0


def test_all_looks_together_spend_the_error() -> None:
    assert 0.0499 < sum(look_error(0.05, look) for look in range(1, 10_001)) <= 0.05


# ------------------------------------------------------------------------------------ ending

TRIAL = Trial.model_validate(
    {
        "against": {"template": "fq_codel"},
        "share_of_time": 0.5,
        "stop": {"harm_ms": 10, "rate_loss_ratio": 0.05},
    }
)


@pytest.mark.parametrize(
    ("sojourn_ms", "rate", "why", "kept"),
    [
        ((-30, -11), (-0.2, 0.2), "the sojourn under fq_codel is longer by more than 10", "base"),
        ((-30, -9), (-0.2, 0.2), None, "base"),
        ((11, 30), (-0.2, 0.2), "the sojourn under the base is longer by more than 10", "against"),
        # A shorter delay does not buy the rate.
        ((11, 30), (0.06, 0.2), "the sojourn under the base is longer by more than 10", "base"),
        ((-5, 5), (-0.2, -0.06), "the base loses more than 5.0% of the rate", "against"),
        ((-5, -1), (-0.2, -0.06), "the base loses more than 5.0% of the rate", "base"),
        ((-5, 5), (0.06, 0.2), "fq_codel loses more than 5.0% of the rate", "base"),
        ((-5, 5), (-0.2, -0.04), None, "base"),
        ((-math.inf, math.inf), (-math.inf, math.inf), None, "base"),
    ],
)
def test_a_trial_ends_when_an_interval_shows_harm_and_the_better_pipeline_stays(
    sojourn_ms: tuple[float, float], rate: tuple[float, float], why: str | None, kept: str
) -> None:
    sojourn = Effect(9, 0.0, sojourn_ms[0] * 1e3, sojourn_ms[1] * 1e3)
    effects = Effects(sojourn, Effect(9, 0.0, *rate), None)
    known = decided(TRIAL, effects)
    assert (known is None) if why is None else (known or "").startswith(why)
    assert better(TRIAL, effects).value == kept
    assert better(TRIAL, Effects(None, None, None)) is Arm.BASE
