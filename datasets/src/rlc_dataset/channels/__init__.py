"""Public traces of radio channels, in one form: :class:`~rlc_dataset.channels.trace.ChannelTrace`.

Each loader reads one published format, plain or packed by xz or gzip; `load_trace` tells which it
is, and `load_rates` reads any table with a column of times and one of rates. Traces are much
coarser than runs (1 s, 250 ms) or have only deliveries, so they are channels for simulations, not
training data.
"""

from rlc_dataset.channels.any_format import load_trace
from rlc_dataset.channels.colosseum import load_colosseum
from rlc_dataset.channels.mahimahi import load_mahimahi, mahimahi_text
from rlc_dataset.channels.rates import RateColumns, load_rates
from rlc_dataset.channels.trace import QUANTITIES, ChannelTrace
from rlc_dataset.channels.ucc import load_ucc

__all__ = [
    "QUANTITIES",
    "ChannelTrace",
    "RateColumns",
    "load_colosseum",
    "load_mahimahi",
    "load_rates",
    "load_trace",
    "load_ucc",
    "mahimahi_text",
]
