"""The gate promotes only calibrated models that are better than persistence and that improve what
is served."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest
from made_corpus import corpus, layout, series
from numpy.typing import NDArray
from rlc_train import backtest
from rlc_train.backtest import SUMS, Losses
from rlc_train.baselines import BASELINES, Forecaster
from rlc_train.baselines.mix import FALLBACK, MARGIN, MIX, served_with
from rlc_train.export.check import Comparison
from rlc_train.gate import LEAST_BLOCKS, Verdict, judge
from rlc_train.horizon import Layout
from rlc_train.series import labels
from rlc_train.splits import Part, split

GOOD_EXPORT = Comparison(10_000, 1e-6, 1e-6)
AXES = layout()


class NoisyOracle:
    """Forecasts the future with an error of known spread and its quantiles times `width`."""

    most_origins: int | None = None

    def __init__(self, name: str, error: float, width: float = 1.0) -> None:
        self.name, self._error, self._width = name, error, width

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Does nothing."""

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        rng = np.random.default_rng(len(origins))
        future = labels(part.series, AXES, origins)
        size = np.array([self._error * 10_000, self._error * 1_000])[:, None]
        middle = future + size * rng.standard_normal(future.shape)
        normal = np.array([-1.2816, 0.0, 1.2816])
        spread = self._width * size[..., None] * normal
        return (middle[..., None] + spread).astype(np.float32)


def run(*models: Forecaster) -> dict[str, dict[str, Losses]]:
    parts = split(corpus(8_000), AXES, held_out_cells=["c"])
    found: dict[str, dict[str, Losses]] = {}
    for name, held in (("test", parts.test), ("unseen", parts.unseen)):
        chosen = backtest.origins_of(held, AXES, 2_000)
        found[name] = {model.name: backtest.run(model, chosen, AXES) for model in models}
        for baseline in ("persistence", FALLBACK, MIX):
            forecaster = BASELINES[baseline]()
            forecaster.fit(parts.train, AXES, 1)
            found[name][baseline] = backtest.run(forecaster, chosen, AXES)
        # As if all weight was the model's.
        found[name] |= {served_with(one): losses for one, losses in found[name].items()}
    return found


def verdict(
    splits: dict[str, dict[str, Losses]],
    model: str,
    comparison: Comparison | None = GOOD_EXPORT,
    *,
    each_radio: bool = True,
) -> Verdict:
    return judge(
        splits,
        model,
        AXES,
        comparison,
        against=("persistence", FALLBACK, MIX),
        horizons_us=[11_000, 30_000],
        seed=1,
        each_radio=each_radio,
    )


@pytest.fixture(scope="module")
def splits() -> dict[str, dict[str, Losses]]:
    return run(
        NoisyOracle("good", 0.06), NoisyOracle("narrow", 0.06, width=0.5), NoisyOracle("bad", 3.0)
    )


def test_a_better_and_calibrated_model_is_promoted(splits: dict[str, dict[str, Losses]]) -> None:
    found = verdict(splits, "good")
    assert found.promoted, found.refusal()
    # 2 splits × (2 horizons × 2 quantities + what the model adds + 2 calibrations + all radios,
    # each of which is too short to be judged by itself) and the export.
    assert len(found.findings) == 17


def test_persistence_itself_is_refused(splits: dict[str, dict[str, Losses]]) -> None:
    found = verdict(splits, "persistence")
    assert not found.promoted
    assert "skill over persistence, occupancy_bytes, 11 ms: +0.000" in found.refusal()


def test_a_worse_model_is_refused_with_numbers(splits: dict[str, dict[str, Losses]]) -> None:
    assert "95 % interval -" in verdict(splits, "bad").refusal()


def test_an_uncalibrated_model_is_refused(splits: dict[str, dict[str, Losses]]) -> None:
    found = verdict(splits, "narrow")
    assert not found.promoted
    failed = [f.what for f in found.findings if not f.holds]
    assert failed == [
        f"{where}: calibration, {q.value}" for where in ("test", "unseen") for q in AXES.quantities
    ]


@pytest.mark.parametrize(
    ("comparison", "reason"),
    [
        (None, "was not compared"),
        (Comparison(10_000, 2e-5, 0), "difference 2.00e-05"),
        (Comparison(10_000, float("nan"), 0), "difference nan"),
        (Comparison(100, 0.0, 0), "after 100 steps"),
    ],
)
def test_an_export_that_differs_is_refused(
    splits: dict[str, dict[str, Losses]], comparison: Comparison | None, reason: str
) -> None:
    assert reason in verdict(splits, "good", comparison).refusal()


