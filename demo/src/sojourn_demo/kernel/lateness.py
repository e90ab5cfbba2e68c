"""How far the gNB kept to the wall clock in a run: what a machine that is too slow adds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sojourn_demo import DemoError
from sojourn_demo.kernel.setup import GNB


@dataclass(frozen=True, slots=True)
class Lateness:
    """Slots and packets of one run that came too late on this machine.

    Attributes:
        late_slots: Slots that ran more than a slot late, of `busy_slots` with packets.
        busy_slots: Slots with packets.
        delivered_late_p99_us: Time between the delivery of a packet in the scenario and its
            hand-over to the kernel, µs.
    """

    late_slots: int
    busy_slots: int
    delivered_late_p99_us: int

    @classmethod
    def read(cls, folder: Path) -> Lateness:
        """Reads the gNB's summary of a run; raises `DemoError` if it is missing or invalid."""
        path = folder / GNB
        try:
            found = json.loads(path.read_text())["live"]["lateness"]
            return cls(
                int(found["late_slots"]), int(found["busy_slots"]), int(found["delivery_us"]["p99"])
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DemoError(f"{path}: {error!r}; expected a summary of gnb-lab live") from error

    def figures(self) -> dict[str, Any]:
        """The attributes by name, as the summary has them."""
        return asdict(self)

    def sentence(self, name: str) -> str:
        """A sentence for the report; `name` is that of the run."""
        share = self.late_slots / max(1, self.busy_slots)
        return (
            f"{name[0].upper()}{name[1:]}, {share:.1%} of the slots with packets ran late on this"
            f" machine, and 99% of the packets reached the kernel at most"
            f" {self.delivered_late_p99_us / 1e3:.1f} ms late."
        )
