"""Libraries that only some commands need: imported when they are, with a sentence if absent."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from rlc_train.errors import TrainError


def need(module: str, extra: str) -> Any:
    """Imports a module of an extra.

    Raises:
        TrainError: It is not installed; the message says how to get it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        raise TrainError(
            top,
            f"is not installed ({error}); run 'make setup-training', or install"
            f" sojourn-rlc-train[{extra}]",
        ) from error


def there(module: str) -> bool:
    """Whether a top-level module is installed, without importing it."""
    return importlib.util.find_spec(module) is not None
