"""Bound concepts as a short paragraph, as somebody would describe the image: each concept once, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from formalimg.suites.conceptmix.spec import Binding, BindingError, BoundConcept, Category
from formalimg.suites.conceptmix.vocabulary import Adjective, SpokenThing, entry, listed, phrase_of, things_of, with_a

_LONG_LIST = 3
_MANY_ADJECTIVES = 3


def realize(concepts: Sequence[BoundConcept], binding: Binding, chance: random.Random) -> str:
    """The prompt for bound concepts.

    Args:
        concepts: the concepts with the objects they are about.
        binding: all objects with their attributes, those that somebody added too, and the relations, all closed.
        chance: decides between ways to say the same.

    Raises:
        BindingError: if a relation is still open.
    """
    if binding.is_open:
        raise BindingError("a relation is still open: complete the binding before it is put into words")
    asked = {number for one in concepts if one.concept.category == "object" for number in one.objects}
    styles = list(dict.fromkeys(one.concept.value for one in concepts if one.concept.category == "style"))
    return _Paragraph(things_of(binding), asked, chance).tell(_placings(binding), styles)


@dataclass(frozen=True)
class _Placing:
    """One relation: who is where, and the words for it."""

    name: str
    phrase: str
    who: int
    whom: int


def _placings(binding: Binding) -> list[_Placing]:
    """The relations in an order in which each speaks of something known already, as far as there is one."""
    left = [
        _Placing(one.name, phrase_of(one.name, one.description), one.first or 0, one.second or 0)
        for one in binding.relations
    ]
    told: list[_Placing] = []
    known: set[int] = set()
    while left:
        best = next((one for one in left if told and one.who == told[-1].who), None)
        best = best or next((one for one in left if {one.who, one.whom} & known), left[0])
        left.remove(best)
        told.append(best)
        known |= {best.who, best.whom}
    return told


@dataclass
class _Paragraph:
    things: dict[int, SpokenThing]
    asked: set[int]
    chance: random.Random
    sentences: list[str] = field(default_factory=list)
    known: list[int] = field(default_factory=list)
    held_back: dict[int, tuple[Adjective, ...]] = field(default_factory=dict)

    def tell(self, placings: Sequence[_Placing], styles: Sequence[str]) -> str:
        style = styles[0] if len(styles) == 1 else None
        ending = self._ending(styles)
        begins_with_style = style is not None and self.chance.random() < 0.75
        opening = style if begins_with_style else None
        for group in self._grouped(placings):
            self._say_placings(group, opening)
            opening = None
        placed = {number for one in placings for number in (one.who, one.whom)}
        alone = [number for number in self.things if number not in placed]
        for start in range(0, len(alone), _LONG_LIST):
            self._say_presence(alone[start : start + _LONG_LIST], opening)
            opening = None
        if ending and not begins_with_style:
            self.sentences.append(ending)
        return " ".join(f"{text[0].upper()}{text[1:]}." for text in self.sentences)

    # --- sentences

    def _say_placings(self, group: Sequence[_Placing], style: str | None) -> None:
        """A sentence on where one thing is; the group is about one subject."""
        who = self.things[group[0].who]
        frame = self.chance.choice(self._frames(group, style))
        if frame == "front":
            where = self._where(group, last=False)
            self._sentence(f"{where} {who.are} {self._name(who, may_trail=True)}")
        else:
            subject = self._name(who, may_trail=frame == "is")
            where = self._where(group, last=True)
            self._sentence(self._framed(frame, subject, who, where, style))

    def _frames(self, group: Sequence[_Placing], style: str | None) -> list[str]:
        """The ways to say where one thing is; the likely ones several times."""
        frames = ["is"]
        if group[0].who in self.known:
            return frames
        if style is None and len(group) == 1:
            frames += ["there"] + ["front"] * (3 if group[0].whom in self.known else 1)
        if not self.sentences:
            # In "a sketch of a kite above a cat, without touching it" the sketch could be what does not touch.
            hangs = any("aside" in entry("spatial", one.name) for one in group)
            frames += ["there"] if hangs else ["there", "shows"]
            frames += ["of"] if style is None or (_has_image(style) and not hangs) else []
        return frames

    def _framed(self, frame: str, subject: str, who: SpokenThing, where: str, style: str | None) -> str:
        image = with_a(_image(style)) if style is not None else None
        if frame == "shows":
            return f"{image or 'the picture'} shows {subject} {where}"
        if frame == "of":
            return f"{image} of {subject} {where}" if image else f"{subject} {where}"
        told = f"there {who.are} {subject} {where}" if frame == "there" else f"{subject} {who.are} {where}"
        return f"in {image}, {told}" if image else told

    def _say_presence(self, numbers: Sequence[int], style: str | None) -> None:
        """A sentence that there are such things."""
        # What is described behind its name comes first, so that nobody takes the description for that of all.
        things = sorted((self.things[number] for number in numbers), key=lambda thing: not thing.trails)
        names = [self._name(one, may_trail=len(things) == 1, aside=self._usual(one)) for one in things]
        all_of_them, many = listed(names), len(things) > 1 or things[0].many
        also = "also " if self.sentences else ""
        image = with_a(_image(style)) if style is not None else None
        ways = [f"{image or 'the picture'} {also}shows {all_of_them}"]
        if image is None:
            ways.append(f"{all_of_them} {'are' if many else 'is'} {also}in the picture")
        elif style is not None and _has_image(style):
            ways.append(f"{image} of {all_of_them}")
        if len(things) == 1:
            there = f"there {things[0].are} {also}{all_of_them}"
            ways.append(f"in {image}, {there}" if image else f"{there} in the picture")
        if image is None and not also:
            ways += [all_of_them, f"a picture of {all_of_them}"]
        self._sentence(self.chance.choice(ways))

    def _sentence(self, text: str) -> None:
        self.sentences.append(text)
        for number, adjectives in self.held_back.items():
            thing, being = self.things[number], sorted((one.being for one in adjectives), key=lambda text: " " in text)
            self.sentences.append(f"{self._known_name(thing)} {thing.are} {listed(being)}")
        self.held_back.clear()

    def _ending(self, styles: Sequence[str]) -> str | None:
        if len(styles) > 1:
            return f"the style of the picture is {'both ' if len(styles) == 2 else ''}{listed(styles)}"
        return f"the picture is {being_of(styles[0])}" if styles else None

    # --- parts of sentences

    def _grouped(self, placings: Sequence[_Placing]) -> list[list[_Placing]]:
        """Two short relations of the same thing may share a sentence."""
        groups: list[list[_Placing]] = []
        for one in placings:
            last = groups[-1] if groups else []
            short = all(map(_is_short, (*last, one)))
            if len(last) == 1 and last[0].who == one.who and short and self.chance.random() < 0.6:
                last.append(one)
            else:
                groups.append([one])
        return groups

    def _where(self, group: Sequence[_Placing], *, last: bool) -> str:
        return " and ".join(self._place(one, last=last and one is group[-1]) for one in group)

    def _place(self, placing: _Placing, *, last: bool) -> str:
        whom = self.things[placing.whom]
        aside = entry("spatial", placing.name).get("aside", "").format(it=whom.it)
        name = self._name(whom, may_trail=last and not aside)
        if not aside:
            return f"{placing.phrase} {name}"
        return f"{placing.phrase} {name}, {aside}" + ("" if last else ",")

    def _usual(self, thing: SpokenThing) -> str:
        """Something that was added and has no place of its own is there to compare sizes with."""
        return "" if thing.id in self.asked else " of normal size"

    def _name(self, thing: SpokenThing, *, may_trail: bool, aside: str = "") -> str:
        """A thing by its name: in full the first time."""
        if thing.id in self.known:
            return self._known_name(thing)
        another = any(self.things[number].item == thing.item for number in self.known)
        self.known.append(thing.id)
        adjectives = thing.adjectives
        if len(adjectives) >= _MANY_ADJECTIVES and self.chance.random() < 0.6:
            later = self.chance.sample(range(len(adjectives)), self.chance.choice((1, 2)))
            self.held_back[thing.id] = tuple(adjectives[place] for place in sorted(later))
        without = {one.category for one in self.held_back.get(thing.id, ())}
        after = self._trailing([one for one in adjectives if one.category not in without]) if may_trail else None
        return thing.new(after=after, without=without, another=another) + aside

    def _trailing(self, adjectives: Sequence[Adjective]) -> Category | None:
        """The attribute that is said behind the noun this time."""
        able = [one.category for one in adjectives if one.after and one.before]
        likely = 0.8 if len(adjectives) >= _MANY_ADJECTIVES else 0.3
        return self.chance.choice(able) if able and self.chance.random() < likely else None

    def _known_name(self, thing: SpokenThing) -> str:
        alike = [number for number in self.known if self.things[number].item == thing.item]
        if len(alike) == 1:
            return f"the {thing.noun}"
        mark = "other" if len(alike) == 2 and alike.index(thing.id) else _ordinal(alike.index(thing.id) + 1)
        return f"the {mark} {thing.noun}"


def _is_short(placing: _Placing) -> bool:
    """Is it one of our relations, and nothing has to be added to its words?"""
    known = entry("spatial", placing.name)
    return "phrase" in known and "aside" not in known


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def _has_image(style: str) -> bool:
    """Is there a name for an image of the style? "An image in the style of art deco of a car" is no English."""
    return "picture" in entry("style", style)


def _image(style: str) -> str:
    return str(entry("style", style).get("picture", f"picture in the style of {style}"))


def being_of(style: str) -> str:
    """What an image of a style is, behind "the image is"."""
    return str(entry("style", style).get("being", f"in the style of {style}"))
