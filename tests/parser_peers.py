"""Peers of parsers: inputs near valid ones, and the law that holds for each of them.

A parser returns a value that it reads back from its own writing, or raises its typed error with the
place. Nothing else is raised, and the memory is bounded.
"""

from __future__ import annotations

import copy
import json
import re
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MOST_BYTES: Final = 24 << 20
"""Memory of Python and NumPy while an input of a few kB is read."""
SHARE: Final = 3
"""Divisor of the profile's number of examples: there are many parsers."""
ODD: Final = (
    *(b"\0", b"\xff", b"\xf0\x9f", b"\xed\xa0\x80", b"\r", b"\n", b"\t", b'"', b"'", b"\\u0000"),
    *(b"\\ud800", b"{", b"}", b"[", b"]", b",", b":", b": ", b"- ", b"&a", b"*a", b"<<", b"!!int"),
    *(b"-1", b"0", b"1e999", b"-1e999", b"NaN", b"Infinity", b"nan", b"inf", b"1" * 50, b"null"),
    *(b"59:59:59", b"2020-13-45", b"true", b"[" * 200, b'{"a":' * 200, b"- " * 200),
    *(b"../../x", b"/dev/zero", b"%s", b"unix:", b"http://", b"-----BEGIN X-----"),
)
SCALARS: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, -1, 2**31, 2**32, 2**63, 2**64, 10**30, 1e308, -0.0, 5e-324, 0.5]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(
        ["", "/dev/zero", "unix:", "a\0b", "59:59", "[::1]:x", "é", "\ud800", "*", "("]
    ),
)
VALUES: Final = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@dataclass(frozen=True, slots=True)
class Peer:
    """A parser with what it reads, and how its results are judged."""

    parser: str
    """`module:function`, for the inventory."""
    parse: Callable[[bytes, Path], Any]
    """Reads the bytes; the path is where a parser of files may put them."""
    errors: type[Exception] | tuple[type[Exception], ...]
    place: str
    """What the text of each error matches."""
    seeds: Sequence[Any]
    """Valid inputs: bytes, or values that are written as JSON and changed at any place."""
    write: Callable[[Any], bytes] | None = None
    """Writes a value so that it is read back equal; without, `check` judges it."""
    check: Callable[[Any], object] = field(default=lambda value: None)
    words: Sequence[bytes] = ()
    also: Sequence[str] = ()
    """Other parsers that this one calls with the input."""


def inputs(peer: Peer) -> st.SearchStrategy[bytes]:
    """Valid inputs changed in a few places, and bytes of no shape."""
    kinds = [st.binary(max_size=200)]
    raw = [seed if isinstance(seed, bytes) else _json(seed) for seed in peer.seeds]
    chunk = st.one_of(st.sampled_from([*ODD, *peer.words]), st.binary(max_size=12))
    edit = st.tuples(st.sampled_from("idrtw"), st.floats(0, 1), st.floats(0, 1), chunk)
    kinds.append(st.tuples(st.sampled_from(raw), st.lists(edit, max_size=4)).map(_edited))
    documents = [seed for seed in peer.seeds if not isinstance(seed, bytes)]
    if documents:
        change = st.tuples(st.integers(0, 10_000), VALUES)
        kinds.append(
            st.tuples(st.sampled_from(documents), st.lists(change, min_size=1, max_size=3)).map(
                _changed
            )
        )
    return st.one_of(kinds)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _edited(given_: tuple[bytes, list[tuple[str, float, float, bytes]]]) -> bytes:
    """Insert, delete, repeat, truncate, overwrite."""
    data, edits = given_
    for kind, where, much, chunk in edits:
        at = round(where * len(data))
        end = min(len(data), at + 1 + round(much * 40))
        if kind == "i":
            data = data[:at] + chunk + data[at:]
        elif kind == "d":
            data = data[:at] + data[end:]
        elif kind == "r":
            data = data[:end] + data[at:end] + data[end:]
        elif kind == "t":
            data = data[:at]
        else:
            data = data[:at] + chunk + data[at + len(chunk) :]
    return data


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each container of a document, and a key or index in it."""
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in items:
        found.append((value, key))
        if isinstance(below, dict | list):
            found += _places(below)
    return found


def _changed(given_: tuple[Any, list[tuple[int, Any]]]) -> bytes:
    """Values replaced, also by none: the key is then away."""
    document = copy.deepcopy(given_[0])
    for where, value in given_[1]:
        places = _places(document)
        if not places:
            break
        container, key = places[where % len(places)]
        if value is None and isinstance(container, dict):
            del container[key]
        else:
            container[key] = value
    return _json(document)


def judge(peer: Peer, data: bytes, path: Path) -> bool:
    """Holds one input against the law; returns whether it was accepted."""
    try:
        value = peer.parse(data, path)
    except peer.errors as error:
        assert re.search(peer.place, str(error)), f"no place in: {error}"
        return False
    peer.check(value)
    if peer.write is not None:
        text = peer.write(value)
        assert peer.write(peer.parse(text, path)) == text
    return True


def hold(peer: Peer, folder: Path) -> None:
    """The test of a peer: its seeds are accepted, and the law holds for what is near them."""
    path = folder / "input"
    for seed in peer.seeds:
        assert judge(peer, seed if isinstance(seed, bytes) else _json(seed), path), seed

    @settings(
        max_examples=settings().max_examples // SHARE,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(data=inputs(peer))
    def law(data: bytes) -> None:
        tracemalloc.start()
        try:
            judge(peer, data, path)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < MOST_BYTES, f"{peak} bytes for {len(data)}"

    law()


def each(peers: Sequence[Peer]) -> pytest.MarkDecorator:
    """Parametrises a test by its peers."""
    return pytest.mark.parametrize("peer", peers, ids=[peer.parser for peer in peers])
