"""Find quoted strings in prompts and questions that an image should show as text."""

from __future__ import annotations

import re

MAX_QUOTED = 200  # The most characters of a quoted string: a longer one is speech, or a quote that was never closed

# A straight single quote is also an apostrophe: it opens after a blank or a bracket, and closes before one or a sign.
_STRAIGHT = r"(?<![\w'])'(?=[^\s'])(?P<single>(?:(?!\s').)*?\S)'(?![\w'])"
_PAIRS = ('""', "“”", "‘’", "„“", "«»", "「」", "『』")
_OTHERS = "|".join(f"{re.escape(pair[0])}([^{re.escape(pair)}]+){re.escape(pair[1])}" for pair in _PAIRS)
_QUOTED = re.compile(f"{_STRAIGHT}|{_OTHERS}")


def find_quoted_texts(text: str) -> tuple[str, ...]:
    """Return the distinct quoted strings in a text, in order of appearance.

    Quotes are '…', "…", “…”, ‘…’, „…“, «…», 「…」 and 『…』. A comma before the closing quote belongs to the sentence.
    """
    quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(text))
    cleaned = (" ".join(part.split()).removesuffix(",") for part in quoted)
    return tuple(dict.fromkeys(part for part in cleaned if len(part) <= MAX_QUOTED and any(map(str.isalnum, part))))


def remove_quoted_texts(text: str) -> str:
    """Replace each quoted string in a text by "…"."""
    return _QUOTED.sub("…", text)


_ABOUT_TEXT = re.compile(
    r"""
    an? | all | also | and | appears? | are | can | contain(s|ing)? | correctly | display(s|ed)? | do(es)? | exactly |
    has | have | image | in | included? | includes | is | it | legibl[ey] | letters | of | on | phrase | picture |
    present | read(s|able|ing)? | rendered | say(s|ing)? | seen | show(s|n|ing)? | spelled | string | texts? | that |
    the | there | this | visible | which | with | words? | writing | written | you
    """,
    re.VERBOSE,
)
"""A word of a question that asks for nothing but that strings are in the image."""


def find_wanted_texts(question: str) -> tuple[str, ...]:
    """Return the quoted strings of a question that only asks whether the image shows them.

    The result is empty if the question asks for more, such as the colour or position of the text: "Is the text 'SALE'
    red?".
    """
    words = re.findall(r"[^\W_]+(?:'\w+)?", remove_quoted_texts(question).lower())
    return find_quoted_texts(question) if all(map(_ABOUT_TEXT.fullmatch, words)) else ()
