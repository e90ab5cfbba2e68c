"""Windows over the RLC state of a node's bearers, and the violations of their objectives.

A bearer is a slot, a column of the windows. Its code is ``C-RNTI << 8 | DRB``.
"""

from typing import Self, final

import numpy as np
from numpy.typing import NDArray

@final
class Fields:
    """Byte offsets of the fields within a record."""

    def __new__(
        cls,
        *,
        record: int,
        pdu_bytes: int,
        occupancy_bytes: int,
        mean_sojourn: int,
        head_of_line_age: int,
        rnti: int,
        rbid: int,
        most_records: int,
    ) -> Fields:
        """All fields are u32, the mean sojourn f64 and the DRB u8; `record` is the length of a
        record. Bearers that a report of `most_records` leaves out keep their queue. Raises
        ValueError for a field that does not lie within it."""

@final
class Report:
    """What is to be done about a report."""

    @property
    def late(self) -> bool:
        """It was not newer than the last one and changed nothing."""

    @property
    def new(self) -> list[int]:
        """Slots of new bearers."""

    @property
    def gone(self) -> list[int]:
        """Codes of bearers that were missing for long."""

    @property
    def began(self) -> list[int]:
        """Slots where a violation began."""

    @property
    def ended(self) -> list[int]:
        """Slots where one ended."""

class Windows:
    """Recent RLC state of the bearers of one node."""

    def __new__(cls, depth: int, period_us: int, gone_after: int, fields: Fields) -> Self:
        """Windows of `depth` reports that come each `period_us`; a bearer is gone that more than
        `gone_after` reports in a row lack. Every requested window must be shorter."""

    def take(self, at_us: int, message: bytes) -> Report | None:
        """Add a report of node time `at_us` in the plain layout of the service model.

        Returns ``None`` if it was taken and judged, no bearer came or went and none is above its
        bound or was lately. If bearers came or went, `judge` must be called once they are watched
        or forgotten. Raises ValueError if the length does not match the count.
        """

    def judge(self) -> tuple[list[int], list[int]]:
        """Judge the newest report; slots where a violation began and where one ended."""

    def watch(
        self,
        slot: int,
        objective: tuple[float, float, int, int, float, int] | None,
    ) -> None:
        """Set the objective of a slot: bound, ms; percentile, %; window, ms; confirm time, ms;
        clear ratio; clear time, ms. ``None`` stops watching it."""

    def free(self, code: int) -> None:
        """Free the slot of a bearer that is gone."""

    def set_pipeline_us(self, slot: int, sojourn_us: float) -> None:
        """Set what an ungreedy flow waits in the pipeline; part of the coming sojourns."""

    def set_pipelines_us(
        self, rntis: NDArray[np.uint32], drbs: NDArray[np.uint8], sojourns_us: NDArray[np.float32]
    ) -> None:
        """The same of many bearers, by C-RNTI and DRB; those without a slot are left out. Arrays of
        shape (bearers,). Raises ``ValueError`` for other lengths than that of the first."""

    @property
    def bearers(self) -> int:
        """Bearers known now."""

    @property
    def capacity(self) -> int:
        """Slots, free ones too."""

    @property
    def reports(self) -> int:
        """Reports taken."""

    @property
    def unaddressable(self) -> int:
        """Rows ignored: C-RNTI or DRB out of range, or the bearer given twice."""

    def newest_us(self) -> int:
        """Node time of the newest report, 0 before the first."""

    def has(self, at_us: int) -> bool:
        """Whether a report of this node time is held."""

    def slot_of(self, code: int) -> int | None:
        """Slot of a bearer."""

    def code_at(self, slot: int) -> int | None:
        """Code of the bearer of a slot; ``None`` where it is free."""

    def hol_us(self, slot: int) -> float:
        """Age of the RLC's head of line; 0 when empty."""

    def mean_us(self, slot: int) -> float:
        """Mean RLC sojourn over 100 ms."""

    def sojourn_us(self, slot: int) -> float:
        """Sojourn in the newest report."""

    def occupancy_bytes(self, slot: int) -> int:
        """RLC transmission buffer."""

    def drained_bytes(self, slot: int) -> int:
        """Bytes that the MAC has taken since the bearer was first seen."""

    def all_sojourns_us(self) -> NDArray[np.float32]:
        """``(capacity,)`` sojourns of the newest report, by slot."""

    @property
    def any_violating(self) -> bool:
        """Whether a bearer violates its objective."""

    def violating(self) -> list[int]:
        """Slots whose bearers violate their objectives."""

    def violates(self, slot: int) -> bool:
        """Whether the bearer of a slot violates its objective."""

    def over_for_us(self, slot: int) -> int:
        """How long the sojourn has been above the bound without a break."""

    def serving_kbps(self, slot: int) -> float | None:
        """Drain rate over the last five seconds."""

    def lowest_kbps(self, slot: int, span_us: int) -> float | None:
        """Lowest drain rate over any such span of the last five seconds in which the RLC was never
        empty: under backlog it is the capacity of the radio. ``None``: it was never backlogged for
        so long."""

    def sojourn_percentile(self, slot: int, since_us: int, percentile: float) -> float | None:
        """Percentile (nearest rank) of the sojourn over the reports after `since_us`, µs."""

    def always_queued(self, slot: int, since_us: int) -> bool:
        """Whether packets waited in all reports after `since_us`, and there is one."""

    def sojourn_growth(self, slot: int, since_us: int) -> float:
        """How fast the sojourn grew after `since_us`, µs per µs; 0 if it did not."""

    def drain_kbps(self, slot: int, since_us: int) -> float | None:
        """Rate at which the MAC drained the bearer after `since_us`."""

    def share_of_drain(self, slot: int, since_us: int) -> float | None:
        """A bearer's part of what the MAC drained of all bearers after `since_us`; ``None``:
        nothing."""

    def samples(self, taken: int, stride: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Slots and sojourns, µs, of bearers with packets in each `stride`-th report after the
        first `taken`, as far as they are held: packets waited, or the MAC drained some since the
        report `stride` before."""
