"""What a trial shows: metrics, state file, `explain`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tc_controller import cli
from tc_controller.core.trials.effect import Effect
from tc_controller.core.trials.results import Effects
from tc_controller.core.trials.text import summary
from tc_controller.decision_log import DecisionLog
from tc_controller.policy_file import parse_policy
from tc_ric import Lab, in_lab
from tc_world import NODE, World, bulk, ping
from test_trial_run import SHORT, controller, policy_text

TRIAL = f"against: {{template: bdp_only}}, {SHORT}"


@in_lab
async def test_metrics_show_effect_blocks_and_state_and_a_restart_goes_on(
    lab: Lab, tmp_path: Path
) -> None:
    lab.add_node()
    lab.write_policy(policy_text(TRIAL))
    lab.start(state=tmp_path / "state.json")
    await asyncio.sleep(4.2)
    where = {"node": NODE, "rule": "r"}
    blocks = lab.metric("trial_blocks", **where)
    assert 2 <= blocks <= 4
    assert lab.metric("trial_state", **where, state="running") == 1
    assert lab.metric("trial_effect_sojourn_seconds", **where, bound="high") == float("inf")
    await lab.kill()
    (saved,) = json.loads((tmp_path / "state.json").read_text())["trials"]
    assert len(saved["results"]) == blocks
    lab.start(state=tmp_path / "state.json")
    await asyncio.sleep(9)
    assert lab.metric("trial_blocks", **where) == 7
    assert lab.metric("trial_state", **where, state="ended") == 1
    high = lab.metric("trial_effect_sojourn_seconds", **where, bound="high")
    estimate = lab.metric("trial_effect_sojourn_seconds", **where, bound="estimate")
    assert estimate < high < 0.0
    assert abs(lab.metric("trial_effect_rate_ratio", **where, bound="estimate")) < 0.2
    assert lab.metric("trial_effect_drops_per_megabyte", **where, bound="low") <= 0.0
    assert len(lab.records("trial_started")) == 1


def test_explain_shows_settings_blocks_and_the_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(controller(), bulk(), ping())
    result = world.run_until("trial_result")
    path = tmp_path / "decisions.jsonl"
    with DecisionLog(path) as log:
        for record in world.records:
            log.write(record)
    assert cli.main(["explain", "--list", "--log", str(path)]) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith(result["id"] + " ")]
    assert line.endswith("gnb-1, rule r      trial        ended: decided, low_latency stays")
    assert cli.main(["explain", result["id"], "--log", str(path)]) == 0
    story = capsys.readouterr().out
    for part in (
        f"Trial {result['id']} on gnb-1, rule r, from 1970-01-01 00:00:02",
        "bdp_only instead of low_latency for 50% of the time, in periods of 0.5 s of which 250 ms",
        "bdp_only stays only if shown (95 %) to shorten the sojourn by more than 5 ms and lose at",
        "most 5.0% of the rate, or to gain more than 5.0% of the rate and lengthen the sojourn by",
        "Block 0: low_latency ",
        "(1 bearer); bdp_only ",
        "Ended after 7 blocks: the sojourn under bdp_only is longer by more than 5 ms",
        "low_latency saved ",
        "against bdp_only on gnb-1, rule r: 7 pairs of 0.5 s",
    ):
        assert part in story


def test_the_sentence_has_the_sign_and_the_interval() -> None:
    rule = parse_policy(policy_text(TRIAL)).rules[0]
    assert rule.trial is not None

    def sentence(sojourn_us: Effect, log_rate: Effect) -> str:
        assert rule.trial is not None
        effects = Effects(sojourn_us, log_rate, None)
        return summary("cell-3", rule, rule.trial, 12, effects)

    unknown = float("inf")
    assert sentence(Effect(12, -812e3, -991e3, -640e3), Effect(12, -0.00401, -0.0111, 0.00299)) == (
        "low_latency saved 812 ms at p95 (95 % interval 640 to 991) and cost 0.40 % of the drained "
        "rate (95 % interval -0.30 to 1.10: no difference shown) against bdp_only on cell-3, "
        "rule r: 12 pairs of 0.5 s"
    )
    assert sentence(Effect(3, 2e3, -unknown, unknown), Effect(3, 0.1, -unknown, unknown)) == (
        "low_latency added 2.00 ms at p95 (95 % interval not known yet) and gained 10.5 % of the "
        "drained rate (95 % interval not known yet) against bdp_only on cell-3, rule r: 12 pairs "
        "of 0.5 s"
    )
    assert "no effect of low_latency against bdp_only was measured" in summary(
        "cell-3", rule, rule.trial, 0, Effects(None, None, None)
    )
