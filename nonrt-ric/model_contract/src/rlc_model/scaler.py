"""MinMax scaling (stolidis2024 §III-B) in NumPy, without scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlc_model.errors import ContractError


@dataclass(frozen=True, slots=True)
class MinMaxScaler:
    """Maps each column's ``[minimum, maximum]`` of the training part to ``[0, 1]``.

    Attributes:
        minimum: ``(F,)`` float32, or the shape of the scaled values.
        span: ``maximum − minimum``, same shape, all positive.
    """

    minimum: NDArray[np.float32]
    span: NDArray[np.float32]

    @classmethod
    def of(cls, minimum: list[float], maximum: list[float]) -> MinMaxScaler:
        """Builds a scaler from the bounds of each column.

        Raises:
            ContractError: Lengths differ, a bound is not finite or a maximum is not above its
                minimum.
        """
        low, high = np.asarray(minimum, np.float64), np.asarray(maximum, np.float64)
        if low.shape != high.shape or low.ndim != 1:
            raise ContractError("scaler", f"{len(minimum)} minima for {len(maximum)} maxima")
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise ContractError("scaler", "bounds must be finite")
        if not (high > low).all():
            column = int(np.argmin(high > low))
            raise ContractError(
                f"scaler.maximum[{column}]",
                f"{high[column]} is not above minimum {low[column]}",
            )
        return cls(low.astype(np.float32), (high - low).astype(np.float32))

    def transform(
        self, values: NDArray[np.float32], out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Scales ``(…, F)`` values, into `out` if given; values outside the training range are not
        clipped."""
        above: NDArray[np.float32] = np.subtract(values, self.minimum, out=out)
        return np.divide(above, self.span, out=above)

    def inverse_column(self, column: int, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scaled levels of one column back to its unit."""
        levels: NDArray[np.float32] = values * self.span[column] + self.minimum[column]
        return levels

    def inverse_residual(self, column: int, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scaled differences of one column back to its unit."""
        differences: NDArray[np.float32] = values * self.span[column]
        return differences
