"""The one root of all errors that are the user's to mend, and how their messages are kept readable."""


class FormalimgError(Exception):
    """A mistake in what was given to us; the message says what to do next.

    The command line prints it without a traceback and exits with code 2. Anything else that is
    raised is a bug of ours and keeps its traceback.
    """


def presentable(message: str, head: int, tail: int) -> str:
    """A message on one line of bearable length: what it quotes may be endless or hold control characters."""
    if len(message) > head + tail:
        message = f"{message[:head]}…{message[-tail:]}"
    return "".join(character if character.isprintable() else "·" for character in message)
