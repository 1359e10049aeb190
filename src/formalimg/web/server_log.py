"""Server log without repetitions, so that no client can fill the disk."""

from __future__ import annotations

import contextlib
import errno
import logging
import time
from collections.abc import Callable, Iterator

LOGGERS = ("asyncio", "uvicorn.error")  # the loggers that clients can make write
_INTERVAL = 60.0  # seconds in which a message is written once
_MAX_KINDS = 100  # different messages in an interval
_MAX_LENGTH = 4000  # characters of a message, without its traceback
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
        error = record.exc_info[1] if record.exc_info else None
        if record.name == "asyncio" and isinstance(error, OSError) and error.errno in _NO_FILES:
            record.msg = f"cannot accept connections ({error.strerror}): raise the limit of open files, `ulimit -n`"
            record.args, record.exc_info, record.exc_text = (), None, None
        now, kind = self._clock(), _kind(record)
        if now - self._since >= _INTERVAL:
            repeats = sum(self._counts.values()) - len(self._counts)
            self._since, self._counts = now, {}
            if repeats > 0:
                record.msg, record.args = f"{record.getMessage()} ({repeats:,} repeated messages left out)", ()
        is_new = kind not in self._counts
        if is_new and len(self._counts) >= _MAX_KINDS:
            return False
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if is_new and len(text := record.getMessage()) > _MAX_LENGTH:
            record.msg, record.args = f"{text[:_MAX_LENGTH]} …", ()
        return is_new


def _kind(record: logging.LogRecord) -> object:
    """Return a key shared by records with the same message template and error location."""
    error = record.exc_info[1] if record.exc_info else None
    trace = error.__traceback__ if error else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    location = (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else None
    return record.name, str(record.msg)[:200], type(error), location


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
