"""``rlc-forecaster lockstep``: the engine on standard input and output, without clock or gateway.

A simulator writes E2 indications as frames to standard input and reads a ``ForecastBatch`` after
each RLC report from standard output. It is the same engine as in the service, so results on virtual
time apply to it. :mod:`~rlc_forecaster.lockstep.frames` defines the framing.
"""

from rlc_forecaster.lockstep.frames import Frame, FrameError, Kind, read_frame, write_frame
from rlc_forecaster.lockstep.session import Session, StepTime, step_time

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
