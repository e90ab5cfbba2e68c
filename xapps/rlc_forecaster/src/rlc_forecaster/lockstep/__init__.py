"""``rlc-forecaster lockstep``: the engine at the end of a pipe, without clock and gateway.

A simulator writes E2 indications, as frames, to standard input and reads a ``ForecastBatch`` after
each RLC report from standard output. It is the engine that serves live, so what is judged on
virtual time is what is served. :mod:`~rlc_forecaster.lockstep.frames` has the framing.
"""

from rlc_forecaster.lockstep.frames import Frame, FrameError, Kind, read_frame, write_frame
from rlc_forecaster.lockstep.session import Session
from rlc_forecaster.lockstep.step_time import StepTime, step_time

__all__ = [
    "Frame",
    "FrameError",
    "Kind",
    "Session",
    "StepTime",
    "read_frame",
    "step_time",
    "write_frame",
]
