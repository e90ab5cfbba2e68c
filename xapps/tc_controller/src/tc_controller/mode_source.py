"""The mode: what settings or a file say, until another is set at the running program.

The newest word counts. The configuration is heard when it changes, so a mode that was set over HTTP
stays until then, also over restarts if it is kept in a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog
from ric.clock import Clock
from ric.errors import SettingsError
from ric.files import UnreadableFile, read_file
from ric.health import Condition
from ric.state_file import StateError, read_document, write_document

from tc_controller.core.mode import Mode
from tc_controller.settings import ControllerSettings

CONFIGURATION: Final = "configuration"
"""Who set a mode that is the configured one."""
_MAX_BYTES: Final = 64
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class InForce:
    """The mode in force, who set it, and when."""

    mode: Mode
    by: str = CONFIGURATION
    #: Since the Unix epoch, µs; 0: since the start.
    at_us: int = 0


def mode_of(text: str) -> Mode:
    """The mode that a word names; raises `ValueError`."""
    try:
        return Mode(text)
    except ValueError:
        raise ValueError(f"{text!r}; expected one of {', '.join(Mode)}") from None


class ModeSource:
    """The mode in force; raises `SettingsError` where the file of the mode cannot be used."""

    def __init__(self, settings: ControllerSettings, clock: Clock) -> None:
        self._file, self._state, self._clock = settings.mode_file, settings.mode_state, clock
        self._stamp: tuple[int, int] | None = None
        #: What settings or file said last.
        self._word = Mode(settings.mode) if self._file is None else self._read(self._file)
        #: The same, or what the next version of the file was announced to say.
        self.configured = self._word
        self.in_force = InForce(self._word)
        self._restore()

    @property
    def mode(self) -> Mode:
        """The mode in force."""
        return self.in_force.mode

    def set(self, mode: Mode, by: str) -> None:
        """Somebody sets the mode. Blocks; raises `OSError` if it cannot be kept."""
        self._put(InForce(mode, by, self._clock.now_us()))

    def configure(self, mode: Mode) -> bool:
        """The configured mode is this from now on; whether that is another than before.

        Blocks; raises `OSError` if it cannot be kept.
        """
        if mode is self.configured:
            return False
        self.configured = mode
        self._put(InForce(mode, at_us=self._clock.now_us()))
        return True

    def reload(self) -> bool:
        """Read the file if it changed; whether the mode in force is another now. Blocks."""
        if self._file is None or _stamp(self._file) == self._stamp:
            return False
        try:
            word = self._read(self._file)
        except SettingsError as error:
            _log.error("mode not reloaded; the one in force stays", problem=str(error))
            return False
        if word is self._word:
            return False
        self._word = word
        before = self.mode
        try:
            self.configure(word)
        except OSError as error:
            _log.warning("mode not kept", error=str(error))
        return self.mode is not before

    def document(self) -> dict[str, Any]:
        """What `GET /mode` answers."""
        return {
            "mode": self.mode,
            "meaning": self.mode.meaning,
            "configured": self.configured,
            "by": self.in_force.by,
            "since_us": self.in_force.at_us,
        }

    def condition(self) -> Condition:
        """Condition of readiness: a controller in any mode is ready."""
        by = "" if self.in_force.by == CONFIGURATION else f", set by {self.in_force.by}"
        return Condition(True, f"{self.mode}{by}")

    def _put(self, in_force: InForce) -> None:
        # In force first: a full disk must not keep anybody from switching off.
        self.in_force = in_force
        if self._state is not None:
            kept = {
                "version": 1,
                "mode": in_force.mode,
                "by": in_force.by,
                "at_us": in_force.at_us,
                "configured": self.configured,
                "word": self._word,
            }
            write_document(self._state, kept)

    def _restore(self) -> None:
        if self._state is None:
            return
        try:
            kept = read_document(self._state)
            if kept is None or mode_of(str(kept["word"])) is not self._word:
                return
            self.configured = mode_of(str(kept["configured"]))
            self.in_force = InForce(mode_of(str(kept["mode"])), str(kept["by"]), int(kept["at_us"]))
        except (StateError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(
                [f"{self._state}: {error}; expected what this program wrote, or no file"]
            ) from None
        if self.mode is not self._word:
            _log.warning("mode set at the running program is in force", **self.document())

    def _read(self, file: Path) -> Mode:
        self._stamp = _stamp(file)
        try:
            return mode_of(read_file(file, _MAX_BYTES).decode().strip())
        except UnreadableFile as error:
            raise SettingsError([f"mode_file: {error}"]) from None
        except ValueError as error:
            raise SettingsError([f"mode_file: {file}: {error}"]) from None


def _stamp(file: Path) -> tuple[int, int] | None:
    """Changes whenever the file does."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino
