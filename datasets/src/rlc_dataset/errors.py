"""The error of this package."""


class DatasetError(ValueError):
    """An invalid data set, table or trace.

    Attributes:
        file: Its path; empty for a table in memory.
        column: Column or field; empty if none.
        row: Row from 0 (in a text file: line from 1); None if none.
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
