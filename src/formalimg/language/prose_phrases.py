"""Read properties, relations and noun modifiers in prose.

Text is refused if English leaves open which object a phrase modifies. In "a cup on a table next to a lamp", either may
be beside the lamp; a cat that "sits" on a rug may be sitting or merely be there. A phrase after the last of several
objects is read only if it can apply to this object alone: in "a man holding a plate with a spoon on it", the spoon is
on the plate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from formalimg.language.phrase_parser import MAX_DEPTH
from formalimg.language.prose_draft import ProseObject
from formalimg.language.prose_lexicon import RelationPhrase
from formalimg.language.prose_nouns import OBJECT_PRONOUNS, POSSESSIVES, AmbiguousTextError, ProseNouns

QUANTIFIERS = ("every", "each", "all")
BE = ("is", "are")
HAVE = ("has", "have")
JOINTS = (", and", ",", "and")
_ONE_FOR_EACH = ("On", "In", "NextTo")  # Relations in which "a cup next to every plate" can mean a cup for each plate
_POSTURES = ("sitting", "standing", "lying", "kneeling")


class PropertyRead(NamedTuple):
    """The object named by a property, whether a pronoun was used and whether the object has modifiers."""

    named: ProseObject | None = None
    pronoun: bool = False
    modified: bool = False


class ProsePhrases(ProseNouns):
    """Reads properties and modifiers."""

    _depth = 0

    # --- properties

    def starts_property(self) -> bool:
        return self.reader.peek(self._take_property_start)

    def _take_property_start(self) -> bool:
        self.skip_adverbs()
        if self.is_next(lambda: self.take_any("finite")):
            return False
        if self.is_next(self.take_place) or self.is_next(self.take_near):
            return True
        for meanings in (self.prose.relations, self.prose.alignments, self.prose.words.after):
            if self.reader.take_meaning(meanings) is not None:
                return True
        return False

    def read_properties(self, subjects: Sequence[ProseObject], referent: ProseObject | None = None) -> None:
        """Read a list of properties. "it" refers to the last object, initially `referent`."""
        read = self.read_property(subjects, referent, several=True)
        while True:
            referent = read.named or referent
            position = self.reader.position
            joint = self.reader.take_one_of(JOINTS)
            verb = self.reader.take_one_of(BE)
            if joint is None or not self.starts_property():
                self.reader.position = position
                return
            if not verb:
                # ", above the cup" may follow a place, but after an object it may be the place of that object.
                is_bare = joint == "," and self.is_next(lambda: self.reader.take_meaning(self.prose.relations))
                self._refuse_unclear(subjects[0], read, joined=not is_bare)
            read = self.read_property(subjects, referent, several=True)

    def read_property(
        self, subjects: Sequence[ProseObject], referent: ProseObject | None, *, several: bool = False
    ) -> PropertyRead:
        """Read one property of all subjects. If `several`, a relation may have several objects."""
        self.skip_adverbs()
        sides = self.take_place()
        if sides is not None:
            self.claim(subjects, *((side,) for side in sides))
            return PropertyRead()
        alignment = self.reader.take_meaning(self.prose.alignments)
        if alignment is not None:
            return self._read_alignment(alignment, subjects, referent)
        if self.is_next(self.take_near) or self.is_next(lambda: self.reader.take_meaning(self.prose.relations)):
            return self.read_relation(subjects, referent, several=several)
        state = self.reader.take_meaning(self.prose.words.after)
        if state is None:
            self.reader.fail("an attribute, a place or a relation")
        for subject in subjects:
            if state.word in _POSTURES and not (several and self.prose.is_living(subject.noun)):
                raise unclear(f"'{state.after}' may be the state of the {subject.noun.text} or only its place")
        self.claim(subjects, (state.predicate, state.word))
        if state.word.endswith("ing") and self.starts_property():
            return self.read_property(subjects, referent, several=several)
        return PropertyRead()

    def read_relation(
        self,
        subjects: Sequence[ProseObject],
        referent: ProseObject | None,
        *,
        several: bool = False,
        to_it: bool = False,
    ) -> PropertyRead:
        """Read a relation and its object. If `to_it`, the object must be a pronoun."""
        self.take_any("adverbs")
        near = self.read_near(referent)
        if near is not None:
            self.relate(near[0], subjects, near[1])
            return PropertyRead(near[1], pronoun=True)
        phrase = self.reader.take_meaning(self.prose.relations)
        if phrase is None:
            self.reader.fail("a relation")
        for subject in subjects:
            if not self._fits(phrase, subject):
                raise unclear(f"it is not clear how a {subject.noun.text} holds, wears or contains something")
        quantifier = None if to_it else self.reader.take_one_of(QUANTIFIERS)
        if quantifier:
            if not phrase.reverse and phrase.predicate in _ONE_FOR_EACH:
                raise unclear("there may be one thing for all of them or one for each")
            universal, outer_rule = self.read_universal(quantifier), self.rule
            self.rule = universal.rule
            self.relate(phrase, subjects, universal)
            self.rule = outer_rule
            return PropertyRead()
        named = self.read_pronoun(OBJECT_PRONOUNS, referent)
        if named is None and to_it:
            self.reader.fail("a pronoun")
        read = PropertyRead(named, pronoun=True) if named else self._read_related(subjects)
        assert read.named is not None
        if phrase.predicate == "In" and any(self.prose.wears(subject.noun, read.named.noun) for subject in subjects):
            raise unclear(f"who is in the {read.named.noun.text} may wear it")
        self.relate(phrase, subjects, read.named)
        while several and self.reader.sees("and") and (further := self.attempt(lambda: self._read_further(subjects))):
            self.relate(phrase, subjects, further)
        return read

    def read_near(self, referent: ProseObject | None) -> tuple[RelationPhrase, ProseObject] | None:
        """Read a phrase such as "to its left", if present, and return the relation and its object."""
        if not self.is_next(self.take_near):
            return None
        self.reader.expect("to", "on")
        named = self.read_pronoun(POSSESSIVES, referent)
        assert named is not None
        return RelationPhrase("LeftOf" if self.reader.expect("left", "right") == "left" else "RightOf"), named

    def _read_further(self, subjects: Sequence[ProseObject]) -> ProseObject:
        """Read another object of the same relation, unless it is the subject of the next clause."""
        self.reader.expect("and")
        if not self.starts_noun():
            self.reader.fail("an object")
        read = self._read_related(subjects)
        if self.sees_verb() or self.starts_property() or read.modified or read.named is None:
            self.reader.fail("an object and nothing more")
        return read.named

    def _read_related(self, subjects: Sequence[ProseObject]) -> PropertyRead:
        """Read the object of a relation, including modifiers that can only apply to this object."""
        if self._depth == MAX_DEPTH:
            self.reader.fail("no further object inside one phrase")
        obj = self.read_noun()
        self._depth += 1
        try:
            return PropertyRead(obj, modified=self._read_inner_modifier(obj, subjects))
        finally:
            self._depth -= 1

    def relate(self, phrase: RelationPhrase, subjects: Sequence[ProseObject], obj: ProseObject) -> None:
        for subject in subjects:
            if subject == obj:
                self.reader.fail("an object other than the subject")
            first, second = (obj, subject) if phrase.reverse else (subject, obj)
            self.draft.add(self.rule, first.variable, phrase.predicate, second.variable)

    def _read_alignment(
        self, predicate: str, subjects: Sequence[ProseObject], referent: ProseObject | None
    ) -> PropertyRead:
        """Read the words after "aligned vertically", such as "with a cup", "above a cup" or nothing."""
        if self.reader.take("with each other") or not (self.reader.sees("with") or self._starts_direction()):
            if len(subjects) < 2:
                self.reader.fail("'with' and an object")
            self.align(predicate, subjects)
            return PropertyRead()
        if self.reader.take("with"):
            named = self.read_pronoun(OBJECT_PRONOUNS, referent)
            read = PropertyRead(named, pronoun=True) if named else self._read_related(subjects)
        else:
            read = self.read_relation(subjects, referent)
        if read.named is None:
            self.reader.fail("one object")
        self.relate(RelationPhrase(predicate), subjects, read.named)
        return read

    def align(self, predicate: str, objects: Sequence[ProseObject]) -> None:
        """Align two objects. Raise an error for other numbers, for which alignment is ambiguous."""
        if any(obj.amount for obj in objects):
            raise unclear("counted objects may be aligned with each other or each with the other object")
        if len(objects) != 2:
            raise unclear(f"the {len(objects)} objects may be aligned one with the next or every one with every other")
        self.draft.add(self.rule, objects[0].variable, predicate, objects[1].variable)

    def claim(self, subjects: Sequence[ProseObject], *parts: tuple[str, ...]) -> None:
        for subject in subjects:
            for part in parts:
                self.draft.add(self.rule, subject.variable, *part)
        self.mentioned.append(subjects[-1])

    # --- what follows a noun

    def read_modifiers(self, obj: ProseObject, referent: ProseObject | None = None) -> PropertyRead | None:
        """Read the modifiers after a noun that is not the object of a relation. Return None if there are none."""
        read: PropertyRead | None = None
        while True:
            position = self.reader.position
            joined = read is not None and self.reader.take("and")
            action = self._next_action()
            if read and joined and self.starts_property() and not self.is_list_alignment():
                self._refuse_unclear(obj, read, joined=True)
                read = self.read_property([obj], read.named or referent)
            elif joined:
                self.reader.position = position
                return read
            elif self._sees_relative():
                self._refuse_unclear(obj, read, joined=False)
                self.reader.position += 1
                self.read_predicate_of_relative(obj)
                read = PropertyRead(modified=True)
            elif self.reader.sees("with"):
                is_clear = read is None or read.named is None or self.prose.is_living(read.named.noun)
                if not self.attempt(lambda is_clear=is_clear: self._read_with(obj if is_clear else None)):  # type: ignore[misc]
                    return read
                read = PropertyRead(modified=True)
            elif action if read else self.starts_property() and not self.is_list_alignment():
                self._refuse_unclear(obj, read, joined=False)
                read = self.read_property([obj], referent)
            else:
                return read

    def _read_inner_modifier(self, obj: ProseObject, around: Sequence[ProseObject]) -> bool:
        """Read modifiers after the object of a relation if they can only apply to this object."""
        action = self._next_action()
        living = [self.prose.is_living(near_obj.noun) for near_obj in (obj, *around)]
        if self._sees_relative():
            self.reader.position += 1
            self.read_predicate_of_relative(obj)
            return True
        if self.is_next(self.take_near):
            self.read_relation([obj], around[0] if len(around) == 1 else None)
            return True
        if action and self._fits(action, obj) and not any(self._fits(action, subject) for subject in around):
            self.read_property([obj], None)
            return True
        if self.reader.sees("with") and not living[0] and all(living[1:]):
            return bool(self.attempt(lambda: self._read_with(obj)))
        return False

    def _read_with(self, host: ProseObject | None) -> bool:
        """Read a phrase such as "with a cup on it" or "with a hat on". "it" refers to the host."""
        self.reader.expect("with")
        self._refuse_counted_host(host)
        objects = [self.read_noun()]
        while self.reader.take_one_of(JOINTS):
            objects.append(self.read_noun())
        position = self.reader.position
        word = self.reader.take_one_of(("on top", "on", "inside"))
        phrase = self.prose.relations.get((word or "").removesuffix(" top"))
        if phrase and host and self.reader.next in (".", ",", ";", "and"):
            self.relate(phrase, objects, host)
            return True
        self.reader.position = position
        self.take_any("placed")
        self.read_relation(objects, host, to_it=True)
        return True

    def _sees_relative(self) -> bool:
        after = self.reader.words[min(self.reader.position + 1, len(self.reader.words) - 1)]
        return self.reader.next in ("that", "who") and (after in (*BE, *HAVE) or after in self.prose.relations)

    def read_predicate_of_relative(self, obj: ProseObject) -> None:
        """Read the predicate after "that" or "which"."""
        if self.reader.take_one_of(HAVE):
            self.read_neighbors(obj)
            return
        self.reader.take_one_of(BE)
        self.read_property([obj], None)

    def read_neighbors(self, subject: ProseObject) -> None:
        """Read objects positioned relative to a subject, such as "a cup to its left and a plate next to it"."""
        self._refuse_counted_host(subject)
        while True:
            obj = self.read_noun()
            self.take_any("placed")
            self.read_relation([obj], subject, to_it=True)
            position = self.reader.position
            if not (self.reader.take_one_of(JOINTS) and self.reader.next in ("a", "an")):
                self.reader.position = position
                return

    def _refuse_counted_host(self, host: ProseObject | None) -> None:
        if host and host.amount:
            raise unclear(f"the {host.noun.plural} may have one thing together or one each")

    def sees_verb(self) -> bool:
        """Return whether a verb comes next, which makes the preceding noun phrase a subject."""
        return self.reader.next in (*BE, *HAVE, *self.prose.verbs, *self.prose.phrases["finite"])

    # --- what comes next

    def _starts_direction(self) -> bool:
        def read() -> RelationPhrase | None:
            self.take_any("adverbs")
            return self.reader.take_meaning(self.prose.relations)

        phrase = self.reader.peek(read)
        return phrase is not None and phrase.predicate in ("LeftOf", "RightOf", "Above", "Below")

    def is_list_alignment(self) -> bool:
        """Return whether "aligned" comes next without an object, so that it applies to all objects of a list."""

        def read() -> bool:
            self.skip_adverbs()
            is_alignment = self.reader.take_meaning(self.prose.alignments) is not None
            return is_alignment and not (self.reader.sees("with") or self._starts_direction())

        return self.reader.peek(read)

    def _next_action(self) -> RelationPhrase | None:
        """Return the action that comes next (holding, wearing or containing) without consuming it."""
        if self.is_next(lambda: self.take_any("finite")):
            return None
        phrase = self.reader.peek(lambda: self.reader.take_meaning(self.prose.relations))
        return phrase if phrase and phrase.living is not None else None

    def _fits(self, phrase: RelationPhrase, subject: ProseObject) -> bool:
        """Return whether an object can perform the action. Only living beings hold or wear. Only things contain."""
        living = self.prose.is_living(subject.noun)
        return phrase.living is None or phrase.living == living

    def _refuse_unclear(self, obj: ProseObject, read: PropertyRead | None, *, joined: bool) -> None:
        """Raise an error if the next property could also apply to the object named by the previous property."""
        if read is None:
            return
        action = self._next_action()
        if action:
            is_doubtful = read.named is not None and not read.pronoun and self._fits(action, read.named)
        else:
            is_doubtful = read.modified or (read.named is not None and not read.pronoun and not joined)
        if is_doubtful:
            raise unclear(f"it is not clear whether {self.reader.next!r} is said of the {obj.noun.text}")


def unclear(message: str) -> AmbiguousTextError:
    """Return an error for a text with two possible readings."""
    return AmbiguousTextError(f"the text can be read in two ways: {message}; say which is meant")
