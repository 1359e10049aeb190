"""Inputs of rewards: images, scenes used as images, and rows that specify what an image should show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

from formalimg._util.image_input import AnyImage, NoImageError, image_file_bytes
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.runs.inspection import inspect
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored

ImageLike: TypeAlias = AnyImage
"""An image: bytes, a path, a PIL image, an array or a tensor, or a function that reads one when it is needed. Or the
objects in it, so that no grounder is needed: a `Scene`, a `StyledScene`, or a scene in the published grounding format,
possibly with its `"style"`."""

FORMS: Mapping[str, tuple[str, ...]] = {  # the keys of each form of a task, by the key that identifies it
    "id": ("suite", "id"),
    "formula": ("formula", "vocabulary"),
    "questions": ("words", "questions"),
    "texts": ("texts",),
}
METADATA = "metadata"  # the key under which data sets hold metadata as one text: Arrow refuses columns of mixed structs
PROMPT = "prompt"
_PROMPTS = (PROMPT, "prompts")
# the key that a form may lack: misspelled, it would be ignored as other columns are
_OPTIONAL = {"formula": "vocabulary", "questions": "words"}
_MAX_DEPTH = 4  # nesting depth of numbers in a scene: in an object, in the list, in an object, in a box


class StyledScene(NamedTuple):
    """A scene and the style of its image, as required by `(IsStyle '…')`."""

    scene: Scene
    style: str | None = None


def load_scene(image: ImageLike) -> StyledScene | Unscored | None:
    """Return the scene passed instead of an image, or None if the input is an image."""
    if isinstance(image, StyledScene):
        return image
    if isinstance(image, Scene):
        return StyledScene(image)
    if not isinstance(image, Mapping):
        return None
    style = image.get("style")
    if style is not None and not isinstance(style, str):
        return Unscored("not understood", "the style of a scene must be a word or null")
    try:
        try:
            scene = Scene.from_json(image)
        except SceneError:  # detectors return boxes as arrays, and most scenes hold none
            scene = Scene.from_json(_to_plain_numbers(image))
    except SceneError as error:  # the grounder of this image got it wrong
        return Unscored("not understood", f"unreadable scene: {error}")
    return StyledScene(scene, style or None)  # an empty text is no style


def _to_plain_numbers(data: Any, depth: int = _MAX_DEPTH) -> Any:
    """Convert NumPy and torch numbers and arrays in plain data to Python numbers and lists."""
    if depth and isinstance(data, Mapping):
        return {key: _to_plain_numbers(value, depth - 1) for key, value in data.items()}
    if depth and isinstance(data, list | tuple):
        return [_to_plain_numbers(value, depth - 1) for value in data]
    return data.tolist() if callable(getattr(data, "tolist", None)) else data


def load_image(image: ImageLike) -> LoadedImage | Unscored:
    """Decode an image, or return the reason why this fails."""
    if image is None:
        return Unscored("no image", "the image is None")
    try:
        data = image_file_bytes(image() if isinstance(image, FunctionType | partial) else image)
    except NoImageError as error:
        return Unscored("unreadable image", str(error))
    except (OSError, ValueError) as error:  # also for characters that paths cannot have
        return Unscored("unreadable image", f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}")
    return inspect(data)


def find_task(row: object) -> Mapping[str, Any] | None:
    """Return the task in a row without its other keys, or None if the row has no task.

    A row may also be JSON text, or hold it under `metadata`, as in data sets with one type per column.
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
            f"{label} does not say what the image should show: give suite and id, formula and vocabulary, words and "
            "questions, texts, or the prompt of an item"
        )
    return {PROMPT: text}


def _read_task(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    # Data sets that are read by Arrow have all columns in all rows, and null where a row has none.
    row = {key: value for key, value in row.items() if value is not None}
    forms = [form for form in FORMS if form in row and (form != "id" or "suite" in row)]
    if len(forms) > 1:
        raise FormalimgError(f"a row must have one task, and this one has {' and '.join(forms)}: leave out all but one")
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
    match prompt:
        case str() as text if text.strip():
            return text
        case [*_, {"content": str() as text}] if text.strip():  # the last message of a conversation
            return text
    return None
