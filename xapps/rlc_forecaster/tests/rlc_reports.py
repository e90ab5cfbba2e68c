"""The type of the `report` fixture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reports = Callable[..., NDArray[np.void]]
