"""Items by the text of their prompt, for trainers that send nothing else of an item."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from formalimg._util.text import truncate
from formalimg.benchmarks.conditions import STYLES, Condition
from formalimg.benchmarks.loader import default_digest
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.types import Item

ItemsBySuite = Callable[[str], Mapping[str, Item[Any]]]
"""Returns the items of a suite, by their ids."""


class PromptIndex:
    """Finds items by their prompts. White space does not matter, nor does a text about style in front. Thread-safe."""

    def __init__(self, items_of: ItemsBySuite, suites: Sequence[str]) -> None:
        """Index the prompts of these suites when the first one is looked for."""
        self._items_of, self._suites = items_of, tuple(suites)
        self._found: Mapping[str, tuple[Item[Any], ...]] | None = None
        self._styles: tuple[str, ...] = ()
        self._lock = threading.Lock()

    def find(self, prompt: str) -> Item[Any]:
        """Return the item with this prompt."""
        known = self._prompts()
        plain = _plain(prompt)
        found = known.get(plain) or next((known[rest] for rest in self._without_style(plain) if rest in known), ())
        if not found:
            raise FormalimgError(
                f"no item of {', '.join(self._suites)} has the prompt {truncate(plain, 60, 20)!r}: send the prompt as "
                "exported, or name the suite and id"
            )
        if len({(item.suite, suite(item.suite).form.asked_text(item.spec)) for item in found}) > 1:
            named = ", ".join(f"{item.id} of {item.suite}" for item in found[:4])
            raise FormalimgError(f"several items have this prompt and ask for different things ({named}): name one")
        return found[0]

    def _prompts(self) -> Mapping[str, tuple[Item[Any], ...]]:
        with self._lock:  # whoever comes meanwhile needs it too
            if self._found is None:
                found: dict[str, tuple[Item[Any], ...]] = {}
                for name in self._suites:
                    for item in self._items_of(name).values():
                        key = _plain(item.prompt)
                        found[key] = (*found.get(key, ()), item)
                if any(suite(name).has_style_text for name in self._suites):
                    self._styles = tuple(_plain(Condition(style=style).texts[0].text) + " " for style in STYLES)
                self._found = found
            return self._found

    def _without_style(self, prompt: str) -> list[str]:
        return [prompt.removeprefix(style) for style in self._styles if prompt.startswith(style)]


def indexed_suites(given: Mapping[str, object], chosen: Sequence[str] | None) -> tuple[str, ...]:
    """Return the suites whose prompts are known: those chosen, or else all that have items."""
    if chosen is not None:
        for name in chosen:
            suite(name)  # so that a wrong name is reported at once
        return tuple(chosen)
    return tuple(name for name in suite_names() if name in given or default_digest(name))


def _plain(prompt: str) -> str:
    return " ".join(prompt.split())
