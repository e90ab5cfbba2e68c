"""CA certificates of a client that are reread while a program runs."""

from __future__ import annotations

import ssl
from pathlib import Path

import structlog

from ric.endpoint_settings import read_pem
from ric.errors import SettingsError

_log = structlog.get_logger()


class Trust:
    """CA certificates for servers, reread by `check`."""

    def __init__(self, setting: str, path: Path) -> None:
        """Raises `SettingsError` naming the setting and the file that cannot be used."""
        self._setting = setting
        self._path = path
        self._rejected = ""
        self._content = read_pem(setting, path)
        self.context = self._of(self._content)
        """Context of connections from now on."""

    def check(self) -> None:
        """Reread the file if it changed; one that cannot be used is logged, the former stays."""
        try:
            content = read_pem(self._setting, self._path)
            if content != self._content:
                self.context = self._of(content)
                self._content = content
            self._rejected = ""
        except SettingsError as error:
            if str(error) != self._rejected:
                self._rejected = str(error)
                _log.warning("CA certificates refused, those in force stay", error=str(error))

    def _of(self, content: bytes) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cadata=content.decode("ascii"))
        except (ValueError, OSError) as error:
            raise SettingsError(
                [f"{self._setting}: {self._path}: {error}; expected PEM certificates"]
            ) from None
