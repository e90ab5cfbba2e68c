"""The state of a round of retraining on disk, from which a killed one continues."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from bounded_input import parse_json
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rlc_train.errors import TrainError, write_text

STATE: Final = "state.json"
SEEN: Final = "seen.json"
"""File of a round that names the runs of the data set that it judged and trained on."""

Stage = Literal["collect", "drift", "train", "evaluate", "gate", "compare", "promote", "publish"]
STAGES: Final[tuple[Stage, ...]] = (
    *("collect", "drift", "train", "evaluate"),
    *("gate", "compare", "promote", "publish"),
)
Result = Literal["promoted", "no drift", "refused", "no new data"]


class RoundState(BaseModel):
    """One round.

    Attributes:
        number: From 1.
        stage: The stage that comes next.
        known: Runs of the data set (partitions) that were there when the round began.
        result: How it ended; None while it goes on.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int = Field(default=1, ge=1)
    stage: Stage = "collect"
    known: tuple[str, ...] = ()
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class WorkDirectory:
    """The directory of all rounds: ``state.json``, and ``round-0001`` with the files of one."""

    path: Path

    def begin(self, present: tuple[str, ...]) -> RoundState:
        """The round to continue, or a new one.

        Args:
            present: Runs of the data set. Those that the last round did not see are new to this
                one; all are new to the first.

        Raises:
            TrainError: The state is damaged or cannot be written.
        """
        last = self._load()
        if last is not None and last.result is None:
            return last
        if last is None:
            state = RoundState()
        else:
            seen = tuple(self.read(last, SEEN))
            state = RoundState(number=last.number + 1, known=tuple(p for p in present if p in seen))
        self.save(state)
        return state

    def folder(self, state: RoundState) -> Path:
        """Files of a round."""
        return self.path / f"round-{state.number:04}"

    def save(self, state: RoundState) -> None:
        """Writes the state atomically."""
        write_text(self.path / STATE, state.model_dump_json(indent=2) + "\n")

    def write(self, state: RoundState, name: str, document: Any) -> None:
        """Writes a JSON file of a round atomically."""
        write_text(self.folder(state) / name, json.dumps(document, indent=2) + "\n")

    def read(self, state: RoundState, name: str) -> Any:
        """Reads a JSON file of a round.

        Raises:
            TrainError: It is missing or damaged.
        """
        path = self.folder(state) / name
        try:
            return parse_json(path.read_text())
        except (OSError, ValueError) as error:
            raise TrainError(str(path), f"cannot be read: {error}") from error

    def _load(self) -> RoundState | None:
        path = self.path / STATE
        try:
            return RoundState.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TrainError(str(path), error.strerror or "cannot be read") from error
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            place = f"{path}: {where}" if where else str(path)
            raise TrainError(place, first["msg"]) from error
