"""Which statuses of a report are looked at bearer by bearer, and the views of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tc_controller.core.inputs import BearerKey
from tc_controller.core.observe.pipeline_views import PipelineViews
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_world import rlc_message, statuses

NODE = "gnb"
QUEUE = {
    "id": 0,
    "backlog_bytes": 1_500,
    "backlog_packets": 1,
    "forwarded_packets": 0,
    "forwarded_bytes": 0,
    "dropped_packets": 0,
    "marked_packets": 0,
    "policed_packets": 0,
    "mean_sojourn_us": 4_000,
    "last_sojourn_us": 0,
    "shaped": False,
}


#: The `RLC_FIELDS` of two bearers.
BEARERS = ((0, 0, 0, 0, 1, 1), (0, 0, 0, 0, 2, 1))


def key(rnti: int) -> BearerKey:
    return BearerKey(NODE, rnti, 1)


def status(rnti: int | None, revision: int = 1, *queues: dict[str, Any]) -> dict[str, Any]:
    ue = {"gnb_cu_ue_f1ap_id": 7} if rnti is None else {"rnti": rnti}
    return {
        "bearer": {"ue": ue, "drb": 1},
        "revision": revision,
        "name": "low_latency",
        "safe": False,
        "lease_left_ms": None,
        "owner": None,
        "head_of_line_age_us": 0,
        "queues": list(queues),
        "pacer": {"drain_kbps": 0, "rlc_occupancy_bytes": 0, "forwarded_bytes": 0},
        "ingress_packets": 0,
        "ingress_bytes": 0,
        "dropped_packets": 0,
    }


def take(
    views: PipelineViews, at_us: int, given: Any, windows: RlcWindows, now_us: int = 0
) -> list[int]:
    return list(views.take(at_us, given, windows, now_us, acts=True))


@pytest.fixture
def windows() -> RlcWindows:
    windows = RlcWindows(NODE, depth=10)
    windows.take(1_000, rlc_message(*BEARERS))
    return windows


def test_a_status_that_repeats_is_looked_at_when_it_is_due_or_something_happened(
    windows: RlcWindows,
) -> None:
    views = PipelineViews(NODE)
    both = statuses(status(1), status(2))
    assert take(views, 1_000, both, windows) == [0, 1]
    views.looked({0: 50_000, 1: 70_000})
    assert take(views, 2_000, both, windows, 10_000) == []
    assert take(views, 3_000, both, windows, 50_000) == [0]
    views.looked({0: 90_000})
    views.touched.add(key(2))
    assert take(views, 4_000, both, windows, 51_000) == [1]
    views.looked({1: 90_000})
    assert take(views, 5_000, statuses(status(1), status(2, 2)), windows, 60_000) == [1]


def test_views_are_those_of_the_newest_report_that_has_the_bearer(windows: RlcWindows) -> None:
    views = PipelineViews(NODE)
    take(views, 1_000, statuses(status(1), status(2, 5)), windows)
    take(views, 2_000, statuses(status(None), status(1, 3)), windows)
    assert (views[key(1)].revision, views[key(1)].collected_at_us) == (3, 2_000)
    assert (views[key(2)].revision, views[key(2)].collected_at_us) == (5, 1_000)
    assert set(views) == {key(1), key(2)}
    views.forget(key(2))
    assert views.get(key(2)) is None
    views.forget(key(1))
    assert dict(views) == {}
    take(views, 3_000, statuses(status(None), status(1, 3)), windows)
    assert views[key(1)].collected_at_us == 3_000


def test_columns_of_other_lengths_are_refused(windows: RlcWindows) -> None:
    rntis, drbs = np.array([1, 2], np.uint32), np.array([1, 1], np.uint8)
    with pytest.raises(ValueError, match=r"expected equal lengths, got \[2, 2, 1\]"):
        windows.set_pipelines_us(rntis, drbs, np.zeros(1, np.float32))


def test_a_status_keeps_the_inventory_that_it_was_read_with(windows: RlcWindows) -> None:
    views = PipelineViews(NODE)
    slot = windows.slot(key(1))
    assert slot is not None
    queues = (QUEUE, {**QUEUE, "id": 1, "mean_sojourn_us": 9_000})
    views.use(key(1), (1,))
    take(views, 1_000, statuses(status(1, 1, *queues)), windows)
    windows.take(2_000, rlc_message(*BEARERS))
    assert windows.sojourn_us(slot) == 9_000.0
    views.use(key(1), (0,))
    assert views[key(1)].ungreedy_sojourn_us == 9_000.0
    take(views, 2_000, statuses(status(1, 1, *queues)), windows)
    assert views[key(1)].ungreedy_sojourn_us == 4_000.0
    views.use(key(1), None)
    take(views, 3_000, statuses(status(1, 1, *queues)), windows)
    assert views[key(1)].ungreedy_sojourn_us == 9_000.0, "all but the busiest, the first of equals"
