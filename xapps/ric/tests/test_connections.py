"""Connections of a server, on the time that is passed in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ric.limits.connections import Connection, Connections

S = 10**9


@dataclass
class Table:
    """A server of some connections, and what became of them."""

    most: int = 8
    closed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.of = Connections(self.most, lambda client, _: self.refused.append(client))

    def open(self, client: str, at_s: float = 0.0) -> Connection | None:
        return self.of.open(client, lambda: self.closed.append(client), round(at_s * S))


def opened(table: Table, client: str, at_s: float = 0.0) -> Connection:
    connection = table.open(client, at_s)
    assert connection is not None
    return connection


@pytest.mark.parametrize(
    ("what", "ends_after_s"),
    [("says nothing", 10), ("sends its head slowly", 10), ("is idle", 120), ("is served", 60)],
)
def test_silence_ends_a_connection(what: str, ends_after_s: int) -> None:
    table = Table()
    connection = opened(table, "slow")
    if what in ("sends its head slowly", "is idle"):
        connection.begin(0)
        connection.end(0)
    if what == "sends its head slowly":
        for at_s in range(ends_after_s):
            connection.received(at_s * S)
    elif what == "is served":
        connection.begin(0)
    table.of.end_silent(ends_after_s * S - 1)
    assert (len(table.of), table.closed) == (1, [])
    table.of.end_silent(ends_after_s * S)
    assert (len(table.of), table.closed) == (0, ["slow"])


def test_a_stream_lasts() -> None:
    table = Table()
    connection = opened(table, "viewer")
    connection.begin(0)
    connection.streams = True
    table.of.end_silent(10**6 * S)
    assert len(table.of) == 1


def test_900_silent_connections_leave_room_for_the_one_that_works() -> None:
    """Each has an address of its own: those idle longest make room, never one that is served."""
    table = Table(most=8)
    served = opened(table, "works")
    served.begin(0)
    for number in range(900):
        opened(table, f"silent {number}", 1 + number / 1000)
    assert len(table.of) == 8
    assert "works" not in table.closed
    assert len(table.closed) == len(table.refused) == 900 - 7
    assert opened(table, "late", 3).client == "late"


def test_a_client_with_many_loses_its_own_first() -> None:
    table = Table(most=8)
    quiet = opened(table, "quiet")
    for number in range(100):
        table.open("greedy", 1 + number)
    assert table.closed == ["greedy"] * 96
    for number in range(8):
        opened(table, f"new {number}", 200 + number)
    assert table.closed[96:99] == ["greedy"] * 3, "of the client that has the most"
    assert table.closed[99] == "quiet", "of equals, the one that was idle longest"
    assert quiet not in list(table.of)


def test_a_connection_makes_room_in_the_order_in_which_it_became_idle() -> None:
    table = Table(most=3)
    first, second, third = (opened(table, name) for name in ("first", "second", "third"))
    for connection, at_s in ((first, 1), (second, 2), (third, 3)):
        connection.begin(at_s * S)
    for connection, at_s in ((second, 4), (third, 5), (first, 6)):
        connection.end(at_s * S)
    # The head of another request begins.
    second.received(7 * S)
    for at_s in (8, 9, 10):
        opened(table, f"new {at_s}", at_s)
    assert table.closed == ["third", "first", "second"]


def test_a_server_full_of_requests_refuses() -> None:
    table = Table(most=4)
    for number in range(4):
        opened(table, f"busy {number}").begin(0)
    assert table.open("late") is None
    assert (table.refused, table.closed) == (["late"], [])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["open", "begin", "end", "remove", "sweep"]),
            st.integers(0, 5),
            st.integers(0, 50),
        ),
        max_size=120,
    )
)
def test_no_order_of_events_exceeds_the_bound(steps: list[tuple[str, int, int]]) -> None:
    table, made, now_ns = Table(most=6), list[Connection](), 0
    for what, client, wait_s in steps:
        now_ns += wait_s * S
        alive = [one for one in made if one in set(table.of)]
        mine = [one for one in alive if one.client == f"client {client}"]
        if what == "open":
            serving = [one for one in alive if one.serving]
            idle = [one for one in alive if not one.serving]
            held = Counter(one.client for one in alive)
            connection = table.open(f"client {client}", now_ns / S)
            assert set(serving) <= set(table.of), "one that is served was ended"
            for ended in set(alive) - set(table.of):
                # Of the client that asks, or of all.
                least = min((-held[one.client], one.since_ns) for one in idle)
                assert ended.client == f"client {client}" or least == (
                    -held[ended.client],
                    ended.since_ns,
                )
                same = [one.since_ns for one in idle if one.client == ended.client]
                assert ended.since_ns == min(same)
            made += [] if connection is None else [connection]
        elif what == "begin" and mine:
            mine[0].begin(now_ns)
        elif what == "end" and mine and mine[0].serving:
            mine[0].end(now_ns)
        elif what == "remove" and mine:
            table.of.remove(mine[0])
            table.of.remove(mine[0])
        elif what == "sweep":
            table.of.end_silent(now_ns)
        assert len(table.of) <= 6
    for connection in table.of:
        table.of.remove(connection)
    assert [opened(table, "alone") for _ in range(3)]
    assert len(table.of) == 3, "nothing is held by those that are gone"
