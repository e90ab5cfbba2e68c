"""Limits of clients: buckets, shares, accounts, what is counted and logged."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from ric.access import Access, AuditLog, Peer
from ric.limits import Accounts, Limits, Pool, Rate, TokenBucket
from ric.limits.refusals import MAX_CLIENTS
from ric.security import Security
from structlog.testing import capture_logs

S = 10**9


class HandClock:
    """Clocks that a test sets."""

    def __init__(self) -> None:
        self.ns = 5 * S

    def now_us(self) -> int:
        return self.ns // 1000

    def monotonic_ns(self) -> int:
        return self.ns

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


# ------------------------------------------------------------------------- buckets


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    bucket = TokenBucket(per_s=10, burst=3)
    assert [bucket.take(0) for _ in range(3)] == [0, 0, 0]
    assert bucket.take(0) == pytest.approx(0.1)
    assert bucket.take(S // 10 - 10**6) > 0
    assert bucket.take(S // 10) == 0
    assert bucket.take(S // 10) == pytest.approx(0.1)
    assert [bucket.take(9 * S) for _ in range(4)][:3] == [0, 0, 0]
    assert bucket.take(8 * S) > 0, "a clock that goes back fills nothing"


@given(
    per_s=st.integers(1, 5000),
    burst=st.integers(1, 300),
    waits_ms=st.lists(st.integers(-5, 400), max_size=300),
)
def test_a_bucket_never_gives_more_than_rate_and_burst(
    per_s: int, burst: int, waits_ms: list[int]
) -> None:
    bucket, now_ns, given = TokenBucket(per_s, burst), 0, 0
    latest_ns = 0
    for wait_ms in waits_ms:
        now_ns = max(0, now_ns + wait_ms * 10**6)
        latest_ns = max(latest_ns, now_ns)
        wait_s = bucket.take(now_ns)
        given += wait_s == 0
        assert given <= burst + per_s * latest_ns / S + 1e-3
        if wait_s:
            later_ns = latest_ns + round(wait_s * S) + 1000
            assert bucket.take(later_ns) == 0, "after the given time, there is a token"
            given, now_ns, latest_ns = given + 1, later_ns, later_ns


# -------------------------------------------------------------------------- shares


def hoard(pool: Pool, client: str, amount: float = 1.0) -> int:
    """Take as often as the pool lets it."""
    taken = 0
    while pool.take(client, amount):
        taken += 1
    return taken


def test_one_client_gets_half_and_leaves_others_theirs() -> None:
    pool = Pool(64)
    assert hoard(pool, "greedy") == 32
    assert [hoard(pool, name) for name in ("second", "third", "fourth")] == [16, 8, 4]
    for _ in range(32):
        pool.give("greedy", 1)
    assert hoard(pool, "second") == 10, "what is free is shared anew"


@given(
    total=st.integers(4, 500),
    alpha=st.sampled_from([0.5, 1.0, 2.0]),
    steps=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40), st.booleans()), max_size=200),
)
def test_a_pool_is_never_overdrawn_and_returns_to_empty(
    total: int, alpha: float, steps: list[tuple[int, int, bool]]
) -> None:
    pool = Pool(total, alpha)
    held: dict[str, list[int]] = {}
    for who, amount, gives in steps:
        mine = held.setdefault(f"client {who}", [])
        if gives and mine:
            pool.give(f"client {who}", mine.pop())
        elif not gives:
            allowed = pool.most(f"client {who}")
            if pool.take(f"client {who}", amount):
                mine.append(amount)
                assert sum(mine) <= allowed
        assert pool.used == sum(map(sum, held.values())) <= total
        assert pool.held(f"client {who}") == sum(mine)
    for name, amounts in held.items():
        for amount in amounts:
            pool.give(name, amount)
    assert pool.used == 0


@given(clients=st.integers(1, 12), total=st.integers(100, 5000))
def test_clients_that_want_all_get_equal_parts(clients: int, total: int) -> None:
    """α / (1 + nα) each (Choudhury and Hahne 1998, §III), taken in turn."""
    pool = Pool(total)
    names = [f"client {number}" for number in range(clients)]
    while sum(pool.take(name, 1) for name in names):
        pass
    for name in names:
        assert pool.held(name) == pytest.approx(total / (1 + clients), abs=1.01)


# ------------------------------------------------------------------------ accounts

CALLS = Rate("calls", per_s=1, burst=2, what="calls")


def test_a_client_with_one_call_at_a_time_gets_no_fresh_bucket() -> None:
    accounts = Accounts()
    assert [accounts.take("one", CALLS, 0) for _ in range(2)] == [0, 0]
    assert accounts.take("one", CALLS, 0) > 0
    assert accounts.take("another", CALLS, 0) == 0


def test_accounts_are_bounded_and_the_active_stay() -> None:
    accounts = Accounts(most=8)
    accounts.take("active", CALLS, 0, 2)
    for number in range(100):
        accounts.take(f"passing {number}", CALLS, 0)
        assert accounts.take("active", CALLS, 0) > 0
    assert len(accounts) == 8


@pytest.mark.parametrize(
    ("address", "account"),
    [
        ("10.0.0.7:4711", "10.0.0.7"),
        ("127.0.0.1:4711", "127.0.0.1:4711"),
        ("[::1]:4711", "[::1]:4711"),
        ("::1:4711", "::1:4711"),
        ("[2001:db8::7]:4711", "2001:db8::/64"),
        ("2001:db8::8:4711", "2001:db8::/64"),
        ("[::ffff:10.0.0.7]:4711", "10.0.0.7"),
        ("unix", "unix"),
    ],
)
def test_a_client_without_identity_is_its_address(address: str, account: str) -> None:
    access = Access(None, AuditLog(None, HandClock()), Limits(HandClock()))
    assert access.caller(Peer("grpc", address)).account.key == account
    assert access.caller(Peer("grpc", address, ("xapp-1", "other"))).account.key == "xapp-1"


# ------------------------------------------------------------- metrics and log


def exposed(limits: Security) -> str:
    registry = CollectorRegistry()
    registry.register(limits)
    return generate_latest(registry).decode()


def test_what_was_refused_is_a_metric_and_a_line_a_minute() -> None:
    clock = HandClock()
    security = Security(clock=clock)
    limits = security.limits
    with capture_logs() as logged:
        for _ in range(12):
            for _ in range(100):
                limits.take("10.0.0.7", CALLS)
            clock.ns += 10 * S
            limits.log()
    # Two of the burst and one a second are served.
    refused = 12 * 100 - 2 - 11 * 2
    line = 'sojourn_limited_total{client="10.0.0.7",limit="calls"}'
    assert f"{line} {refused:.1f}" in exposed(security)
    assert [one["event"] for one in logged] == ["client limited"] * 3
    assert logged[0]["refused"] == 1
    assert (logged[1]["in_s"], logged[2]["in_s"]) == (60, 60)
    assert sum(one["refused"] for one in logged) == refused
    assert logged[0]["why"] == "more than 1 calls/s (burst 2)"


def test_neither_series_nor_lines_grow_with_the_clients() -> None:
    clock = HandClock()
    security = Security(clock=clock)
    limits = security.limits
    with capture_logs() as logged:
        for number in range(1000):
            limits.refused(f"client {number}", "calls", "too many")
    assert len(logged) == MAX_CLIENTS + 1
    text = exposed(security)
    assert text.count("\nsojourn_limited_total{") == MAX_CLIENTS + 1
    other = 'sojourn_limited_total{client="other",limit="calls"}'
    assert f"{other} {1000 - MAX_CLIENTS:.1f}" in text
    clock.ns += 700 * S
    limits.refused("newcomer", "calls", "too many")
    text = exposed(security)
    assert 'client="newcomer",limit="calls"} 1.0' in text
    assert f"{other} {1001 - MAX_CLIENTS:.1f}" in text, "a series that ends goes on in `other`"


def test_a_refusal_says_what_was_exceeded_and_when_to_come_again() -> None:
    limits = Limits(HandClock())
    assert limits.take("xapp-1", CALLS, 2) is None
    exceeded = limits.take("xapp-1", CALLS)
    assert exceeded is not None
    assert exceeded.detail == "client xapp-1: more than 1 calls/s (burst 2); retry in 1.00 s"
    assert exceeded.retry_s == pytest.approx(1)
    pool = Pool(8)
    assert [limits.hold("xapp-1", pool, "streams") for _ in range(4)] == [None] * 4
    exceeded = limits.hold("xapp-1", pool, "streams")
    assert exceeded is not None
    assert exceeded.detail == (
        "client xapp-1: 4 streams open, 4 of 8 free; expected at most 4 of one client now"
    )
