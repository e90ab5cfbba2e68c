"""Turns of consumers: equal parts of cost for each client, on virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ric.testing.virtual_time import on_virtual_time
from rlc_forecaster.turns import CALL_BYTES, TURN_BYTES, FairOrder, Turns


def served(clients: dict[str, tuple[int, float]], rounds: int) -> Counter[str]:
    """Cost served to clients, each with a number of streams that always want messages of a cost."""
    order: FairOrder[str] = FairOrder()
    costs: Counter[str] = Counter()
    for name, (streams, cost) in clients.items():
        for _ in range(streams):
            order.add(name, cost, name)
    for _ in range(rounds):
        cost, name = order.take()
        costs[name] += round(cost)
        order.add(name, cost, name)
    return costs


def test_200_streams_get_no_more_than_one() -> None:
    costs = served({"greedy": (200, 10_000), "second": (1, 10_000)}, 1000)
    assert costs["second"] == costs["greedy"] == 500 * 10_000


@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.tuples(st.integers(1, 30), st.floats(1_000, 50_000)),
        min_size=2,
    )
)
def test_clients_get_equal_parts_whatever_their_streams_and_messages(
    clients: dict[str, tuple[int, float]],
) -> None:
    """The difference is bounded by one message each (Goyal et al. 1996, theorem 1)."""
    costs = served(clients, 2000)
    largest = sorted(cost for _, cost in clients.values())[-2:]
    assert max(costs.values()) - min(costs[name] for name in clients) <= sum(largest) + 2000


def test_who_was_idle_is_owed_nothing() -> None:
    order: FairOrder[str] = FairOrder()
    for _ in range(100):
        order.add("busy", 10.0, "busy")
    for _ in range(50):
        order.take()
    for _ in range(50):
        order.add("late", 10.0, "late")
    first = [order.take()[1] for _ in range(20)]
    assert first.count("late") == 10


async def test_one_turn_of_the_loop_spends_a_bounded_cost() -> None:
    turns = Turns(1e12)
    granted: list[int] = []
    turn = 0

    async def consumer() -> None:
        await turns.wait("client", 0)
        granted.append(turn)

    tasks = [asyncio.create_task(consumer()) for _ in range(50)]
    while len(granted) < 50:
        await asyncio.sleep(0)
        turn += 1
    await asyncio.gather(*tasks)
    assert max(Counter(granted).values()) <= TURN_BYTES // CALL_BYTES
    assert turns.waiting == 0


@on_virtual_time
async def test_the_rate_is_kept_and_shared_equally() -> None:
    turns = Turns(bytes_per_s=1e6)
    counts: Counter[str] = Counter()

    async def stream(client: str) -> None:
        while True:
            await turns.wait(client, 10_000 - CALL_BYTES)
            counts[client] += 1

    tasks = [asyncio.create_task(stream(name)) for name in ["greedy"] * 20 + ["second"]]
    await asyncio.sleep(2)
    for task in tasks:
        task.cancel()
    assert counts.total() == pytest.approx(200, abs=4), "2 s of 1 MB/s in messages of 10 kB"
    assert counts["second"] == pytest.approx(100, abs=4)


async def test_a_consumer_that_leaves_takes_no_turn() -> None:
    turns = Turns(1e12)
    for _ in range(10):
        await turns.wait("client", 0)
    leaving = [asyncio.create_task(turns.wait("client", 0)) for _ in range(20)]
    staying = asyncio.create_task(turns.wait("client", 0))
    await asyncio.sleep(0)
    for task in leaving:
        task.cancel()
    await asyncio.wait_for(staying, 5)
    assert turns.waiting == 0