def test_both_splits_are_checked(splits: dict[str, dict[str, Losses]]) -> None:
    mixed = {"test": splits["test"], "unseen": splits["unseen"] | {"good": splits["unseen"]["bad"]}}
    refusal = verdict(mixed, "good").refusal()
    assert "unseen: skill" in refusal
    assert "test: skill" not in refusal
    assert "unseen split: was not evaluated" in verdict({"test": splits["test"]}, "good").refusal()


def test_a_model_that_adds_nothing_to_what_is_served_is_refused(
    splits: dict[str, dict[str, Losses]],
) -> None:
    """It is better than persistence and calibrated; the mix without it serves the same."""
    useless = {
        where: by_name | {served_with("good"): by_name[MIX]} for where, by_name in splits.items()
    }
    failed = [finding for finding in verdict(useless, "good").findings if not finding.holds]
    what = "skill of what is served with the model over what is without"
    assert [finding.what for finding in failed] == [f"test: {what}", f"unseen: {what}"]
    assert "+0.000, 95 % interval +0.000…+0.000" in failed[0].found


def test_what_is_served_may_be_a_little_worse_than_the_best_simple_forecaster(
    splits: dict[str, dict[str, Losses]],
) -> None:
    """Which expert is the best must be found out first."""

    def judged(ratio: float) -> list[str]:
        unseen = dict(splits["unseen"])
        simple = unseen[FALLBACK]
        unseen[served_with("good")] = replace(simple, pinball=ratio * simple.pinball)
        found = verdict({"test": splits["test"], "unseen": unseen}, "good")
        return [f.what for f in found.findings if not f.holds and "not worse" in f.what]

    assert judged(1 + MARGIN / 2) == []
    assert judged(1 + 2 * MARGIN)


def test_what_was_not_evaluated_is_named(splits: dict[str, dict[str, Losses]]) -> None:
    missing = {
        where: {name: losses for name, losses in by_name.items() if name != served_with("good")}
        for where, by_name in splits.items()
    }
    assert "test: good+mix: was not evaluated" in verdict(missing, "good").refusal()


def test_one_lucky_block_is_not_enough(splits: dict[str, dict[str, Losses]]) -> None:
    """Better in the mean due to one block: the interval reaches below 0."""
    reference = splits["unseen"]["persistence"]
    loss = reference.pinball * 1.05
    loss[0] = 0
    lucky = replace(reference, pinball=loss * (0.97 * reference.pinball.sum() / loss.sum()))
    mixed = {name: dict(by) | {"lucky": by["good"]} for name, by in splits.items()}
    mixed["unseen"]["lucky"] = lucky
    refusal = verdict(mixed, "lucky").refusal()
    assert "unseen: skill over persistence" in refusal


