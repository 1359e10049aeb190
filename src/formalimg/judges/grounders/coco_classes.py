"""The classes of a detector with a fixed list, such as COCO's 80 (`coco.toml`), and how formulas may call them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from formalimg._util.io import read_plain_bytes
from formalimg.errors import FormalimgError

_MAX_BYTES = 1_000_000
_MAX_SHOWN = 5


@dataclass(frozen=True)
class DetectorClasses:
    """The classes that a detector was trained on; it finds no others."""

    ids: Mapping[str, int]  # the id of each class; they count from 1, and may have gaps
    synonyms: Mapping[str, Sequence[str]] = field(default_factory=dict)  # other words for some of the classes

    @cached_property
    def by_id(self) -> Mapping[int, str]:
        """The classes by their ids, as frozen graphs answer."""
        return {number: name for name, number in self.ids.items()}

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """The classes in the order of their ids without gaps, as exported YOLO models count them."""
        return tuple(sorted(self.ids, key=self.ids.__getitem__))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The classes, and the other words for them."""
        return (*self.ids, *(word for others in self.synonyms.values() for word in others))

    def find(self, asked: str) -> str | None:
        """Return the class that is asked for; case, blanks, hyphens and underscores do not matter. None if unknown."""
        return self._by_word.get(_plain(asked))

    def unknown(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Return the words among those asked for that the detector cannot look for.

        These are unknown classes, and words for a class that has been asked for by another word already: one box cannot
        have two names.
        """
        seen: dict[str, str] = {}
        found = []
        for word in dict.fromkeys(asked):
            name = self.find(word)
            if name is None or seen.setdefault(name, word) != word:
                found.append(word)
        return tuple(found)

    @cached_property
    def _by_word(self) -> Mapping[str, str]:
        words = {_plain(word): name for name, others in self.synonyms.items() for word in others}
        return words | {_plain(name): name for name in self.ids}


@cache
def coco_classes() -> DetectorClasses:
    """Return the 80 classes of COCO."""
    table = tomllib.loads((files("formalimg.judges.grounders") / "coco.toml").read_text(encoding="utf-8"))
    return DetectorClasses(table["classes"], table["synonyms"])


def read_classes(path: Path) -> DetectorClasses:
    """Return the classes in a text file: one name per line, the first has the id 1.

    Lines that are empty are ids without a class.
    """
    try:
        lines = read_plain_bytes(path, _MAX_BYTES).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FormalimgError(f"cannot read classes={path} ({why}): give a text file with a class per line") from None
    numbered = [(name.strip(), number) for number, name in enumerate(lines, 1) if name.strip()]
    ids = dict(numbered)
    if not ids or len(ids) < len(numbered):
        problem = "names a class twice" if ids else "names no class"
        raise FormalimgError(f"classes={path} {problem}: give a text file with a class per line")
    return DetectorClasses(ids)


def unknown_classes_text(name: str, unknown: Sequence[str]) -> str:
    """Return why a detector cannot score an item that names these classes."""
    shown = ", ".join(unknown[:_MAX_SHOWN]) + ", …" * (len(unknown) > _MAX_SHOWN)
    return f"{name} cannot look for {shown}: judge this item with a chat model that can see, or leave it out"


def _plain(word: str) -> str:
    return re.sub(r"[\s_-]+", " ", word).strip().casefold()
