"""The error of this package."""


class ContractError(ValueError):
    """An invalid model directory, manifest or sample.

    Attributes:
        place: File, and field within it, e.g. ``manifest.json: scaler.minimum``.
    """

    def __init__(self, place: str, message: str) -> None:
        self.place = place
        super().__init__(f"{place}: {message}")
