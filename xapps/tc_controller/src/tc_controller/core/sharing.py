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
    """One of `count` equal controllers."""

    index: int = 0
    count: int = 1

    def prefers(self, node_id: str) -> bool:
        """Whether this is the replica that should own the node.

        Rendezvous hashing (Thaler and Ravishankar, IEEE/ACM ToN 6(1), 1998): with one replica more
        only the nodes move that it gets.
        """
        return self.index == max(range(self.count), key=lambda index: _weight(node_id, index))


ALONE: Final = Replica()


def _weight(node_id: str, index: int) -> bytes:
    return hashlib.blake2b(f"{index} {node_id}".encode(), digest_size=8).digest()
