"""Sets up logging with structlog, on standard error: JSON lines for journald, readable lines on a terminal."""

from __future__ import annotations

import logging
import sys

import msgspec
import structlog


def set_up_logs(level: int = logging.INFO) -> None:
    """Set up structlog for this process."""
    terminal = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if terminal else "iso", utc=not terminal),
        structlog.processors.format_exc_info,
    ]
    last: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(serializer=_json)
    )
    structlog.configure(
        processors=[*shared, last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def _json(value: object, **_: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()
