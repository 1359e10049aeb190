"""Whether a text has words that no prompt for everyone should have."""

from __future__ import annotations

from dataclasses import fields

from formalimg.suites import Group, check_group


def unsafe_word(text: str) -> str | None:
    """What is unsafe in a text, as in `says 'gun'`; None if nothing is."""
    # The words are those of the checker of groups; so the text is shown to it as the law of a group.
    shown = Group(**{**{field.name: "" for field in fields(Group)}, "law": text})
    found = next((problem.detail for problem in check_group(shown) if problem.reason == "unsafe"), None)
    return None if found is None else found.removeprefix("law ")
