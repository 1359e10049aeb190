"""Connections that are kept for the next request: threads share them, processes never do."""

from __future__ import annotations

import os
from collections import deque
from http.client import HTTPConnection


class KeptConnections:
    """Connections to a server that nobody uses at the moment. No locks, so that it can be copied at any time."""

    def __init__(self) -> None:
        self._idle: deque[HTTPConnection] = deque()
        self._process = os.getpid()

    def __reduce__(self) -> tuple[type[KeptConnections], tuple[()]]:
        return type(self), ()  # another process makes its own

    def take(self) -> HTTPConnection | None:
        """The one that was used last; None if there is none."""
        try:
            return self._own().pop()
        except IndexError:
            return None

    def keep(self, connection: HTTPConnection) -> None:
        """Keep one for the next request."""
        self._own().append(connection)

    def close(self) -> None:
        """Close all."""
        while (connection := self.take()) is not None:
            connection.close()

    def _own(self) -> deque[HTTPConnection]:
        if self._process != os.getpid():
            # After a fork, whoever forked goes on to use them: requests would run into each other, and each process
            # could read the answer to what the other has asked.
            self._idle = deque()
            self._process = os.getpid()
        return self._idle
