"""The laws of control hold for the controller's core, and each is broken by what should break it.

`make laws` runs as many seeds as wanted. One is repeated by `run_seed(seed)`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tc_controller.core.act.node_default import NodeDefault
from tc_controller.core.act.ownership import Ownership
from tc_controller.core.inputs import Accepted, Outcome, Refused
from tc_laws import Laws
from tc_laws_setting import LawBrokenError
from tc_storm import run_seed

SEEDS = range(12)


def test_the_laws_hold_and_every_situation_occurs() -> None:
    tally: Counter[str] = Counter()
    for seed in SEEDS:
        tally += run_seed(seed)
    for what in (
        *("kills", "stops", "links lost", "gnb restarts", "policies changed", "state files lost"),
        *("messages lost", "messages too late", "owners", "refused not_owner"),
        *("accepted transaction", "accepted lease_renewal", "record adopted", "record reapplied"),
        *("accepted node_default", "record node_default"),
        *("record rolled_back", "record released", "record ownership", "record bearer_gone"),
    ):
        assert tally[what] > 0, f"{what} did not occur: {tally}"
    assert tally["packets"] > 100_000


def test_a_seed_gives_the_same_run() -> None:
    assert run_seed(3) == run_seed(3)


def broken(spoil: Any = None) -> str:
    """The law that the first seeds break."""
    with pytest.raises(LawBrokenError) as caught:
        for seed in SEEDS:
            run_seed(seed, spoil=spoil)
    return str(caught.value)


def test_a_node_that_lets_two_owners_act_is_found() -> None:
    def spoil(laws: Laws, message: dict[str, Any], outcome: Outcome) -> Outcome:
        refused = isinstance(outcome, Refused) and outcome.cause == "not_owner"
        return Accepted(1, 1_500) if refused and "node_lease" in message else outcome

    assert "holds the node" in broken(spoil)


def test_a_node_whose_revision_stands_still_is_found() -> None:
    def spoil(laws: Laws, message: dict[str, Any], outcome: Outcome) -> Outcome:
        if isinstance(outcome, Accepted) and "transaction" in message:
            return Accepted(outcome.revision - 1, outcome.lease_ms)
        return outcome

    assert "revision" in broken(spoil)


def test_a_controller_that_asks_for_no_node_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ownership, "due", lambda *_: None)
    assert "0 owners" in broken()


def test_a_controller_that_forgets_bearers_to_come_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(NodeDefault, "due", lambda *_: None)
    assert "bearers to come" in broken()


def test_a_controller_that_overrates_its_lease_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Ownership.answered

    def overrated(self: Ownership, outcome: Outcome, sent_at_us: int, now_us: int) -> None:
        answered(self, outcome, sent_at_us + 5_000_000, now_us)

    monkeypatch.setattr(Ownership, "answered", overrated)
    # Any refused control would end its belief before the lease does.
    monkeypatch.setattr(Ownership, "refused", lambda *_: None)
    assert "believe to hold the node" in broken()
