"""Turns of consumers: equal parts of cost for each client, on virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ric.testing.virtual_time import on_virtual_time
from rlc_forecaster.excess_rate import LATE_S, ExcessRate
from rlc_forecaster.turns import CALL_BYTES, TURN_BYTES, FairOrder, Turns
from sojourn_serving import Account, Guard

GUARD = Guard()


def client(name: str) -> Account:
    """The account of a client."""
    return GUARD.account(name)


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


@pytest.mark.parametrize("assured", [True, False])
async def test_one_turn_of_the_loop_spends_a_bounded_cost(assured: bool) -> None:
    turns = Turns(1e12)
    granted: list[int] = []
    turn = 0

    async def consumer() -> None:
        await turns.wait(client("client"), 0, assured=assured)
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
            await turns.wait(GUARD.account(client), 10_000 - CALL_BYTES, assured=False)
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
        await turns.wait(client("client"), 0, assured=False)
    leaving = [
        asyncio.create_task(turns.wait(client("client"), 0, assured=False)) for _ in range(20)
    ]
    staying = asyncio.create_task(turns.wait(client("client"), 0, assured=False))
    await asyncio.sleep(0)
    for task in leaving:
        task.cancel()
    await asyncio.wait_for(staying, 5)
    assert turns.waiting == 0


@on_virtual_time
async def test_a_stream_that_came_first_keeps_its_rate_and_the_others_share_what_is_left() -> None:
    turns = Turns(bytes_per_s=100 * (CALL_BYTES + 1_000))
    counts: Counter[str] = Counter()

    async def stream(client: str, name: str) -> None:
        with turns.stream(GUARD.account(client)) as one:
            next_s = 0.0
            while True:
                await one.wait(1_000, 10)
                counts[name] += 1
                now_s = asyncio.get_running_loop().time()
                next_s = max(next_s, now_s) + 0.1
                await asyncio.sleep(next_s - now_s)

    tasks = [asyncio.create_task(stream("first", "first"))]
    await asyncio.sleep(0.5)
    tasks += [asyncio.create_task(stream(f"greedy {n % 8}", "greedy")) for n in range(200)]
    await asyncio.sleep(10)
    assert counts["first"] == pytest.approx(105, abs=2), "all it wants"
    assert turns.assured_load.held <= turns.assured_load.total
    assert counts["greedy"] >= 900, "the rate beyond"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert turns.assured_load.held == 0


@on_virtual_time
async def test_an_assured_message_does_not_wait_for_the_rate_of_the_excess() -> None:
    turns = Turns(bytes_per_s=CALL_BYTES)
    excess = [asyncio.create_task(turns.wait(client("greedy"), 0, assured=False)) for _ in range(5)]
    await asyncio.sleep(0.5)
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    for _ in range(20):
        await turns.wait(client("first"), 0, assured=True)
    assert loop.time() - began_s < 0.01
    assert not all(task.done() for task in excess)
    for task in excess:
        task.cancel()


async def test_a_load_that_grows_is_followed() -> None:
    turns = Turns(bytes_per_s=4e6)
    with turns.stream(client("client")) as stream:
        await stream.wait(0, 1)
        assert stream.assured
        assert turns.assured_load.held == CALL_BYTES
        with turns.stream(client("client")) as large:
            await large.wait(1_000_000, 10)
            assert not large.assured


def test_the_excess_rate_follows_what_the_event_loop_bears() -> None:
    """A loop that is late in proportion to what is sent beyond its capacity."""
    for capacity in (3e6, 20e6, 70e6):
        rate, now_s = ExcessRate(100e6), 0.0
        seen = []
        while now_s < 120:
            late_s = 0.0 if rate.bytes_per_s <= capacity else 2 * LATE_S
            rate.update(now_s, late_s)
            now_s += 0.005
            if now_s > 30:
                seen.append(rate.bytes_per_s)
        mean = sum(seen) / len(seen)
        assert 0.4 * capacity <= mean <= capacity
        assert max(seen) <= 1.1 * capacity
        for _ in range(10_000):
            rate.update(now_s, 0.0)
            now_s += 0.01
        assert rate.bytes_per_s == 100e6, "and recovers"


def test_an_idle_time_raises_no_rate() -> None:
    rate = ExcessRate(100e6)
    for at_s in (0.0, 0.1, 0.2, 0.3):
        rate.update(at_s, 1.0)
    before = rate.bytes_per_s
    rate.update(3_600.0, 0.0)
    assert before < rate.bytes_per_s < before + 1e6
