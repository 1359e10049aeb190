"""Prompt realization: a short paragraph that states each bound concept exactly once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from formalimg.benchmarks.conceptmix.phrasing import (
    BE,
    PlacedRelation,
    Verb,
    find_airborne,
    find_other_name,
    find_placements,
    find_poses,
    group_relations,
    has_image_noun,
    order_relations,
    phrasing_tables,
    pick_image,
    pick_manner,
    style_predicate,
    vary_attributes,
)
from formalimg.benchmarks.conceptmix.plausibility import bound_relations
from formalimg.benchmarks.conceptmix.spec import Binding, BindingError, BoundConcept
from formalimg.benchmarks.conceptmix.words import (
    AttributePhrase,
    ObjectPhrase,
    is_person,
    join_list,
    lexicon_entry,
    object_phrases,
    plural_of,
    with_a,
)

_LONG_LIST = 3
_MANY_ADJECTIVES = 3
_LONG_SENTENCE = 22  # Sentences that have more words together are not joined


def write_prompt(concepts: Sequence[BoundConcept], binding: Binding, rng: random.Random) -> str:
    """Return the prompt for bound concepts and a complete binding."""
    if binding.is_open:
        raise BindingError("a relation is still open: complete the binding before writing the prompt")
    styles = list(dict.fromkeys(bound.concept.value for bound in concepts if bound.concept.category == "style"))
    nouns = {number: vary_attributes(obj, rng) for number, obj in object_phrases(binding).items()}
    return _PromptWriter(nouns, find_airborne(bound_relations(binding.relations)), rng).write(
        order_relations(binding), styles
    )


@dataclass
class _Sentence:
    """An unpunctuated sentence, the objects it names, and whether it can be joined with another."""

    text: str
    objects: tuple[int, ...]
    is_clause: bool


@dataclass(frozen=True)
class _Opening:
    """How the opening sentence expresses the style: by a noun for the image, or by a phrase of manner."""

    image: str = ""
    manner: str = ""
    has_noun: bool = True


@dataclass
class _PromptWriter:
    nouns: dict[int, ObjectPhrase]
    airborne: frozenset[int]
    rng: random.Random
    sentences: list[_Sentence] = field(default_factory=list)
    introduced: list[int] = field(default_factory=list)
    placed: set[int] = field(default_factory=set)
    mentions: list[int] = field(default_factory=list)
    deferred: dict[int, tuple[AttributePhrase, ...]] = field(default_factory=dict)
    names: dict[int, str | None] = field(default_factory=dict)  # what else an object is called, once and for all

    def write(self, relations: Sequence[PlacedRelation], styles: Sequence[str]) -> str:
        style = styles[0] if len(styles) == 1 else None
        begins_with_style = style is not None and self.rng.random() < 0.75
        opening = None
        if begins_with_style and style is not None:
            manner = pick_manner(style, self.rng)
            if manner.startswith("in ") and self.rng.random() < 0.4:
                opening = _Opening(manner=manner)
            else:
                opening = _Opening(image=with_a(pick_image(style, self.rng)), has_noun=has_image_noun(style))
        for group in group_relations(relations, self.rng):
            self._add_relations(group, opening)
            opening = None
        related = {number for relation in relations for number in (relation.subject, relation.reference)}
        alone = [number for number in self.nouns if number not in related]
        for start in range(0, len(alone), _LONG_LIST):
            self._add_presence(alone[start : start + _LONG_LIST], opening)
            opening = None
        if styles and not begins_with_style:
            self.sentences.append(_Sentence(self._style_sentence(styles), (), is_clause=False))
        return " ".join(f"{text[0].upper()}{text[1:]}." for text in self._joined())

    # --- sentences

    def _add_relations(self, group: Sequence[PlacedRelation], opening: _Opening | None) -> None:
        subject = self.nouns[group[0].subject]
        again = subject.id in self.placed
        frame = self.rng.choice(self._frames(group, opening))
        self.placed.add(subject.id)
        if frame == "front":
            stands = self._pick_verb(subject, group, front=True, again=False).agree(plural=subject.is_plural)
            position = self._where(group, last=False)
            self._add(f"{position} {stands} {self._introduce(subject, may_trail=True)}", is_clause=False)
            return
        verb = BE if frame == "seen" else self._pick_verb(subject, group, front=False, again=again)
        name = self._introduce(subject, may_trail=frame == "is")
        position = self._where(group, last=True)
        if frame == "is" and again and verb == BE:
            position = f"also {position}"
        self._add(*self._framed(frame, name, subject, verb, position, opening))

    def _frames(self, group: Sequence[PlacedRelation], opening: _Opening | None) -> list[str]:
        """Return the sentence frames for the position of one object; repeated frames are more likely."""
        frames = ["is", "is"]
        if group[0].subject in self.introduced:
            return frames
        # In "there is a man painted red all over outside a house" the house could be what is painted.
        if self.nouns[group[0].subject].has_postmodifier:
            return frames
        if opening is None and len(group) == 1:
            frames += ["there"] + ["front"] * (3 if group[0].reference in self.introduced else 2)
        if not self.sentences:
            # In "a sketch of a kite above a cat, without touching it" the sketch could be what does not touch.
            hangs = any("aside" in lexicon_entry("spatial", relation.name) for relation in group)
            frames += ["there"] if hangs else ["there", "shows"]
            if opening is None:
                frames += ["of"] if hangs else ["of", "seen"]
            elif opening.image and opening.has_noun and not hangs:
                frames += ["of"]
        return frames

    def _framed(
        self, frame: str, name: str, subject: ObjectPhrase, verb: Verb, position: str, opening: _Opening | None
    ) -> tuple[str, bool]:
        holding = f"{name} {verb.participle} {position}".replace("  ", " ")
        image = opening.image if opening else ""
        if frame == "shows":
            return self._led(f"{image or f'the {self._image()}'} {self._shows()} {holding}", opening), False
        if frame == "of":
            if image:
                return f"{image} of {holding}", False
            plain = with_a(self.rng.choice(phrasing_tables()["openings"]["plain_images"]))
            bare = "," in position or self.rng.random() < 0.5
            return self._led(holding if bare else f"{plain} of {holding}", opening), False
        if frame == "seen":
            return f"{self.rng.choice(phrasing_tables()['openings']['seeing'])} {holding}", False
        clause = f"{name} {verb.agree(plural=subject.is_plural)} {position}"
        if frame == "there":
            clause = f"there {subject.are} {holding}"
        if image:
            return f"in {image}, {clause}", True
        if opening is None and not self.sentences and self.rng.random() < 0.25:
            opener = self.rng.choice(phrasing_tables()["openings"]["here"])
            return f"{opener.format(image=self._image())}, {clause}", True
        return self._led(clause, opening), True

    def _led(self, text: str, opening: _Opening | None) -> str:
        """Return a sentence preceded by the opening's phrase of manner, if any."""
        if opening is None or not opening.manner:
            return text
        if text.startswith("the ") and self.rng.random() < 0.6:
            return f"{self.rng.choice(phrasing_tables()['made']['makings'])} {opening.manner}, {text}"
        return f"{opening.manner}, {text}"

    def _add_presence(self, numbers: Sequence[int], opening: _Opening | None) -> None:
        # Objects with a postmodifier come first, so that it is not read as describing all of them.
        objects = sorted((self.nouns[number] for number in numbers), key=lambda obj: not obj.has_postmodifier)
        plural = len(objects) > 1 or objects[0].is_plural
        first, *others = (find_poses(obj.item, "", airborne=False) for obj in objects)
        shared = [verb for verb in first if all(verb in poses for poses in others)]
        pose = self.rng.choice(shared) if shared else None
        if self.sentences:
            ways = list(phrasing_tables()["presence"]["also"])
            if pose and pose.is_one_word:
                ways += [f"{{all}} also {pose.agree(plural=plural)} in the {{image}}"] * 3
        else:
            ways = self._first_presences(objects, opening, pose)
        frame = self.rng.choice(ways)
        names = [self._introduce(obj, may_trail=len(objects) == 1 and frame.endswith("{all}")) for obj in objects]
        words = {
            "all": join_list(names),
            "first": names[0],
            "rest": join_list(names[1:]),
            "are": "are" if (plural if "{all}" in frame or len(objects) == 1 else objects[0].is_plural) else "is",
            "image": self._image(),
            "styled": opening.image if opening else "",
            "shows": self._shows(),
            **{
                verb: verb if (plural and "{all}" in frame) or objects[0].is_plural else f"{verb}s"
                for verb in ("appear", "belong", "complete", "feature", "share")
            },
        }
        self._add(self._led(frame.format(**words), opening), is_clause=False)

    def _first_presences(
        self, objects: Sequence[ObjectPhrase], opening: _Opening | None, pose: Verb | None
    ) -> list[str]:
        """Return the frames for a first sentence that only states which objects are present."""
        presence, openings = phrasing_tables()["presence"], phrasing_tables()["openings"]
        plural = len(objects) > 1 or objects[0].is_plural
        together = self.rng.sample(presence["together"], 3) if len(objects) > 1 else []
        existence = f"there {objects[0].are} {{all}}"
        if opening and opening.image:
            # "An image in the style of art deco of a car" is not English.
            ways = ["{styled} {shows} {all}"] * 2
            ways += ["{styled} of {all}"] * 2 if opening.has_noun else [f"in {{styled}}, {existence}"]
            ways += [f"in {{styled}}, {frame}" for frame in (existence, *together) if "{first}, " not in frame]
            stand = [f"in {{styled}} {pose.agree(plural=plural)} {{all}}"] if pose and pose.is_one_word else []
            return [*ways, *stand]
        ways = ["the {image} {shows} {all}"] * 2
        ways += [f"{{all}} {{are}} {self.rng.choice(presence['are'])}"] * 2
        ways += [self.rng.choice(presence["whole"]), f"{existence} in the {{image}}"]
        ways += [frame for frame in together if "{first}, " not in frame]
        if opening:  # a manner, which stands before a whole sentence
            return ways
        opener = self.rng.choice(openings["here"])
        ways += [f"{opener}, {existence}", *(frame for frame in together if "{first}, " in frame)]
        if pose:
            ways += [f"{{all}} {pose.agree(plural=plural)} in the {{image}}"]
            ways += [f"in the {{image}} {pose.agree(plural=plural)} {{all}}"] if pose.is_one_word else []
        plain = with_a(self.rng.choice(openings["plain_images"]))
        return [*ways, "{all}", f"{plain} of {{all}}", f"{self.rng.choice(openings['seeing'])} {{all}}"]

    def _add(self, text: str, is_clause: bool) -> None:
        self.sentences.append(_Sentence(text, tuple(dict.fromkeys(self.mentions)), is_clause))
        self.mentions.clear()
        for number, adjectives in self.deferred.items():
            obj = self.nouns[number]
            being = sorted((adjective.predicate for adjective in adjectives), key=lambda words: " " in words)
            alone = self.sentences[-1].objects == (number,)
            name = obj.they if alone and self.rng.random() < 0.5 else self._refer_back(obj)
            self.sentences.append(_Sentence(f"{name} {obj.are} {join_list(being)}", (number,), is_clause=False))
        self.deferred.clear()
        self.mentions.clear()

    def _joined(self) -> list[str]:
        """Return the sentences as text, with some short ones joined in pairs."""
        texts: list[str] = []
        before: _Sentence | None = None  # the last one, if it may be joined with the next
        for sentence in self.sentences:
            if before and self._may_join(before, sentence) and self.rng.random() < 0.5:
                # In "… to the left of a house, and a dog is …" the dog could be what it is to the left of, too.
                joint = "and" if sentence.text.startswith("there ") and self.rng.random() < 0.5 else "while"
                texts[-1] += f", {joint} {sentence.text}"
                before = None
                continue
            texts.append(sentence.text)
            before = sentence
        return texts

    def _may_join(self, first: _Sentence, second: _Sentence) -> bool:
        words = [*first.text.split(), *second.text.split()]
        are_clauses = first.is_clause and second.is_clause and words.count("also") < 2
        is_short = len(words) < _LONG_SENTENCE and "," not in first.text
        return are_clauses and is_short and first.objects[0] != second.objects[0]

    def _style_sentence(self, styles: Sequence[str]) -> str:
        if len(styles) > 1:
            return f"the style of the picture is {'both ' if len(styles) == 2 else ''}{join_list(styles)}"
        made = phrasing_tables()["made"]
        return str(self.rng.choice(made["sentences"])).format(
            image=self._image(),
            made=self.rng.choice(made["makings"]),
            manner=pick_manner(styles[0], self.rng),
            being=style_predicate(styles[0]),
        )

    # --- parts of sentences

    def _image(self) -> str:
        return pick_image(None, self.rng)

    def _shows(self) -> str:
        return str(self.rng.choice(phrasing_tables()["openings"]["shows"]))

    def _pick_verb(self, obj: ObjectPhrase, group: Sequence[PlacedRelation], *, front: bool, again: bool) -> Verb:
        """Choose the verb for an object's position, which is "be" once the object has been placed."""
        if again:
            return BE
        airborne = obj.id in self.airborne
        poses = [set(find_poses(obj.item, relation.name, airborne=airborne)) for relation in group]
        verbs = [
            verb for verb in find_poses(obj.item, group[0].name, airborne=airborne) if all(verb in p for p in poses)
        ]
        placements = find_placements(obj.item)
        if front:
            verbs, placements = ([verb for verb in some if verb.is_one_word] for some in (verbs, placements))
        if not verbs or self.rng.random() < 0.3:
            return self.rng.choice([BE, *placements])
        verb = self.rng.choice(verbs)
        return verb.continuous() if verb.is_one_word and not front and self.rng.random() < 0.3 else verb

    def _where(self, group: Sequence[PlacedRelation], *, last: bool) -> str:
        position = " and ".join(self._relation_phrase(relation) for relation in group)
        return position.removesuffix(",") if last else position

    def _relation_phrase(self, relation: PlacedRelation) -> str:
        """Return the phrase for a relation, deferring ambiguous modifiers of the reference object."""
        reference = self.nouns[relation.reference]
        table = phrasing_tables()["relations"].get(relation.name, {})
        phrase = self.rng.choice(table.get("phrases", [relation.phrase]))
        name = self._introduce(reference, may_trail=False, may_defer=True)
        if "asides" not in table:
            return f"{phrase} {name}"
        # An object that was placed before has told how it holds itself.
        asides = [text for text in table["asides"] if "{rests}" not in text or reference.id not in self.placed]
        aside = self.rng.choice(asides)
        if "{rests}" in aside:
            self.placed.add(reference.id)
        poses = find_poses(reference.item, "top", airborne=False) or [Verb("rests", "rest", "resting")]
        pronoun = "who" if is_person(reference.item) else "which"
        rests = self.rng.choice(poses).agree(plural=reference.is_plural)
        return f"{phrase} {name}, {aside.format(it=reference.it, who=pronoun, rests=rests)},"

    def _introduce(self, obj: ObjectPhrase, *, may_trail: bool, may_defer: bool = False) -> str:
        """Return the noun phrase for an object, in full at its first mention."""
        self.mentions.append(obj.id)
        if obj.id in self.introduced:
            return self._refer_back(obj)
        another = any(self.nouns[number].item == obj.item for number in self.introduced)
        self.introduced.append(obj.id)
        adjectives = obj.adjectives
        if may_defer and obj.has_postmodifier:
            self.deferred[obj.id] = tuple(adjective for adjective in adjectives if adjective.before is None)
        elif self.rng.random() < (0.6 if len(adjectives) >= _MANY_ADJECTIVES else 0.15 * (len(adjectives) - 1)):
            later = self.rng.sample(range(len(adjectives)), self.rng.choice((1, len(adjectives) - 1)))
            self.deferred[obj.id] = tuple(adjectives[index] for index in sorted(later))
        without = {adjective.category for adjective in self.deferred.get(obj.id, ())}
        after = None
        if may_trail:  # which attribute follows the noun, if any
            remaining = [adjective for adjective in adjectives if adjective.category not in without]
            able = [adjective.category for adjective in remaining if adjective.after and adjective.before]
            if able and self.rng.random() < (0.8 if len(remaining) >= _MANY_ADJECTIVES else 0.3):
                after = self.rng.choice(able)
        return obj.introduce(after=after, without=without, another=another)

    def _refer_back(self, obj: ObjectPhrase) -> str:
        alike = [number for number in self.introduced if self.nouns[number].item == obj.item]
        if len(alike) == 1:
            if obj.id not in self.names:
                other_items = [noun.item for noun in self.nouns.values() if noun.id != obj.id]
                self.names[obj.id] = find_other_name(obj.item, other_items) if self.rng.random() < 0.45 else None
            name = self.names[obj.id]
            return f"the {obj.noun if name is None else plural_of(name) if obj.is_plural else name}"
        mark = "other" if len(alike) == 2 and alike.index(obj.id) else _format_ordinal(alike.index(obj.id) + 1)
        return f"the {mark} {obj.noun}"


def _format_ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
