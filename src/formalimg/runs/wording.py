"""Whose texts a published protocol sends: the authors', where they have been pulled, ours or the user's."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.prompts import is_authors, is_users
from formalimg.types import Setting

AUTHORS_WORDING = "published protocol, the authors' wording"


def published_wording(settings: Mapping[str, Setting]) -> str:
    """Return whose texts a model or judge of these settings sends, such as `published protocol, our wording`.

    Empty where no published protocol is followed, or it sends no texts.
    """
    sent = [str(value) for name, value in settings.items() if name == "prompt" or name.startswith("prompt_")]
    if "protocol" not in settings or not sent:
        return ""
    if any(map(is_users, sent)):
        return "published protocol, the user's wording"
    theirs = sum(map(is_authors, sent))
    if theirs == len(sent):
        return AUTHORS_WORDING
    return f"published protocol, {'partly ' if theirs else ''}our wording"
