"""What the playground is asked: a formula, and how it is to be read."""

from __future__ import annotations

from typing import NamedTuple, get_args

from starlette.exceptions import HTTPException

from formalimg.logic import Semantics, Vocabulary, vocabulary, vocabulary_names
from formalimg.web.bodies import Body, text_in

LONGEST_FORMULA = 20_000
"""In characters; the instructions of the suites have up to a thousand."""


class Question(NamedTuple):
    """A formula as somebody wrote it, and how it is to be read.

    Attributes:
        formula: the text, right or wrong.
        words: the vocabulary.
        semantics: how `forall` reads.
        style: the style of the image; None if it was not told.
    """

    formula: str
    words: Vocabulary
    semantics: Semantics
    style: str | None


def question_in(body: Body) -> Question:
    """The question in what a page sent.

    Raises:
        HTTPException: if it is none.
    """
    formula = whole(text_in(body, "formula", longest=LONGEST_FORMULA), "formula")
    suite = _one_of(body, "vocabulary", vocabulary_names())  # a name of ours: it could also be that of a file
    semantics = _one_of(body, "semantics", get_args(Semantics), otherwise="strict")
    words = vocabulary(suite)
    style = _one_of(body, "style", ("", *words.words.get("style", ())), otherwise="") or None
    return Question(formula, words, "classical" if semantics == "classical" else "strict", style)


def whole(text: str, name: str) -> str:
    """The text, unless it holds halves of characters, which can be neither shown nor stored."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise HTTPException(400, f"{name} holds half a character: send Unicode text") from error
    return text


def _one_of(body: Body, name: str, known: tuple[str, ...], otherwise: str | None = None) -> str:
    value = body.get(name, otherwise)
    if not isinstance(value, str) or value not in known:
        raise HTTPException(400, f"{name} must be one of {', '.join(filter(None, known)) or 'none'}")
    return value
