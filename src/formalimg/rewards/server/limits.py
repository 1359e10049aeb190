"""How much the server takes on, and how long it waits for anyone."""

from __future__ import annotations

from dataclasses import dataclass

_HELD = 8
"""So many of the largest requests may be held in memory at the same time."""


@dataclass(frozen=True)
class Limits:
    """How much the server takes on, and how long it waits.

    Attributes:
        most_bytes: how long the body of a request may be.
        most_items: how many images a request may ask about.
        at_once: how many requests are worked on at the same time.
        most_waiting: how many more may wait for their turn; others are told to come back.
        longest_wait: how many seconds a request waits for its turn, before it is told to come back.
        timeout: how many seconds a client has to send the head of a request, its body, and to read an answer; and how
            long a connection may be kept without a request.
        longest_end: how many seconds requests that have begun may take once the server is told to end.
        most_connections: how many connections are answered; over any more, only health and numbers are.
    """

    most_bytes: int = 64 * 1024 * 1024
    most_items: int = 256
    at_once: int = 16
    most_waiting: int = 256
    longest_wait: float = 30.0
    timeout: float = 30.0
    longest_end: float = 60.0
    most_connections: int = 512

    @property
    def most_held(self) -> int:
        """How many bytes of bodies are held in memory, of all requests together."""
        return _HELD * self.most_bytes
