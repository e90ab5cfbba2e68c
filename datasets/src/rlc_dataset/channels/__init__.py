"""Public traces of radio channels, in one form: :class:`~rlc_dataset.channels.trace.ChannelTrace`.

Each loader reads one format as it was published, `.xz` and `.gz` compressed or not. Traces are far
coarser than a run of this data set (1 s, 250 ms) or know deliveries alone, so they are channels to
simulate over, not runs to train on.
"""

from rlc_dataset.channels.colosseum import load_colosseum
from rlc_dataset.channels.mahimahi import load_mahimahi
from rlc_dataset.channels.trace import QUANTITIES, ChannelTrace
from rlc_dataset.channels.ucc import load_ucc

__all__ = [
    "QUANTITIES",
    "ChannelTrace",
    "load_colosseum",
    "load_mahimahi",
    "load_ucc",
]
