"""What raters may not learn: images without what is written into their files, and failures without names."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from starlette.exceptions import HTTPException

from formalimg.errors import FormalimgError
from formalimg.human_eval import AnswerError
from formalimg.judges import Unscored
from formalimg.runs import inspect

_QUICKLY = 3
"""How hard PNG files are pressed, of 9: people wait for them, and they go a short way."""

_decoding = BoundedSemaphore(2)
"""A large image takes hundreds of megabytes while it is decoded: not all at once."""


def bare_image(data: bytes) -> bytes:
    """The pixels of an image and nothing else, as PNG.

    Image models write their names and prompts into their files, and not all give the same kind of file. What is left is
    what judges see: upright, in RGB, transparent parts on white.

    Raises:
        FormalimgError: if the image cannot be decoded.
    """
    with _decoding:
        image = inspect(data)
        if isinstance(image, Unscored):
            raise FormalimgError(f"an image cannot be shown to raters: {image.detail}")
        bare = image.pil.copy()
        bare.info.clear()  # colour profiles too: no reader of ours minds them
        file = io.BytesIO()
        bare.save(file, "PNG", compress_level=_QUICKLY)
    return file.getvalue()


@contextmanager
def told_to_raters() -> Iterator[None]:
    """Failures of the study itself name folders, and folders name models: only the organiser gets to read them."""
    try:
        yield
    except AnswerError:
        raise
    except FormalimgError as error:
        logging.getLogger(__name__).error("a rater could not go on: %s", error)
        raise HTTPException(
            503, "something is wrong with the study: tell whoever sent you the link, and come back later"
        ) from error
