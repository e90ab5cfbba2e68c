"""Loads gRPC with its client EventEngine disabled.

The EventEngine reads a client's connection in threads of its own and passes each message between
them, which suits many connections. With one connection and a small message each millisecond these
threads are a quarter of the CPU and latency per message. Without the EventEngine the thread that
waits for messages reads the connection itself.

A value of GRPC_EXPERIMENTS in the environment takes precedence. Without effect if gRPC was loaded
before `ric`, or on a gRPC core that has the EventEngine only.
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
    # The core reads it once, while it is loaded; child processes must not inherit it.
    os.environ[VARIABLE] = WITHOUT_EVENT_ENGINE
    try:
        importlib.import_module("grpc")
    finally:
        del os.environ[VARIABLE]


_load()
