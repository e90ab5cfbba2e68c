"""How replicas of a controller share nodes: each node has a replica that should own it.

Replicas know their number and how many there are, not each other. The node lease alone decides who
owns a node (`ownership`); the preference decides who asks first, and that another gives it back.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Replica:
    """One of `count` equal controllers, of which a node has one owner and `standbys`."""

    index: int = 0
    count: int = 1
    standbys: int = 1

    def prefers(self, node_id: str) -> bool:
        """Whether this is the replica that should own the node."""
        return self._rank(node_id) == 0

    def watches(self, node_id: str) -> bool:
        """Whether this replica may own the node; to the others it costs nothing."""
        return self._rank(node_id) <= self.standbys

    def _rank(self, node_id: str) -> int:
        """How many replicas are to own the node before this one.

        Rendezvous hashing (Thaler and Ravishankar, IEEE/ACM ToN 6(1), 1998): with one replica more
        only the nodes move that it gets.
        """
        own = _weight(node_id, self.index)
        return sum(_weight(node_id, index) > own for index in range(self.count))


ALONE: Final = Replica()


def _weight(node_id: str, index: int) -> bytes:
    return hashlib.blake2b(f"{index} {node_id}".encode(), digest_size=8).digest()
