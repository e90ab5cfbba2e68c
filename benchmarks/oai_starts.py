"""Runs in OpenAirInterface whose UE may end at its start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from sojourn_demo import DemoError

TRIES: Final = 3
UE_FAULT: Final = "threadCreate"
"""OAI's UE ends there in one of eight starts."""
Result = TypeVar("Result")


def repeated(run: Callable[[], Result]) -> Result:
    """What a run gives; it is made anew where OAI's UE ended at its start."""
    for _ in range(TRIES - 1):
        try:
            return run()
        except DemoError as error:
            if UE_FAULT not in str(error):
                raise
            print("OAI's UE ended at its start", flush=True)
    return run()
