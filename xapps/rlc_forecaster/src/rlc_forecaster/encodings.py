"""Encoded batches, shared by consumers with equal selections."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from weakref import WeakValueDictionary

from sojourn_serving import Message

from rlc_forecaster.core import Batch
from rlc_forecaster.selection import Encoder, Selection

KEPT_BYTES: Final = 16 * 2**20
"""Messages and their batches: consumers that are a few batches apart share them too."""
_OBJECTS_BYTES: Final = 4096
"""Size of a batch and its arrays besides the values."""


class Encodings:
    """Encodes a batch once for all consumers with the same selection, in one buffer."""

    def __init__(self, now_us: Callable[[], int], kept_bytes: int = KEPT_BYTES) -> None:
        """`now_us` is the wall clock; up to `kept_bytes` are kept besides the newest message."""
        self._now_us = now_us
        self._kept_bytes = kept_bytes
        self._encoders: WeakValueDictionary[Selection, Encoder] = WeakValueDictionary()
        self._kept: OrderedDict[tuple[Encoder, int], tuple[Batch, Message]] = OrderedDict()
        self._bytes = 0
        self.made = 0
        """Messages encoded."""

    def encoder(self, selection: Selection) -> Encoder:
        """The encoder of all consumers with this selection; it lasts while one of them holds it."""
        return self._encoders.setdefault(selection, Encoder(selection))

    def get(self, encoder: Encoder, batch: Batch) -> Message:
        """The message of a batch, with the time at which the first consumer asked for it."""
        # The batch is kept, so that no other has its id meanwhile.
        key = encoder, id(batch)
        if (kept := self._kept.get(key)) is not None:
            return kept[1]
        message = Message(encoder.encode(batch, self._now_us()))
        self.made += 1
        self._kept[key] = batch, message
        self._bytes += _kept_bytes(batch, message)
        while self._bytes > self._kept_bytes and len(self._kept) > 1:
            self._bytes -= _kept_bytes(*self._kept.popitem(last=False)[1])
        return message


def _kept_bytes(batch: Batch, message: Message) -> int:
    cumulated = 0 if batch.cumulated is None else batch.cumulated.nbytes
    return len(message) + batch.values.nbytes + cumulated + _OBJECTS_BYTES
