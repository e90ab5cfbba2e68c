"""Schedule and statistics of trials, on synthetic periods."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from tc_controller.core.inputs import BearerKey
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.prb_window import PrbWindow
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.core.policy.trial import Trial
from tc_controller.core.trials.effect import (
    LAST_LOOK,
    Effect,
    least_pairs,
    look_error,
    paired,
    two_sample,
)
from tc_controller.core.trials.meter import Measured, TrialMeter
from tc_controller.core.trials.results import BearerResults, Effects, PairResults
from tc_controller.core.trials.schedule import Arm, Schedule, arm_of_bearer
from tc_controller.core.trials.stop import Verdict, at_end, decided
from tc_world import rlc_message

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
    windows.take(1, rlc_message((0, 0, 0, 0, 1, 1)))
    view = BearerView(windows, PrbWindow(1_000), 0, 1, None, None)
    meter = TrialMeter(windows, lambda _: view, [key])
    for number, value in enumerate(values):
        message = rlc_message((1_000 * (number + 1), 0, 0, float(value), 1, 1))
        windows.take(1_000 * (number + 2), message)
        meter.sample()
        meter.sample()
    found = meter.finish(windows, [key], 95.0)[key]
    assert found.sojourn_us == pytest.approx(float(np.percentile(values, 95)), rel=0.05, abs=5.0)
    assert found.rate_kbps == pytest.approx(8_000.0, rel=0.01)
    assert found.drops_per_mb is None
    assert not meter.finish(RlcWindows("gnb-1", 4), [key], 95.0)


# -------------------------------------------------------------------------------- statistics


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


# Fisher and Yates, Statistical Tables, table III: 0.975 of Student's t of 7, 19 and 99 degrees.
@pytest.mark.parametrize(("pairs", "quantile"), [(8, 2.365), (20, 2.093), (100, 1.984)])
def test_looking_at_any_time_costs_less_than_twice_the_width_of_one_look(
    pairs: int, quantile: float
) -> None:
    ratios = []
    for seed in range(30):
        values = np.random.default_rng(seed).normal(0.0, 3.0, pairs)
        effect = paired(list(values), 0.95)
        assert effect is not None
        student = quantile * values.std(ddof=1) / math.sqrt(pairs)
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


def test_the_interval_of_two_samples_has_the_shifts_that_no_assignment_refutes() -> None:
    # 70 assignments of 4 and 4: 2.5 % on a side are the most extreme one. It is no more extreme
    # than the next one if the shift makes equal the two values that these exchange.
    effect = two_sample([10.0, 12.0, 17.0, 25.0], [1.0, 3.0, 4.0, 8.0], 0.95, "1/r/gnb-1")
    assert effect == Effect(8, 12.0, 10.0 - 8.0, 25.0 - 1.0)
    assert two_sample([1.0], [], 0.95, "1/r/gnb-1") is None


def test_the_seed_of_the_trial_decides_the_assignments_that_are_looked_at() -> None:
    values = list(np.random.default_rng(1).lognormal(10.0, 1.3, 200))

    def interval(seed: str) -> Effect | None:
        return two_sample(values[:80], values[80:], 0.95, seed)

    assert interval("1/r/gnb-1") == interval("1/r/gnb-1") != interval("2/r/gnb-1")


@pytest.mark.parametrize(("of_one", "of_other"), [(1, 1), (2, 3), (1, 30)])
def test_too_few_bearers_bound_nothing(of_one: int, of_other: int) -> None:
    effect = two_sample([5.0] * of_one, [1.0] * of_other, 0.95, "1/r/gnb-1")
    assert effect is not None
    assert math.isinf(effect.low)
    assert math.isinf(effect.high)


@pytest.mark.parametrize("confidence", [0.95, 0.9999999])
def test_a_look_at_many_bearers_takes_as_much_as_at_few(confidence: float) -> None:
    values = list(np.random.default_rng(2).lognormal(10.0, 1.0, 5_000))
    effect = two_sample(values[:2_000], values[2_000:], confidence, "1/r/gnb-1")
    assert effect is not None
    assert effect.units == 5_000
    assert math.isfinite(effect.low) is (confidence < 0.9995)
    if confidence < 0.9995:
        spread = float(np.std(values)) * math.sqrt(1 / 2_000 + 1 / 3_000)
        # Blocks of bearers cost no width: Student's of so many is 1.96 to each side.
        assert (effect.high - effect.low) / 2 == pytest.approx(1.96 * spread, rel=0.15)


@pytest.mark.parametrize(
    ("sigma", "of_one", "of_other"), [(1.0, 5, 35), (1.5, 5, 35), (1.5, 30, 10), (1.5, 20, 180)]
)
def test_skewed_bearers_show_a_difference_of_equal_pipelines_no_more_often_than_stated(
    sigma: float, of_one: int, of_other: int
) -> None:
    trials, false = 600, 0
    rng = np.random.default_rng(7)
    for seed in range(trials):
        values = rng.lognormal(math.log(30e3), sigma, of_one + of_other)
        effect = two_sample(list(values[:of_one]), list(values[of_one:]), 0.95, str(seed))
        assert effect is not None
        false += effect.low > 0.0 or effect.high < 0.0
    # Three standard errors of 5 %; Welch's interval misses in 12 to 16 % of all but the third.
    assert false <= 0.05 * trials + 3 * math.sqrt(trials * 0.05 * 0.95)


@pytest.mark.parametrize(
    ("sigma", "ratio", "bearers"), [(0.5, 0.5, 24), (1.0, 0.5, 130), (1.0, 0.1, 11), (1.5, 0.1, 28)]
)
def test_the_power_is_as_documented_for_sojourns_of_bearers(
    sigma: float, ratio: float, bearers: int
) -> None:
    rng, half, trials = np.random.default_rng(11), bearers // 2, 60
    shown = 0
    for seed in range(trials):
        base, other = rng.lognormal(10.3, sigma, half), rng.lognormal(10.3, sigma, bearers - half)
        effect = two_sample(list(base), list(ratio * other), 1.0 - LAST_LOOK * 0.05, str(seed))
        assert effect is not None
        shown += effect.low > 0.0
    assert shown / trials == pytest.approx(0.8, abs=0.15)


@pytest.mark.parametrize(("spread", "pairs"), [(0.03, 16), (0.05, 40), (0.1, 140)])
def test_the_power_is_as_documented_for_an_equal_rate_of_pairs(spread: float, pairs: int) -> None:
    rng, trials = np.random.default_rng(12), 60
    limit = -math.log1p(-TRIAL.stop.rate_loss_ratio)
    found = [
        paired(list(rng.normal(0.0, spread * math.sqrt(2.0), pairs)), 0.95) for _ in range(trials)
    ]
    shown = sum(each is not None and each.high <= limit for each in found)
    assert shown / trials == pytest.approx(0.8, abs=0.15)


def bearer_trial(seed: int, effect_us: float, sigma: float = 0.0) -> list[Effects]:
    """All looks at a trial of 24 bearers that differ much, for 20 periods; ``sigma``: of lognormal
    sojourns."""
    rng = np.random.default_rng(seed)
    keys = [BearerKey("gnb-1", rnti, 1) for rnti in range(24)]
    own = rng.lognormal(10.3, sigma, 24) if sigma else rng.normal(30_000.0, 10_000.0, 24)
    own_us = dict(zip(keys, own, strict=True))
    arms_of = {key: arm_of_bearer(str(seed), key, 0.4) for key in keys}
    results, looks = BearerResults(0, {}, str(seed)), []
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


@pytest.mark.parametrize("sigma", [0.0, 1.5])
def test_of_two_equal_pipelines_a_trial_of_bearers_finds_a_difference_as_rarely(
    sigma: float,
) -> None:
    trials, false = 100, 0
    for seed in range(trials):
        found = [look.sojourn_us for look in bearer_trial(seed, 0.0, sigma)]
        assert len(found) == 6
        false += any(e is not None and (e.low > 0 or e.high < 0) for e in found)
    assert false <= 0.05 * trials


def test_a_trial_of_bearers_finds_what_there_is() -> None:
    effect = bearer_trial(1, -30_000.0)[-1].sojourn_us
    assert effect is not None
    assert effect.units == 24
    assert effect.low <= -30_000.0 <= effect.high < 0.0


def test_all_looks_together_spend_the_error() -> None:
    before_the_end = sum(look_error(0.05, look) for look in range(1, 10_001))
    assert 0.0499 < before_the_end + LAST_LOOK * 0.05 <= 0.05


# ------------------------------------------------------------------------------------ ending

TRIAL = Trial.model_validate(
    {
        "against": {"template": "fq_codel"},
        "share_of_time": 0.5,
        "stop": {"harm_ms": 10, "rate_loss_ratio": 0.05},
    }
)


SLOWER = "the sojourn under fq_codel is longer by more than 10 ms"
LOSES = "fq_codel loses more than 5.0% of the rate"
SHORTER = "the sojourn under the base is longer by more than {} ms, and fq_codel loses at most 5.0%"
FASTER = "the base loses more than 5.0% of the rate, and the sojourn under fq_codel is longer by at"
UNSHOWN = "fq_codel is not shown to be better"


@pytest.mark.parametrize(
    ("sojourn_ms", "rate", "early", "why", "kept"),
    [
        ((-30, -11), (-0.2, 0.2), True, SLOWER, "base"),
        ((-30, -9), (-0.2, 0.2), False, UNSHOWN, "base"),
        ((11, 30), (-0.2, 0.04), True, SHORTER.format(10), "against"),
        # Shown to be worth a change, and at the end there is nothing to be gained by waiting.
        ((6, 30), (-0.2, 0.04), False, SHORTER.format(5), "against"),
        # A gain that is worth no change.
        ((4, 30), (-0.2, 0.04), False, UNSHOWN, "base"),
        # A loss that is not shown may be there.
        ((11, 30), (-0.2, 0.2), False, "fq_codel may lose more than 5.0% of the rate", "base"),
        # A shorter delay does not buy the rate.
        ((11, 30), (0.06, 0.2), True, LOSES, "base"),
        ((-5, 5), (-0.2, -0.06), True, FASTER, "against"),
        ((-6, 5), (-0.2, -0.06), False, "the sojourn under fq_codel may be longer by", "base"),
        ((-5, -1), (-0.2, -0.06), True, FASTER, "against"),
        ((-5, 5), (0.06, 0.2), True, LOSES, "base"),
        ((-5, 5), (-0.2, -0.04), False, UNSHOWN, "base"),
        ((-math.inf, math.inf), (-math.inf, math.inf), False, UNSHOWN, "base"),
    ],
)
def test_the_other_pipeline_stays_only_when_a_gain_is_shown_and_a_loss_is_excluded(
    sojourn_ms: tuple[float, float], rate: tuple[float, float], early: bool, why: str, kept: str
) -> None:
    sojourn = Effect(9, 0.0, sojourn_ms[0] * 1e3, sojourn_ms[1] * 1e3)
    effects = Effects(sojourn, Effect(9, 0.0, *rate), None)
    verdict = at_end(TRIAL, effects)
    assert verdict.kept.value == kept
    known = decided(TRIAL, effects)
    assert (known is not None) is early
    assert (known or verdict).why.startswith(why)
    assert (known or verdict).kept.value == kept


def test_nothing_measured_leaves_the_base() -> None:
    nothing = Effects(None, None, None)
    assert decided(TRIAL, nothing) is None
    assert at_end(TRIAL, nothing) == Verdict(Arm.BASE, UNSHOWN)


def verdict_of_pairs(
    seed: int, *, saved_ms: float, rate_ratio: float, spread: float, pairs: int = 40
) -> Verdict:
    """The verdict on a pipeline that has this ratio of the base's rate, on a radio whose rate
    varies by ``spread`` (of its logarithm) from period to period."""
    rng = np.random.default_rng(seed)
    results, key = PairResults([]), BearerKey("gnb-1", 1, 1)
    for _ in range(pairs):
        of_base, of_other = 20_000.0 * np.exp(rng.normal(0.0, spread, 2))
        sojourns_us = 1_000.0 * rng.lognormal(math.log(100.0), 0.3, 2)
        base = Measured(sojourns_us[0] + 1_000.0 * saved_ms, of_base, None)
        other = Measured(sojourns_us[1], of_other * rate_ratio, None)
        assert results.add({Arm.BASE: {key: base}, Arm.AGAINST: {key: other}}) is None
        known = decided(TRIAL, results.effects(0.95))
        if known is not None:
            return known
    return at_end(TRIAL, results.last(0.95))


@pytest.mark.parametrize("rate_ratio", [0.86, 0.72])
@pytest.mark.parametrize("spread", [0.05, 0.3, 1.0])
def test_a_shaper_that_costs_rate_is_rejected_however_the_radio_varies(
    rate_ratio: float, spread: float
) -> None:
    verdicts = [
        verdict_of_pairs(seed, saved_ms=500.0, rate_ratio=rate_ratio, spread=spread)
        for seed in range(40)
    ]
    assert sum(each.kept is Arm.AGAINST for each in verdicts) <= 2
    shown = sum(each.why == LOSES for each in verdicts)
    # What cannot be shown is rejected as well.
    assert shown == 40 if spread < 0.1 else shown < 40


def test_a_pipeline_within_the_limit_is_adopted_where_the_radio_lets_it_show() -> None:
    steady, varying = (
        [
            verdict_of_pairs(seed, saved_ms=500.0, rate_ratio=0.99, spread=spread).kept
            for seed in range(20)
        ]
        for spread in (0.03, 0.5)
    )
    assert steady.count(Arm.AGAINST) >= 16
    assert varying.count(Arm.AGAINST) == 0
