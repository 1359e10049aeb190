"""Text for messages: truncation and control characters."""

from __future__ import annotations


def truncate(message: str, head: int, tail: int) -> str:
    """Return the message on one line, cut in the middle to `head` + `tail` characters, without control characters.

    Messages quote what users and servers sent, which may be endless or hold terminal escapes.
    """
    if len(message) > head + tail:
        message = f"{message[:head]}…{message[-tail:]}"
    return "".join(character if character.isprintable() else "·" for character in message)
