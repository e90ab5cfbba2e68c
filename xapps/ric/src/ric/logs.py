"""Structured logs: one event name and its fields, as JSON lines or for a terminal."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from ric.settings import LogSettings
from ric.terminal import escaped

Logger = FilteringBoundLogger


def configure(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Set up structlog for the process; logs go to `stream`, standard error by default.

    For programs only: modules of the SDK take a logger or get one from structlog, and work without
    this.
    """
    out = stream or sys.stderr
    as_json = settings.format == "json" or (settings.format == "auto" and not out.isatty())
    renderer: list[Processor] = (
        [
            # Without local variables, here and below: a frame may hold a token or a key.
            ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(default=str),
        ]
        if as_json
        else [
            _escape,
            structlog.dev.ConsoleRenderer(
                colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[settings.level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )


def _escape(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Escapes what a terminal would obey in the text of an event."""
    return {
        name: escaped(value) if isinstance(value, str) else value for name, value in event.items()
    }


def get_logger(**fields: object) -> Logger:
    """A logger with `fields` bound to every event."""
    logger: Logger = structlog.get_logger(**fields)
    return logger
