"""The error of this package."""


class DatasetError(ValueError):
    """A data set, table or trace that is not what it has to be.

    Attributes:
        file: Where, as given; empty for a table in memory.
        column: Column or field, empty when it is not about one.
        row: Row from 0 (of a text file: line from 1), None when it is not about one.
    """

    def __init__(
        self, message: str, *, file: str = "", column: str = "", row: int | None = None
    ) -> None:
        self.file, self.column, self.row = file, column, row
        place = [file or "table"]
        if column:
            place.append(f"column {column}")
        if row is not None:
            place.append(f"row {row}")
        super().__init__(f"{', '.join(place)}: {message}")
