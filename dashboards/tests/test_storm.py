"""One fault, one page: what each fault of `docs/monitor.md` raises, at which site, for how long.

Three sites have the same programs and gNB ids; one of them has the fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from alert_sites import (
    END_STEP,
    FAULT_STEP,
    FROZEN,
    GONE,
    REPAIR_STEP,
    SITES,
    STEP_S,
    Change,
    PerStep,
    change,
    input_series,
)
from rule_files import FILES, ROOT, needs_promtool, promtool

pytestmark = needs_promtool

ALL_NODES: Final = (
    change("sojourn_controller_node_owner", 0),
    change("sojourn_controller_node_fault", GONE, fault="none"),
    change("sojourn_controller_node_fault", 1, fault="silent"),
    change("sojourn_e2_last_indication_timestamp_seconds", FROZEN),
    change("sojourn_e2_indications_total", FROZEN),
    change("sojourn_controller_lease_renewals_total", FROZEN, result="accepted"),
    change("sojourn_controller_lease_renewals_total", PerStep(60), result="unanswered"),
    change("sojourn_controller_controls_total", FROZEN, result="accepted"),
    change("sojourn_controller_controls_total", PerStep(60), result="unanswered"),
)
"""No gNB is reached."""
NO_GATEWAY: Final = (*ALL_NODES, change("sojourn_e2_gateway_connected", 0))


def dead(**labels: str) -> tuple[Change, ...]:
    """Programs that end: their targets answer no more."""
    return (change("sojourn_*", GONE, **labels), change("up", 0, **labels))


def node(changes: Sequence[Change], name: str) -> tuple[Change, ...]:
    """The changes of one gNB's series."""
    return tuple(
        Change(c.name, c.course, {**c.labels, "node": name})
        for c in changes
        if c.name.startswith(("sojourn_e2", "sojourn_controller_node"))
    )


FIRST_NODE: Final = {"node": "gnb-0"}
NOT_AFTER: Final = "sojourn_tls_certificate_not_after_seconds"
JUDGED: Final = "sojourn_controller_compliance_seconds_total"
VIOLATED: Final = (
    change(JUDGED, FROZEN, state="met", **FIRST_NODE),
    change(JUDGED, PerStep(5 * STEP_S), state="violated", **FIRST_NODE),
    change("sojourn_qoo_segment_score", 20, **FIRST_NODE),
    change("sojourn_bearer_state_since_timestamp_seconds", FAULT_STEP * STEP_S, **FIRST_NODE),
)
FAULTS: Final[Mapping[str, tuple[Change, ...]]] = {
    "the site loses power or its network": dead(),
    "all controllers end": dead(job="tc-controller"),
    "one of two controllers ends": dead(instance="c1:9100"),
    "the gateway's program ends": (*NO_GATEWAY, *dead(job="flexric-bridge")),
    "the gateway is not reached": NO_GATEWAY,
    "one xApp does not reach the gateway": (
        change("sojourn_e2_gateway_connected", 0, instance="c1:9100"),
    ),
    "the near-RT RIC ends": (*ALL_NODES, change("sojourn_flexric_up", 0)),
    "a certificate of all programs expires": (
        *dead(),
        Change(NOT_AFTER, FAULT_STEP * STEP_S, {}, from_the_start=True),
        change(NOT_AFTER, GONE),
    ),
    "the forecaster ends": dead(job="rlc-forecaster"),
    "the forecaster has no model": (
        change("sojourn_forecaster_model_info", GONE, model="default"),
        change("sojourn_forecaster_model_info", 1, model="persistence"),
        change("sojourn_forecaster_model_refused_info", 1),
    ),
    "one gNB hangs": node(ALL_NODES, "gnb-0"),
    "one gNB leaves": (
        change("sojourn_e2*", GONE, **FIRST_NODE),
        change("sojourn_controller*", GONE, **FIRST_NODE),
    ),
    "one gNB is held by another's xApp": (
        change("sojourn_controller_node_owner", 0, **FIRST_NODE),
    ),
    "two controllers hold one gNB": (change("sojourn_controller_node_owner", 1, **FIRST_NODE),),
    "one gNB refuses all pipelines": (
        change("sojourn_controller_node_fault", GONE, fault="none", **FIRST_NODE),
        change("sojourn_controller_node_fault", 1, fault="refused", **FIRST_NODE),
    ),
    "all gNBs refuse a new pipeline": (
        change("sojourn_controller_controls_total", PerStep(30), result="capability"),
    ),
    "a policy is wrong": (change("sojourn_controller_policy_refused", 1),),
    "a cell's bearers are above their bound": VIOLATED,
}
"""Fault, as `docs/monitor.md` calls it → what it does to the series of a site."""
GRACE_S: Final = 240
"""Longest time after the repair until nothing fires."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a fault may raise: alerts by name, those that page and those that do not."""

    pages: tuple[str, ...]
    warnings: tuple[str, ...]


def budgets() -> Iterator[tuple[str, Budget]]:
    """The table of `docs/monitor.md`."""
    text = (ROOT / "docs" / "monitor.md").read_text(encoding="utf-8")
    table = text.split("## One fault, one page\n")[1].split("\n## ")[0]
    for line in re.findall(r"^\| (.*) \|$", table, re.MULTILINE)[1:]:
        fault, _, pages, warnings = line.split(" | ")
        yield fault, Budget(*(tuple(re.findall(r"\[(\w+)\]", c)) for c in (pages, warnings)))


BUDGETS: Final = dict(budgets())


def test_the_table_has_every_fault_and_its_number_of_pages() -> None:
    assert BUDGETS.keys() == FAULTS.keys()
    text = (ROOT / "docs" / "monitor.md").read_text(encoding="utf-8")
    for fault, budget in BUDGETS.items():
        assert f"| {fault} | {len(budget.pages)} |" in text


def test_no_fault_has_more_than_one_page() -> None:
    assert max(len(budget.pages) for budget in BUDGETS.values()) == 1


def fired(budget: Budget) -> list[dict[str, Any]]:
    """Samples of the alerts that fired at the site with the fault."""
    samples = []
    for severity, names in (("critical", budget.pages), ("warning", budget.warnings)):
        for name in names:
            labels = {"alertname": name, "severity": severity, **SITES[0]}
            pairs = ", ".join(f'{k}="{v}"' for k, v in labels.items())
            samples.append({"labels": f"{{{pairs}}}", "value": 1})
    return samples


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_raises_what_the_table_says_and_ends_with_its_repair(
    fault: str, tmp_path: Path
) -> None:
    by = ", ".join(("alertname", "severity", *SITES[0]))
    faulty_s = (REPAIR_STEP - FAULT_STEP) * STEP_S
    ever = f'count by ({by}) (count_over_time(ALERTS{{alertstate="firing"}}[{faulty_s}s]))'
    repaired_s = REPAIR_STEP * STEP_S
    rest_s = END_STEP * STEP_S - repaired_s - GRACE_S
    late = f'count by ({by}) (count_over_time(ALERTS{{alertstate="firing"}}[{rest_s}s]))'
    checks = [
        {"expr": ever, "eval_time": f"{repaired_s}s", "exp_samples": fired(BUDGETS[fault])},
        {"expr": late, "eval_time": f"{END_STEP * STEP_S}s", "exp_samples": []},
    ]
    test = {
        "interval": f"{STEP_S}s",
        "input_series": input_series(FAULTS[fault]),
        "promql_expr_test": checks,
    }
    whole = {
        "rule_files": [str(path) for path in FILES],
        "evaluation_interval": f"{STEP_S}s",
        "tests": [test],
    }
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump(whole))
    promtool("test", "rules", path)
