"""The catalog of drawable content: classes with their icons and anchors, and words that cannot be drawn, with reasons.

The data is in `catalog.d/*.toml`. All files are read together, and each may add settings for its own words:

```toml
[class.cat]                        # an object that can be drawn
icon = "cat"                       # icons/cat.svg, the default; "knolling/cup" is an icon of Knolling
tint = "orange"                    # its colour where none is asked for
variants = ["sleeping"]            # states with an icon of their own: icons/cat@sleeping.svg
shows = ["standing"]               # states that the plain icon shows
also = { sleeping = ["lying"] }    # states that the icon of a state shows besides
on = 0.2                           # where things on it stand: fraction of its height, from the top
carrier = "lying"                  # the variant that is drawn when a thing is on it
inside = [0.1, 0.2, 0.9, 0.8]      # where things inside it are seen: left, top, right, bottom as fractions of its box
container = "open"                 # the variant that is drawn when a thing is inside it
front = true                       # icons/cat@front.svg is painted over what is inside, which may stick out at the top
hold = [0.8, 0.5]                  # where a thing that it holds is; a list of two such points for two hands
poses = { running = [0.9, 0.5] }   # the same in states with an icon of their own; it holds nothing in the others
length = 0.5                       # its usual longest side, in metres
any_size = "reason"                # it has no usual size: nothing is tiny or huge beside it, nor is it itself
undrawable = { wet = "reason" }    # words that it cannot have in a drawing; "inside" and "hold": relations

[material.ceramic]                 # or shape, state, color, style, size, relation
undrawable = "reason"              # in no drawing; or a table, by the words that it cannot be combined with
removes = ["color"]                # kinds of words that cannot be seen any more (styles)
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from formalimg.drawing.icon import Icon, icons, palette, read_icon
from formalimg.errors import FormalimgError

WORD_KINDS = ("color", "material", "shape", "state", "style", "size", "relation")
"""The kinds of words, besides classes, of which a catalog can say that they cannot be drawn."""

KNOLLING = "knolling/"  # Prefix of icons that are Knolling's
FRONT = "front"  # The variant that is painted over what is inside
OVERLAY_STATES = ("wet", "dirty", "rusty", "broken", "burning", "melting")
"""The states that are drawn over the icon of any class."""

_CLASS_KEYS = frozenset(
    {"icon", "tint", "variants", "shows", "also", "undrawable", "length", "any_size", "glow", "lying"}
    | {"on", "carrier", "inside", "container", "front", "hold", "poses"}
)
_MOVING_STATES = frozenset({"broken", "burning", "melting"})
_WORD_KEYS = frozenset({"undrawable", "removes"})


class CatalogError(FormalimgError):
    """An invalid catalog file."""


Hands = tuple[tuple[float, float], ...]  # Where things are held, as fractions of a box


@dataclass(frozen=True)
class DrawnClass:
    """The drawing settings of a class."""

    label: str  # the class
    icon: str  # its icon file, without `.svg`; with the prefix `knolling/` an icon of Knolling
    tint: str  # its colour where none is asked for
    variants: tuple[str, ...] = ()  # states that have an icon of their own
    shows: tuple[str, ...] = ()  # states that the plain icon shows
    # states that the icon of a state shows besides, by state
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    on: float = 0.0  # where things on it stand, as a fraction of its height from the top
    carrier: str | None = None  # the variant that is drawn when a thing is on it; None: the icon of its state
    # where things inside it are seen, as fractions of its box; None if nothing can be inside
    inside: tuple[float, float, float, float] | None = None
    container: str | None = None  # the variant that is drawn when a thing is inside it; None: the icon of its state
    front: bool = False  # whether a part of it is painted over what is inside
    # its hands or its mouth: where things that it holds are, as fractions of its box; empty: it holds nothing
    hold: Hands = ()
    poses: Mapping[str, Hands] = field(default_factory=dict)  # the same in its variants
    length: float | None = None  # its usual longest side in metres; None if nothing is known
    any_size: str | None = None  # why it has no usual size; None if it has one
    # words that it cannot have in a drawing, with the reason
    undrawable: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # flags for the renderers of states: `glow`, `lying`

    @property
    def usual_length(self) -> float | None:
        """The usual longest side in metres; None if it varies or is unknown."""
        return None if self.any_size else self.length

    def hands(self, variant: str | None) -> Hands:
        """Return the positions of objects held by the class in a variant; empty if it cannot hold any."""
        return self.hold if variant is None else self.poses.get(variant, ())

    def variant(self, states: Iterable[str], *, carries: bool = False, contains: bool = False) -> str | None:
        """Return the variant drawn for the given states and contacts; None for the plain icon."""
        special = self.container if contains and self.container else self.carrier if carries else None
        return special or next((state for state in states if state in self.variants), None)

    def paints_front(self, shape: str | None, states: Iterable[str]) -> bool:
        """Return whether the front is painted over the contents, which a shape or a moving state prevents."""
        return self.front and shape is None and not set(states) & _MOVING_STATES

    def shown_states(self, states: Iterable[str], *, carries: bool = False, contains: bool = False) -> tuple[str, ...]:
        """Return all states shown by the drawing, whether drawn over the icon or part of it."""
        variant = self.variant(states, carries=carries, contains=contains)
        drawn_over = [state for state in states if state not in (*self.variants, *self.shows)]
        visible = self.shows if variant is None else (variant, *self.also.get(variant, ()))
        return tuple(dict.fromkeys([*drawn_over, *visible]))


@dataclass(frozen=True)
class DrawnWord:
    """The drawing limitations of a word."""

    always: str | None = None  # why it can never be drawn; None if it can
    # other words of the same object (its class, colour, …) with which it cannot be drawn, with the reason
    beside: Mapping[str, str] = field(default_factory=dict)
    removes: tuple[str, ...] = ()  # kinds of words that cannot be seen beside it


@dataclass(frozen=True)
class DrawnCatalog:
    """All drawable classes and words, and the folder of their icons."""

    classes: Mapping[str, DrawnClass]
    words: Mapping[tuple[str, str], DrawnWord]
    icons_folder: Any  # a Traversable, which is not declared hashable

    def icon(self, label: str, variant: str | None = None) -> Icon | None:
        """Return the icon of a class or of one of its variants; None if there is none."""
        name = self.entry(label).icon
        if name.startswith(KNOLLING) and variant is None:
            return icons().get(name.removeprefix(KNOLLING))
        stem = name.removeprefix(KNOLLING) if variant is None else f"{name.removeprefix(KNOLLING)}@{variant}"
        return _load_icon(self.icons_folder, stem.replace(" ", "_"))

    def entry(self, label: str) -> DrawnClass:
        """Return the drawing settings of a class."""
        drawn_class = self.classes.get(label)
        if drawn_class is None:
            raise CatalogError(f"there is no drawing of {label!r}: ask why_not_drawable before drawing")
        return drawn_class

    def word(self, kind: str, word: str) -> DrawnWord:
        """Return the limitations of a word; none for an unknown word."""
        return self.words.get((kind, word), _NO_LIMITS)


_NO_LIMITS = DrawnWord()


@cache
def drawn_catalog() -> DrawnCatalog:
    """Load the built-in catalog of drawn worlds."""
    folder = files("formalimg.drawing")
    return read_catalog(folder / "catalog.d", folder / "icons")


def read_catalog(folder: Traversable, icons_folder: Traversable) -> DrawnCatalog:
    """Read all TOML files in a folder as one catalog."""
    classes: dict[str, dict[str, Any]] = {}
    words: dict[tuple[str, str], DrawnWord] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".toml"):
            continue
        for kind, rows in tomllib.loads(file.read_text(encoding="utf-8")).items():
            for word, row in rows.items():
                allowed = _CLASS_KEYS if kind == "class" else _WORD_KEYS if kind in WORD_KINDS else ()
                if unknown := set(row).difference(allowed):
                    raise CatalogError(f"catalog.d/{file.name}: [{kind}.{word}] cannot have {min(unknown)!r}")
                if kind == "class":
                    _merge(classes.setdefault(word, {}), row, f"catalog.d/{file.name}: [class.{word}]")
                else:
                    words[kind, word] = _word(row, words.get((kind, word), _NO_LIMITS))
    drawn = {label: _class(label, row, icons_folder) for label, row in classes.items() if set(row) != {"length"}}
    return DrawnCatalog(drawn, words, icons_folder)


def _merge(settings: dict[str, Any], row: Mapping[str, Any], source: str) -> None:
    """Merge the settings of a class from another file, combining lists and tables and rejecting conflicting values."""
    for key, value in row.items():
        if key not in settings:
            settings[key] = value
        elif isinstance(value, list) and key in ("variants", "shows"):
            settings[key] = [*settings[key], *value]
        elif isinstance(value, dict):
            settings[key] = {**settings[key], **value}
        elif settings[key] != value:
            raise CatalogError(f"{source} has two values of {key!r}")


def _class(label: str, row: Mapping[str, Any], icons_folder: Traversable) -> DrawnClass:
    undrawable = row.get("undrawable", {})
    tint = row.get("tint", "gray")
    if tint not in {**palette().colors, **palette().others}:
        raise CatalogError(f"the tint {tint!r} of {label!r} is no colour of the palette")
    icon = row.get("icon", label)
    stem = icon.removeprefix(KNOLLING).replace(" ", "_")
    height = row.get("on", 0.0)
    inside = row.get("inside")
    return DrawnClass(
        label,
        icon,
        tint,
        tuple(row.get("variants", ())),
        tuple(row.get("shows", ())),
        {state: tuple(more) for state, more in row.get("also", {}).items()},
        float(height[0] if isinstance(height, list) else height),
        row.get("carrier"),
        inside and tuple(map(float, inside)),
        row.get("container"),
        row.get("front", (icons_folder / f"{stem}@{FRONT}.svg").is_file()),
        _hands(row.get("hold", [])),
        {variant: _hands(points) for variant, points in row.get("poses", {}).items()},
        row.get("length"),
        row.get("any_size"),
        {"": undrawable} if isinstance(undrawable, str) else dict(undrawable),
        {key: row[key] for key in ("glow", "lying") if key in row},
    )


def _hands(value: list[Any]) -> Hands:
    points = value if value and isinstance(value[0], list) else [value] if value else []
    return tuple((float(x), float(y)) for x, y in points)


def _word(row: Mapping[str, Any], previous: DrawnWord) -> DrawnWord:
    undrawable = row.get("undrawable", {})
    always = undrawable if isinstance(undrawable, str) else previous.always
    beside = {**previous.beside, **({} if isinstance(undrawable, str) else undrawable)}
    return DrawnWord(always, beside, tuple(dict.fromkeys([*previous.removes, *row.get("removes", ())])))


@cache
def _load_icon(folder: Any, stem: str) -> Icon | None:
    file = folder / f"{stem}.svg"
    return read_icon(stem.replace("_", " "), file.read_text("utf-8")) if file.is_file() else None