def test_a_model_that_is_worse_on_one_kind_of_bearer_is_refused(
    splits: dict[str, dict[str, Losses]],
) -> None:
    """Worse on the bearers of one kind, better on the others."""

    def radios(losses: Losses, worse: str = "") -> Losses:
        names = ["near", "far"] * (len(losses.count) // 2) + ["near"] * (len(losses.count) % 2)
        scale = np.where([name == worse for name in names], 40.0, 1.0)[:, None, None]
        kinds = ["paced" if name == "near" else "unpaced" for name in names]
        pinball = losses.pinball * (scale if worse else 1)
        return replace(losses, pinball=pinball, radio=names, bearer_kind=kinds)

    for worse, kind in (("near", "paced"), ("far", "unpaced")):
        unseen = {
            name: radios(losses, worse if name == served_with("good") else "")
            for name, losses in splits["unseen"].items()
        }
        found = verdict({"test": splits["test"], "unseen": unseen}, "good")
        failed = [finding.what for finding in found.findings if not finding.holds]
        assert f"unseen: not worse than best-simple, all radios, {kind} bearers" in failed
        other = "unpaced" if kind == "paced" else "paced"
        assert not any(f", {other} bearers" in what for what in failed)
        assert found.worst is not None
        assert (found.worst.recording, found.worst.bearer_kind) == ("unseen", kind)
        assert found.worst.interval() in found.refusal()


@pytest.mark.parametrize(
    ("loss", "reference", "reason"),
    [
        # A kind of bearer of which there is a single second.
        ([15.0], [1.0], r"ratio 15\.000 \(no interval\)"),
        ([0.5], [1.0], r"ratio 0\.500 \(no interval\)"),
        ([0.5], [0.0], r"best-simple has no loss, what is served 0\.0"),
        ([0.0], [0.0], ""),
        # The fall-back errs in one of many seconds.
        ([15.0] + [0.0] * 99, [1.0] + [0.0] * 99, r"ratio 15\.000 \(15\.000…∞\)"),
        ([0.5] * 100, [1.0] * 100, ""),
    ],
)
def test_a_kind_of_bearer_without_an_interval_is_not_taken_for_no_worse(
    splits: dict[str, dict[str, Losses]], loss: list[float], reference: list[float], reason: str
) -> None:
    def with_kind(losses: Losses, of_kind: list[float]) -> Losses:
        rows = np.r_[np.arange(len(losses.count)), np.zeros(len(of_kind), np.intp)]
        sums = {key: getattr(losses, key)[rows] for key in SUMS}
        sums["pinball"][-len(of_kind) :] = np.reshape(of_kind, (-1, 1, 1))
        kinds = ["unpaced"] * len(losses.count) + ["paced"] * len(of_kind)
        radios = ["near"] * len(rows)
        return Losses(**sums, scenario=radios, radio=radios, bearer_kind=kinds)

    unseen = {
        name: with_kind(losses, loss if name == served_with("good") else reference)
        for name, losses in splits["unseen"].items()
    }
    found = verdict({"test": splits["test"], "unseen": unseen}, "good")
    what = "unseen: not worse than best-simple, all radios, paced bearers"
    (finding,) = (each for each in found.findings if each.what == what)
    assert finding.holds == (not reason)
    assert re.search(reason, finding.found)


def test_a_radio_on_which_the_model_is_worse_refuses_it_unless_it_is_only_to_be_named(
    splits: dict[str, dict[str, Losses]],
) -> None:
    blocks = len(splits["unseen"]["good"].count)
    rows = np.resize(np.arange(blocks), 4 * LEAST_BLOCKS)
    names = ["near"] * (3 * LEAST_BLOCKS) + ["far"] * LEAST_BLOCKS
    unseen = {}
    for name, losses in splits["unseen"].items():
        sums = {key: getattr(losses, key)[rows] for key in SUMS}
        if name == served_with("good"):
            sums["pinball"][3 * LEAST_BLOCKS :] *= 20
        labels_ = {"scenario": names, "radio": names, "bearer_kind": ["paced"] * len(rows)}
        unseen[name] = Losses(**sums, **labels_)
    both = {"test": splits["test"], "unseen": unseen}
    what = "unseen: not worse than best-simple, radio far, paced bearers"
    shown, refused = (verdict(both, "good", each_radio=each) for each in (False, True))
    assert [finding.what for finding in shown.worse_radios] == [what]
    assert "radio far" not in shown.refusal()
    assert what in refused.refusal()
    assert "radio near" not in refused.refusal()


def test_a_radio_of_few_seconds_is_not_judged_by_itself(
    splits: dict[str, dict[str, Losses]],
) -> None:
    blocks = len(splits["unseen"]["good"].count)
    assert blocks >= 8
    for seconds, is_judged in ((LEAST_BLOCKS - 1, False), (LEAST_BLOCKS, True)):
        rows = np.resize(np.arange(blocks), 2 * LEAST_BLOCKS)
        names = ["short"] * seconds + ["long"] * (len(rows) - seconds)
        unseen = {
            name: Losses(
                **{key: getattr(losses, key)[rows] for key in SUMS},
                scenario=names,
                radio=names,
                bearer_kind=["paced"] * len(rows),
            )
            for name, losses in splits["unseen"].items()
        }
        both = {"test": splits["test"], "unseen": unseen}
        found = verdict(both, "good")
        judged = [f.what for f in found.findings if "radio short" in f.what]
        assert bool(judged) == is_judged
        assert {row.radio for row in found.rows if row.recording == "unseen"} >= {"all", "long"}


@pytest.mark.parametrize("wanted", [2, 4, 64, 65, 69, 80, 160, 400])
def test_origins_are_of_all_slots_of_tdd_patterns(wanted: int) -> None:
    part = Part(series(rows=8_000), 0, 8_000)
    ((_, origins),) = backtest.origins_of([part], AXES, 8_000 // wanted)
    for period in (2, 3, 5, 10):
        slots, counts = np.unique(origins % period, return_counts=True)
        assert len(slots) == period
        assert counts.max() <= counts.min() + 1
    assert len(origins) <= 8_000 // wanted


def test_a_verdict_is_serialisable(splits: dict[str, dict[str, Losses]]) -> None:
    found = verdict(splits, "bad")
    assert json.dumps([asdict(finding) for finding in found.findings])
