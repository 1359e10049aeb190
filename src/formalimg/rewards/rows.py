"""Rows that specify the content of an image, for `reward`, trainer data sets and server requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from formalimg.errors import FormalimgError

FORMS: Mapping[str, tuple[str, ...]] = {
    "id": ("suite", "id"),
    "formula": ("formula", "vocabulary"),
    "questions": ("words", "questions"),
    "texts": ("texts",),
}
"""The keys of each form of a task, by the key that identifies it."""

METADATA = "metadata"
"""The key under which data sets hold metadata as one text: Arrow refuses columns of mixed structs."""

PROMPT = "prompt"
_PROMPTS = (PROMPT, "prompts")

_OPTIONAL = {"formula": "vocabulary", "questions": "words"}
"""The key that a form may lack: misspelled, it would be ignored as other columns are."""


def find_task(row: object) -> Mapping[str, Any] | None:
    """Return the task in a row without its other keys, or None if the row has no task.

    A row may also be JSON text, or hold it under `metadata`, as data sets do whose columns have one type each.
    """
    row = _as_mapping(row)
    return None if row is None else _read_task(row) or _read_task(_as_mapping(row.get(METADATA)) or {})


def require_task(row: object, label: str = "the row", prompt: object = None) -> Mapping[str, Any]:
    """Return the task in a row, falling back to `{"prompt": …}` to select an item by prompt."""
    task = find_task(row)
    if task is not None:
        return task
    text = _find_prompt(_as_mapping(row) or {}) or _text_of_prompt(prompt)
    if text is None:
        raise FormalimgError(
            f"{label} does not say what the image is to show: give suite and id, formula and vocabulary, words and "
            "questions, texts, or the prompt of an item"
        )
    return {PROMPT: text}


def _read_task(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    # Data sets that are read by Arrow have all columns in all rows, and null where a row has none.
    row = {key: value for key, value in row.items() if value is not None}
    forms = [form for form in FORMS if form in row and (form != "id" or "suite" in row)]
    if len(forms) > 1:
        raise FormalimgError(f"a row has one task, and this has {' and '.join(forms)}: leave out all but one")
    if not forms:
        return None
    form = forms[0]
    optional = _OPTIONAL.get(form)
    if optional is not None and optional not in row:
        near = get_close_matches(optional, [key for key in row if isinstance(key, str)], 1, 0.8)
        if near:
            raise FormalimgError(f"{near[0][:40]!r} is not known beside {form}: did you mean {optional}?")
    task = {key: row[key] for key in FORMS[form] if key in row}
    if form == "questions" and "words" not in row and (text := _find_prompt(row)) is not None:
        task["words"] = text
    return task


def _as_mapping(row: object) -> Mapping[str, Any] | None:
    if isinstance(row, str):
        try:
            row = json.loads(row)
        except (ValueError, RecursionError):
            return None
    return row if isinstance(row, Mapping) else None


def _find_prompt(row: Mapping[str, Any]) -> str | None:
    texts = (_text_of_prompt(row.get(key)) for key in _PROMPTS)
    return next((text for text in texts if text is not None), None)


def _text_of_prompt(prompt: object) -> str | None:
    """Return the text of a prompt, or of the last message of a conversation."""
    match prompt:
        case str() as text if text.strip():
            return text
        case [*_, {"content": str() as text}] if text.strip():
            return text
    return None
