"""Loads gRPC, asked to read a connection where its messages are awaited.

gRPC's EventEngine reads a client's connection in threads of its own and passes each message from
one to the next, which suits many connections. With one that brings a small message a millisecond
these threads are a quarter of what a message costs, in CPU and on its way. Without the EventEngine
the thread that waits for messages reads them, too.

What is said in the environment goes, and without effect is this where gRPC was loaded before `ric`
was. A core that has nothing but the EventEngine takes no notice.
"""

from __future__ import annotations

import importlib
import os
from typing import Final

VARIABLE: Final = "GRPC_EXPERIMENTS"
WITHOUT_EVENT_ENGINE: Final = "-event_engine_client"


def _load() -> None:
    if VARIABLE in os.environ:
        return
    # The core reads it while it is loaded, and never again; other processes are not to inherit it.
    os.environ[VARIABLE] = WITHOUT_EVENT_ENGINE
    try:
        importlib.import_module("grpc")
    finally:
        del os.environ[VARIABLE]


_load()
