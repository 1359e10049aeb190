"""Server log: repeated messages are written only occasionally, so that no client can fill the disk."""

from __future__ import annotations

import contextlib
import errno
import logging
import time
from collections.abc import Callable, Iterator

LOGGERS = ("asyncio", "uvicorn.error")
"""The loggers that clients can make write: of connections that cannot be accepted, and of requests."""

_INTERVAL = 60.0  # Seconds in which the same is written once
_MAX_KINDS = 100  # Maximum number of different messages in an interval
_MAX_LENGTH = 4000  # Maximum number of characters of a message, without its traceback
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class RepeatFilter(logging.Filter):
    """A logging filter that passes each message once per interval and reports how many were suppressed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._counts: dict[object, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write the record, whose text may be changed."""
        _explain_no_files(record)
        now, kind = self._clock(), _kind(record)
        if now - self._since >= _INTERVAL:
            left_out = sum(self._counts.values()) - len(self._counts)
            self._since, self._counts = now, {}
            if left_out > 0:
                record.msg = f"{record.getMessage()} ({left_out:,} messages like those before were left out)"
                record.args = ()
        is_known = kind in self._counts
        if not is_known and len(self._counts) >= _MAX_KINDS:
            return False
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if not is_known and len(text := record.getMessage()) > _MAX_LENGTH:
            record.msg, record.args = f"{text[:_MAX_LENGTH]} …", ()
        return not is_known


def _kind(record: logging.LogRecord) -> object:
    """Return a key shared by records with the same message template and error location."""
    error = record.exc_info[1] if record.exc_info else None
    place = error.__traceback__ if error else None
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = (place.tb_frame.f_code.co_filename, place.tb_lineno) if place else None
    return record.name, str(record.msg)[:200], type(error), where


def _explain_no_files(record: logging.LogRecord) -> None:
    """Add advice to the event loop's error message about failing to accept a connection."""
    error = record.exc_info[1] if record.exc_info else None
    if record.name == "asyncio" and isinstance(error, OSError) and error.errno in _NO_FILES:
        record.msg = f"connections cannot be accepted ({error.strerror}): raise the limit of open files, `ulimit -n`"
        record.args, record.exc_info, record.exc_text = (), None, None


@contextlib.contextmanager
def limited_log() -> Iterator[None]:
    """Filter repeated messages of the server's loggers for the duration of the block."""
    repeats = RepeatFilter()
    for name in LOGGERS:
        logging.getLogger(name).addFilter(repeats)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(repeats)
