"""Read clauses in prose: subjects, predicates and lists of objects."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.language.description import is_relation
from formalimg.language.prose_draft import TOP, ProseObject
from formalimg.language.prose_nouns import DEFINITE, SUBJECT_PRONOUNS, ClauseContext
from formalimg.language.prose_phrases import BE, HAVE, QUANTIFIERS, PropertyRead, ProsePhrases, unclear

_PAIR = ("the two", "these two", "both of them", "both")


class ProseClauses(ProsePhrases):
    """Reads clauses. `sentence_rule` is the rule begun by "every" in the current sentence, if any."""

    sentence_rule = TOP

    def read_clause(self) -> None:
        """Read one clause."""
        self.mentioned = []
        quantifier = self.reader.take_one_of(QUANTIFIERS)
        if quantifier:
            every, before = self.read_universal("all" if quantifier == "all" else "every"), self.rule
            self.read_condition(every)
            self.rule = self.sentence_rule = every.rule
            known = len(self.draft.objects)
            self._read_predicate([every])
            self.rule = before
            if quantifier == "all" and len(self.draft.objects) > known:
                raise unclear("there may be one thing for all of them or one for each")
        elif self.reader.take_one_of(("there is", "there are")) or self._takes_scene_shows():
            self.take_any("adverbs")
            self.read_presence()
        elif self.reader.next not in SUBJECT_PRONOUNS and not self.starts_noun() and self.starts_property():
            self._read_inverted()
        else:
            self._read_predicate(self._read_subjects())

    def _takes_scene_shows(self) -> bool:
        place = self.reader.place
        if self.reader.take("the") and self.take_any("scenes"):
            self.take_any("adverbs")
            if self.take_any("shows"):
                return True
        self.reader.place = place
        return False

    def read_condition(self, every: ProseObject) -> None:
        """Read the restriction of a rule, as in "every cup located on the left side" or "every cup that is red"."""
        if not (self.reader.take_one_of(("that is", "that are", "who is", "who are")) or self.starts_property()):
            return
        mark = self.draft.mark()
        self.rule, before = every.rule, self.rule
        self.read_property([every], None)
        self.rule = before
        added = self.draft.claims[mark.claims :]
        if any(is_relation(part) for _, claim in added for part in claim.parts):
            self.reader.fail("a condition that names no other object")
        del self.draft.claims[mark.claims :]
        self.draft.guards += added

    def read_presence(self) -> None:
        """Read the objects that the image shows."""
        every = self.said.it if self.rule and self.said.it and self.said.it.universal else None
        objects = self.read_list(every)
        others = [known for known in self._named() if known not in objects and not self.prose.is_living(known.noun)]
        self._read_trailing(objects, it=objects[0] if len(objects) == 1 and not others else None)

    def _read_inverted(self) -> None:
        """Read a clause that begins with a place or relation, such as "to the left of the cup is a plate"."""
        self.skip_placed()
        sides = self.take_place()
        near = None if sides else self.read_near(None)
        if sides is None and near is None:
            phrase = self.reader.take_meaning(self.prose.relations)
            if phrase is None or phrase.living is not None:
                self.reader.fail("a relation")
            near = phrase, self._read_reference()
        self.reader.take(",")
        posture = self.prose.verbs.get(self.reader.next)
        if posture is not None:
            self.reader.place += 1
        else:
            self.reader.expect("there is", "there are", *BE)
        objects = self.read_list(None)
        self._refuse_posture(posture, objects)
        if near:
            self.relate(near[0], objects, near[1])
        for obj in objects:
            for side in sides or ():
                self.draft.add(self.rule, obj.variable, side)
        self._read_trailing(objects, it=objects[0] if len(objects) == 1 else None)

    def _read_reference(self) -> ProseObject:
        """Read the object of a fronted relation. "that" refers to the object of the previous clause."""
        if self.reader.sees("that") and self.reader.words[self.reader.place + 1] in (*BE, *self.prose.verbs):
            if self.said.it is None:
                self.reader.fail("an object that 'that' can stand for")
            self.reader.take("that")
            self.mentioned.append(self.said.it)
            return self.said.it
        return self.read_noun()

    def _read_predicate(self, subjects: Sequence[ProseObject]) -> None:
        """Read a verb and its complements."""
        posture = self.prose.verbs.get(self.reader.next)
        if self.reader.take_one_of(HAVE):
            if len(subjects) > 1:
                self.reader.fail("one subject, so that 'it' can stand for it")
            self.read_neighbors(subjects[0])
        else:
            if posture is not None:
                self.reader.place += 1
                self._refuse_posture(posture, subjects)
            elif not self.is_next(lambda: self.take_any("finite")):
                self.reader.expect(*BE)
            self.read_properties(subjects)
            if len(subjects) == 1 and self.reader.take_one_of(("and has", "and have", ", and has", ", and have")):
                self.read_neighbors(subjects[0])
        others = [known for known in self._named() if known not in subjects and not self.prose.is_living(known.noun)]
        one = subjects[0] if len(subjects) == 1 else None
        self._read_trailing(subjects, it=None if others else one)
        self.said = self.said._replace(it=None if one and one.amount else one)

    def _refuse_posture(self, posture: str | None, subjects: Sequence[ProseObject]) -> None:
        living = next((known for known in subjects if self.prose.is_living(known.noun)), None)
        if posture and living:
            raise unclear(f"the {living.noun.text} may be {posture} or only be there")

    def _read_trailing(self, objects: Sequence[ProseObject], it: ProseObject | None) -> None:
        """Read phrases separated from the clause by commas, and finish the clause."""
        while self.attempt(lambda: self._read_tail(objects, it)):
            pass
        # "Both" and "they" could be counted objects, too.
        named = () if any(known.amount for known in self._named()) else self._named()
        self.said = ClauseContext(named, None if it and it.amount else it)

    def _read_tail(self, objects: Sequence[ProseObject], it: ProseObject | None) -> bool:
        if self.reader.next == "," and any(known.amount for known in (*objects, *self.mentioned[-1:])):
            raise unclear("what follows the comma may be said of all objects or be a part of what is counted")
        if self.reader.take_one_of((", which", ", who")):
            self.read_predicate_of_relative(self.mentioned[-1])
        elif self.reader.take(", on which"):
            self._read_borne(self.mentioned[-1])
        elif self.reader.take(", with"):
            self.read_properties([self.read_noun()], it)
        else:
            self.reader.expect(",")
            if len(objects) > 1 or not self.starts_property():
                self.reader.fail("a property of one object")
            if self.mentioned[-1] != objects[0]:
                raise unclear(f"it is not clear whether {self.reader.next!r} is said of the {objects[0].noun.text}")
            self.read_properties(objects)
        return True

    def _read_borne(self, bearer: ProseObject) -> None:
        """Read the objects on another object, after "on which"."""
        phrase = self.prose.relations.get("on")
        if phrase is None or self.reader.next not in (*BE, *self.prose.verbs):
            self.reader.fail("a verb")
        posture = self.prose.verbs.get(self.reader.next)
        self.reader.place += 1
        objects = self.read_list(None)
        self._refuse_posture(posture, objects)
        self.relate(phrase, objects, bearer)

    def _named(self) -> tuple[ProseObject, ...]:
        return tuple(dict.fromkeys(self.mentioned))

    # --- lists of objects

    def _read_subjects(self) -> Sequence[ProseObject]:
        if self.reader.take_one_of(_PAIR):
            return self._pair()
        if self.reader.next == "they" and (self.said.it is None or not self.said.it.noun.many):
            self.reader.place += 1
            return self._pair()
        pronoun = self.read_pronoun(SUBJECT_PRONOUNS, self.said.it)
        if pronoun:
            return [pronoun]
        objects = self.read_list(None, subjects=True)
        if len(objects) == 1:
            self.attempt(lambda: self._read_aside(objects[0]))
        return objects

    def _pair(self) -> Sequence[ProseObject]:
        if len(self.said.named) != 2:
            self.reader.fail("a clause before that names two objects")
        self.mentioned += self.said.named
        return self.said.named

    def _read_aside(self, found: ProseObject) -> None:
        """Read a relative clause between commas after a subject."""
        self.reader.expect(", which", ", who")
        self.read_predicate_of_relative(found)
        self.reader.expect(",")

    def read_list(self, it: ProseObject | None, *, subjects: bool = False) -> list[ProseObject]:
        """Read a list of objects with modifiers. Raise an error if a final modifier could apply to all objects."""
        definite = self.reader.next in DEFINITE
        objects = [self.read_noun()]
        read = self.read_modifiers(objects[0], it)
        while True:
            name = self.attempt(self._read_next_name) if definite else None
            place = self.reader.place
            found = name or self.attempt(lambda: self._read_next_object(subjects=subjects, it=it))
            if found is None:
                break
            objects.append(found[0])
            if read and read.named and not read.pronoun and "with" not in self.reader.words[place : place + 3]:
                raise unclear(f"it is not clear to which list the {found[0].noun.text} belongs")
            if found[1] and not read:
                raise unclear(f"it is not clear whether only the {found[0].noun.text} is meant")
            read = found[1]
        if len(objects) > 1 and self.is_list_alignment():
            self.skip_placed()
            self.align(self.reader.take_meaning(self.prose.alignments) or "", objects)
        return objects

    def _read_next_object(self, *, subjects: bool, it: ProseObject | None) -> tuple[ProseObject, PropertyRead | None]:
        """Read another object in a list, unless it is the subject of the next clause."""
        if not self.take_any("lists"):
            self.reader.fail("a further object")
        found = self.read_noun()
        read = self.read_modifiers(found, it)
        if not subjects and self.sees_verb():
            self.reader.fail("a further object")
        return found, read

    def _read_next_name(self) -> tuple[ProseObject, None]:
        """Read another noun under a shared article, as in "the cup, fork and plate"."""
        if not self.take_any("lists") or self.reader.next in (*DEFINITE, "a", "an"):
            self.reader.fail("a name without an article")
        return self.read_bare_name(), None
