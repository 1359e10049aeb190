"""What judges are called where several stand side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formalimg.runs import Identity

_OWN_TEXT = "the user's own"
"""How prompts are told in settings that are not ours."""


def judge_names(judges: Sequence[Identity]) -> list[str]:
    """The name of each judge; where judges of one name differ, with the settings in which they do.

    A model that judges in two personas is called `openai/q (strict)` and `openai/q (standard)`: which texts follow from
    a persona goes without saying, unless they are the user's own.
    """
    found = []
    for judge in judges:
        alike = [other for other in judges if other.name == judge.name]
        found.append(_told_apart(judge, alike))
    return found


def _told_apart(judge: Identity, alike: Sequence[Identity]) -> str:
    keys = sorted({key for other in alike for key in other.settings})
    differing = [key for key in keys if len({repr(other.settings.get(key)) for other in alike}) > 1]
    if not differing:
        return judge.name
    short = _without_our_texts(differing, alike) if "persona" in differing else differing
    names = {_with_settings(other, short) for other in alike}
    distinct = {_with_settings(other, differing) for other in alike}
    return _with_settings(judge, short if len(names) == len(distinct) else differing)


def _without_our_texts(keys: Iterable[str], judges: Sequence[Identity]) -> list[str]:
    return [
        key
        for key in keys
        if not key.startswith("prompt_") or any(_OWN_TEXT in str(judge.settings.get(key)) for judge in judges)
    ]


def _with_settings(judge: Identity, keys: Iterable[str]) -> str:
    """The name with these settings; a persona is known by its value alone, and comes first."""
    given = judge.settings
    told = [str(given["persona"])] if "persona" in given and "persona" in keys else []
    told += [f"{key}={given[key]}" for key in keys if key in given and key != "persona"]
    return f"{judge.name} ({', '.join(told) or 'without'})"
