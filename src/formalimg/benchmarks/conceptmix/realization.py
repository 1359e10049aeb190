"""Prompt realization: bound concepts as a short paragraph that states each concept once, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from formalimg.benchmarks.conceptmix.spec import Binding, BindingError, BoundConcept, Category
from formalimg.benchmarks.conceptmix.words import (
    AttributePhrase,
    ObjectPhrase,
    join_list,
    lexicon_entry,
    object_phrases,
    relation_phrase,
    with_a,
)

_LONG_LIST = 3
_MANY_ADJECTIVES = 3


def realize(concepts: Sequence[BoundConcept], binding: Binding, rng: random.Random) -> str:
    """Return the prompt for bound concepts.

    Args:
        concepts: the concepts with the objects they are about.
        binding: all objects with their attributes, including added ones, and the relations, none of them open.
        rng: chooses between wordings.

    Raises:
        BindingError: if a relation is still open.
    """
    if binding.is_open:
        raise BindingError("a relation is still open: complete the binding before writing the prompt")
    styles = list(dict.fromkeys(one.concept.value for one in concepts if one.concept.category == "style"))
    return _PromptWriter(object_phrases(binding), rng).write(_ordered_relations(binding), styles)


@dataclass(frozen=True)
class _PlacedRelation:
    """One relation with its phrase, subject and reference object."""

    name: str
    phrase: str
    subject: int
    reference: int


def _ordered_relations(binding: Binding) -> list[_PlacedRelation]:
    """Return the relations in an order in which each mentions a known object, as far as possible."""
    left = [
        _PlacedRelation(one.name, relation_phrase(one.name, one.description), one.first or 0, one.second or 0)
        for one in binding.relations
    ]
    ordered: list[_PlacedRelation] = []
    known: set[int] = set()
    while left:
        best = next((one for one in left if ordered and one.subject == ordered[-1].subject), None)
        best = best or next((one for one in left if {one.subject, one.reference} & known), left[0])
        left.remove(best)
        ordered.append(best)
        known |= {best.subject, best.reference}
    return ordered


@dataclass
class _PromptWriter:
    nouns: dict[int, ObjectPhrase]
    rng: random.Random
    sentences: list[str] = field(default_factory=list)
    introduced: list[int] = field(default_factory=list)
    deferred: dict[int, tuple[AttributePhrase, ...]] = field(default_factory=dict)

    def write(self, relations: Sequence[_PlacedRelation], styles: Sequence[str]) -> str:
        style = styles[0] if len(styles) == 1 else None
        ending = self._style_sentence(styles)
        begins_with_style = style is not None and self.rng.random() < 0.75
        opening = style if begins_with_style else None
        for group in self._grouped(relations):
            self._add_relations(group, opening)
            opening = None
        placed = {number for one in relations for number in (one.subject, one.reference)}
        alone = [number for number in self.nouns if number not in placed]
        for start in range(0, len(alone), _LONG_LIST):
            self._add_presence(alone[start : start + _LONG_LIST], opening)
            opening = None
        if ending and not begins_with_style:
            self.sentences.append(ending)
        return " ".join(f"{text[0].upper()}{text[1:]}." for text in self.sentences)

    # --- sentences

    def _add_relations(self, group: Sequence[_PlacedRelation], style: str | None) -> None:
        """Add a sentence on the place of one object; the group has one subject."""
        subject = self.nouns[group[0].subject]
        frame = self.rng.choice(self._frames(group, style))
        if frame == "front":
            where = self._where(group, last=False)
            self._add_sentence(f"{where} {subject.are} {self._introduce(subject, may_trail=True)}")
        else:
            name = self._introduce(subject, may_trail=frame == "is")
            where = self._where(group, last=True)
            self._add_sentence(self._framed(frame, name, subject.are, where, style))

    def _frames(self, group: Sequence[_PlacedRelation], style: str | None) -> list[str]:
        """Return the sentence frames for the place of one object; likely ones occur several times."""
        frames = ["is"]
        if group[0].subject in self.introduced:
            return frames
        # In "there is a man painted red all over outside a house" the house could be what is painted.
        if self.nouns[group[0].subject].has_postmodifier:
            return frames
        if style is None and len(group) == 1:
            frames += ["there"] + ["front"] * (3 if group[0].reference in self.introduced else 1)
        if not self.sentences:
            # In "a sketch of a kite above a cat, without touching it" the sketch could be what does not touch.
            hangs = any("aside" in lexicon_entry("spatial", one.name) for one in group)
            frames += ["there"] if hangs else ["there", "shows"]
            frames += ["of"] if style is None or (_has_image_noun(style) and not hangs) else []
        return frames

    def _framed(self, frame: str, name: str, are: str, where: str, style: str | None) -> str:
        image = with_a(_image_noun(style)) if style is not None else None
        if frame == "shows":
            return f"{image or 'the picture'} shows {name} {where}"
        if frame == "of":
            return f"{image} of {name} {where}" if image else f"{name} {where}"
        clause = f"there {are} {name} {where}" if frame == "there" else f"{name} {are} {where}"
        return f"in {image}, {clause}" if image else clause

    def _add_presence(self, numbers: Sequence[int], style: str | None) -> None:
        """Add a sentence that these objects are there."""
        # Objects with a postmodifier come first, so that it is not read as describing all of them.
        nouns = sorted((self.nouns[number] for number in numbers), key=lambda obj: not obj.has_postmodifier)
        names = [self._introduce(one, may_trail=len(nouns) == 1) for one in nouns]
        all_of_them, many = join_list(names), len(nouns) > 1 or nouns[0].is_plural
        also = "also " if self.sentences else ""
        image = with_a(_image_noun(style)) if style is not None else None
        ways = [f"{image or 'the picture'} {also}shows {all_of_them}"]
        if image is None:
            ways.append(f"{all_of_them} {'are' if many else 'is'} {also}in the picture")
        elif style is not None and _has_image_noun(style):
            ways.append(f"{image} of {all_of_them}")
        if len(nouns) == 1:
            there = f"there {nouns[0].are} {also}{all_of_them}"
            ways.append(f"in {image}, {there}" if image else f"{there} in the picture")
        if image is None and not also:
            ways += [all_of_them, f"a picture of {all_of_them}"]
        self._add_sentence(self.rng.choice(ways))

    def _add_sentence(self, text: str) -> None:
        self.sentences.append(text)
        for number, adjectives in self.deferred.items():
            obj, being = self.nouns[number], sorted((one.predicate for one in adjectives), key=lambda text: " " in text)
            self.sentences.append(f"{self._refer_back(obj)} {obj.are} {join_list(being)}")
        self.deferred.clear()

    def _style_sentence(self, styles: Sequence[str]) -> str | None:
        if len(styles) > 1:
            return f"the style of the picture is {'both ' if len(styles) == 2 else ''}{join_list(styles)}"
        return f"the picture is {style_predicate(styles[0])}" if styles else None

    # --- parts of sentences

    def _grouped(self, relations: Sequence[_PlacedRelation]) -> list[list[_PlacedRelation]]:
        """Group relations into sentences: two short relations of the same object may share one."""
        groups: list[list[_PlacedRelation]] = []
        for one in relations:
            last = groups[-1] if groups else []
            short = all(map(_is_short, (*last, one)))
            # Not "behind a spoon and to the left of the spoon".
            joint = len(last) == 1 and last[0].subject == one.subject and last[0].reference != one.reference
            if joint and short and self.rng.random() < 0.6:
                last.append(one)
            else:
                groups.append([one])
        return groups

    def _where(self, group: Sequence[_PlacedRelation], *, last: bool) -> str:
        return " and ".join(self._relation_phrase(one, last=last and one is group[-1]) for one in group)

    def _relation_phrase(self, relation: _PlacedRelation, *, last: bool) -> str:
        reference = self.nouns[relation.reference]
        aside = lexicon_entry("spatial", relation.name).get("aside", "").format(it=reference.it)
        name = self._introduce(reference, may_trail=last and not aside)
        if not aside:
            return f"{relation.phrase} {name}"
        return f"{relation.phrase} {name}, {aside}" + ("" if last else ",")

    def _introduce(self, obj: ObjectPhrase, *, may_trail: bool) -> str:
        """Return the name of an object: the full noun phrase the first time."""
        if obj.id in self.introduced:
            return self._refer_back(obj)
        another = any(self.nouns[number].item == obj.item for number in self.introduced)
        self.introduced.append(obj.id)
        adjectives = obj.adjectives
        if len(adjectives) >= _MANY_ADJECTIVES and self.rng.random() < 0.6:
            later = self.rng.sample(range(len(adjectives)), self.rng.choice((1, 2)))
            self.deferred[obj.id] = tuple(adjectives[place] for place in sorted(later))
        without = {one.category for one in self.deferred.get(obj.id, ())}
        after = (
            self._pick_postmodifier([one for one in adjectives if one.category not in without]) if may_trail else None
        )
        return obj.introduce(after=after, without=without, another=another)

    def _pick_postmodifier(self, adjectives: Sequence[AttributePhrase]) -> Category | None:
        """Choose the attribute that follows the noun this time."""
        able = [one.category for one in adjectives if one.after and one.before]
        likely = 0.8 if len(adjectives) >= _MANY_ADJECTIVES else 0.3
        return self.rng.choice(able) if able and self.rng.random() < likely else None

    def _refer_back(self, obj: ObjectPhrase) -> str:
        alike = [number for number in self.introduced if self.nouns[number].item == obj.item]
        if len(alike) == 1:
            return f"the {obj.noun}"
        mark = "other" if len(alike) == 2 and alike.index(obj.id) else _ordinal(alike.index(obj.id) + 1)
        return f"the {mark} {obj.noun}"


def _is_short(relation: _PlacedRelation) -> bool:
    """Return whether it is a built-in relation without an aside."""
    known = lexicon_entry("spatial", relation.name)
    return "phrase" in known and "aside" not in known


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def _has_image_noun(style: str) -> bool:
    """Return whether a style has a noun for its images. "An image in the style of art deco of a car" is not English."""
    return "picture" in lexicon_entry("style", style)


def _image_noun(style: str) -> str:
    return str(lexicon_entry("style", style).get("picture", f"picture in the style of {style}"))


def style_predicate(style: str) -> str:
    """Return what an image of a style is, after "the image is"."""
    return str(lexicon_entry("style", style).get("being", f"in the style of {style}"))
