"""What went wrong, in a line that can be stored and shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from formalimg._util.strict_json import dumps_storable
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models import Answer, Failed, Generated, Refused, redacted

_HEAD, _TAIL = 400, 100
"""So many characters of a message are kept from its beginning and its end: some are whole web pages."""


def in_one_line(text: str) -> str:
    """A text as one line of bearable length, and without keys: some messages quote them."""
    return truncate(redacted(" ".join(text.split())), _HEAD, _TAIL)


def told_error(error: BaseException) -> str:
    """What an exception says, in one line."""
    text = in_one_line(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def given_up(error: BaseException) -> bool:
    """Is this the end of whoever runs, and not of something that a model or a judge has begun and cancelled itself?"""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def as_answer(given: object) -> Answer:
    """What an image model gave, if that is an answer at all; else that it failed."""
    match given:
        case Refused(reason=str()) | Failed(reason=str()):
            return given
        case Generated(data=bytes(), served=served):
            try:
                dumps_storable(dict(served))
            except (TypeError, ValueError) as error:
                return Failed(f"what the model says it used is not plain: {told_error(error)}")
            return given
        case Generated():
            return Failed(f"the model gave {type(given.data).__name__} in place of the bytes of an image")
    return Failed(f"the model gave {type(given).__name__} in place of an answer")


def root_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that a user can act on, if there is one; else the first."""
    found = list(_leaves(errors))
    return next((error for error in found if isinstance(error, FormalimgError)), found[0])


def _leaves(errors: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
