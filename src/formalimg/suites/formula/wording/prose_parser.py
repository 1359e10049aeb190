"""Parser of prose: reads prompts that follow common patterns of English, such as those of the published benchmark.

It is the second reader, for text that is not in the language of `realize`. It knows more words and sentence patterns,
and it is careful: what has two readings, or a word too many, is refused. Text that is refused has no formula; text that
is read says what its formula says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from formalimg.logic import Formula
from formalimg.suites.formula.wording.description import is_relation, to_formula
from formalimg.suites.formula.wording.lexicon import WordingError
from formalimg.suites.formula.wording.prose_draft import TOP, ProseObject
from formalimg.suites.formula.wording.prose_lexicon import ProseLexicon, prose_lexicon
from formalimg.suites.formula.wording.prose_nouns import DEFINITE, SUBJECT_PRONOUNS, ClauseContext
from formalimg.suites.formula.wording.prose_phrases import BE, HAVE, QUANTIFIERS, PropertyRead, ProsePhrases, unclear

_Read = TypeVar("_Read")
_PAIR = ("the two", "these two", "both of them", "both")


def parse_prose(text: str, suite: str) -> Formula:
    """Parse a prompt in plain English.

    Raises:
        WordingError: if the text does not follow a known pattern or has more than one reading.
    """
    parser = _ProseParser(text, prose_lexicon(suite))
    parser.read_text()
    return to_formula(parser.draft.description())


class _ProseParser(ProsePhrases):
    """Recursive descent over one text; alternatives are tried in order."""

    def __init__(self, text: str, prose: ProseLexicon) -> None:
        super().__init__(text, prose)
        self.open_rule = TOP  # the rule of the last "for every ...", which further sentences may continue
        self.sentence_rule = TOP

    def attempt(self, read: Callable[[], _Read]) -> _Read | None:
        """Return what is read, or None if it cannot be read; then nothing has happened."""
        before = self.open_rule, self.sentence_rule
        found = super().attempt(read)
        if found is None:
            self.open_rule, self.sentence_rule = before
        return found

    # --- sentences

    def read_text(self) -> None:
        while not self.reader.done:
            if self.attempt(lambda: self.read_sentence(TOP)):
                continue
            if not (self.open_rule and self.attempt(lambda: self.read_sentence(self.open_rule))):
                raise self._error()
        if not (self.draft.style or self.draft.objects):
            raise WordingError("the text says nothing: write at least one sentence about the image")

    def read_sentence(self, rule: int) -> bool:
        self.rule = rule
        self.sentence_rule = TOP
        if len(self.said.named) != 1:
            self.said = ClauseContext(self.said.named)
        for read in (self._read_opening, self._read_request, self._read_style, self._read_styled, self._read_body):
            if self.attempt(lambda read=read: read() is None):  # type: ignore[misc]
                break
        else:
            raise self._error()
        if rule == TOP:
            self.open_rule = self.rule
        return True

    def _error(self) -> WordingError:
        assert self.deepest is not None, "only attempts that failed lead here"
        return self.deepest[1]

    def _read_opening(self) -> None:
        """Read a sentence that says from where directions are meant."""
        if self.reader.take_one_of(self.prose.words.openings.values()):
            return
        if self.reader.take_one_of(("in the", "in this")) and not (self.take_any("scenes") and self.reader.take(",")):
            self.reader.fail("the image and a comma")
        self.reader.take("all")
        for words in ("directions", BE, "viewpoints", ("the",), "viewers"):
            taken = self.take_any(words) if isinstance(words, str) else self.reader.take_one_of(words)
            if taken is None:
                self.reader.fail("from where directions are seen")
        self.reader.expect(".")

    def _read_request(self) -> None:
        """Read "Create a knolling-style image", with or without what it shows."""
        if self.prose.suite != "knolling" or not self.take_any("requests"):
            self.reader.fail("a request for an image")
        self.reader.expect("a knolling style")
        if not self.take_any("scenes"):
            self.reader.fail("what is asked for")
        if self.take_any("showing"):
            self._read_presence()
        self.reader.expect(".")

    def _read_style(self) -> None:
        """Read a sentence that says the style and nothing else."""
        if self.reader.take("this is"):
            style = self._take_style()
        else:
            self.reader.expect("the")
            if not self.take_any("scenes") or not self.reader.take_one_of(("is", "features", "has", "uses")):
                self.reader.fail("the style of the image")
            self.take_any("renderings")
            self.reader.take("in")
            style = self._take_style()
        self.draft.set_style(style)
        self.reader.expect(".")

    def _read_styled(self) -> None:
        """Read a style and what is shown in it."""
        if self.take_any("renderings"):
            self.reader.expect("in")
            self.draft.set_style(self._take_style())
            self.reader.expect(",")
            self._read_body()
            return
        if self.take_any("requests"):
            self.reader.expect("a", "an")
            self.reader.place -= 1
        self.draft.set_style(self._take_style())
        if self.take_any("in_which"):
            self._read_body()
            return
        if not (self.take_any("showing") or self.take_any("shows")):
            self.reader.fail("what the image shows")
        self.mentioned = []
        self._read_presence()
        self._read_more_clauses()
        self.reader.expect(".")

    def _take_style(self) -> str:
        self.reader.take_one_of(("a", "an", "the"))
        style = self.reader.take_meaning(self.prose.styles)
        if style is None:
            self.reader.fail("a style")
        self.reader.take("style")
        self.take_any("scenes")
        return style

    def _read_body(self) -> None:
        while self.take_any("openers"):
            self.reader.take(",")
        if self.reader.take_one_of(("for every", "for each")):
            every = self.read_universal("every")
            self._read_condition(every)
            self.reader.take(",")
            self.rule = every.rule
            self.said = ClauseContext((every,), every)
        self._read_clause()
        self._read_more_clauses()
        self.reader.expect(".")

    def _read_more_clauses(self) -> None:
        while self.attempt(self._read_joined_clause):
            pass

    def _read_joined_clause(self) -> bool:
        """Read a further clause; after "every cup is red", one that names nothing of the rule may be meant outside."""
        if not self.take_any("joints"):
            self.reader.fail("the end of the sentence")
        before, known = self.rule, list(self.draft.objects)
        joins_rule = self.sentence_rule != TOP and self.reader.next not in QUANTIFIERS
        if joins_rule:
            self.rule = self.sentence_rule
        self._read_clause()
        if joins_rule and not any(obj.rule == self.rule for obj in self.mentioned if obj in known):
            raise unclear("it is not clear whether the clause belongs to the rule before it")
        self.rule = before
        return True

    # --- clauses

    def _read_clause(self) -> None:
        self.mentioned = []
        quantifier = self.reader.take_one_of(QUANTIFIERS)
        if quantifier:
            every, before = self.read_universal("all" if quantifier == "all" else "every"), self.rule
            self._read_condition(every)
            self.rule = self.sentence_rule = every.rule
            self._read_predicate([every])
            self.rule = before
        elif self.reader.take_one_of(("there is", "there are")) or self._takes_scene_shows():
            self.take_any("adverbs")
            self._read_presence()
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

    def _read_condition(self, every: ProseObject) -> None:
        """Read what restricts a rule: "every cup located on the left side", "every cup that is red"."""
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

    def _read_presence(self) -> None:
        """Read objects that the image shows."""
        every = self.said.it if self.rule and self.said.it and self.said.it.universal else None
        objects = self._read_list(every)
        others = [known for known in self._named() if known not in objects and not self.prose.is_living(known.noun)]
        self._read_trailing(objects, it=objects[0] if len(objects) == 1 and not others else None)

    def _read_inverted(self) -> None:
        """Read a clause that begins with a place or relation: "to the left of the cup is a plate"."""
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
        objects = self._read_list(None)
        self._refuse_posture(posture, objects)
        if near:
            self.relate(near[0], objects, near[1])
        for obj in objects:
            for side in sides or ():
                self.draft.add(self.rule, obj.variable, side)
        self._read_trailing(objects, it=objects[0] if len(objects) == 1 else None)

    def _read_reference(self) -> ProseObject:
        """Read the object of a relation in front of its subject; "that" is the object of the clause before."""
        if self.reader.sees("that") and self.reader.words[self.reader.place + 1] in (*BE, *self.prose.verbs):
            if self.said.it is None:
                self.reader.fail("an object that 'that' can stand for")
            self.reader.take("that")
            self.mentioned.append(self.said.it)
            return self.said.it
        return self.read_noun()

    def _read_predicate(self, subjects: Sequence[ProseObject]) -> None:
        """Read a verb and what follows it."""
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
        self.said = self.said._replace(it=one)

    def _refuse_posture(self, posture: str | None, subjects: Sequence[ProseObject]) -> None:
        living = next((known for known in subjects if self.prose.is_living(known.noun)), None)
        if posture and living:
            raise unclear(f"the {living.noun.text} may be {posture} or only be there")

    def _read_trailing(self, objects: Sequence[ProseObject], it: ProseObject | None) -> None:
        """Read what follows a clause after a comma, and close the clause."""
        while self.attempt(lambda: self._read_tail(objects, it)):
            pass
        self.said = ClauseContext(self._named(), it)

    def _read_tail(self, objects: Sequence[ProseObject], it: ProseObject | None) -> bool:
        if self.reader.take_one_of((", which", ", who")):
            self.read_predicate_of_relative(self.mentioned[-1])
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
        objects = self._read_list(None, subjects=True)
        if len(objects) == 1:
            self.attempt(lambda: self._read_aside(objects[0]))
        return objects

    def _pair(self) -> Sequence[ProseObject]:
        if len(self.said.named) != 2:
            self.reader.fail("a clause before that names two objects")
        self.mentioned += self.said.named
        return self.said.named

    def _read_aside(self, found: ProseObject) -> None:
        """Read a relative clause between commas after the subject."""
        self.reader.expect(", which", ", who")
        self.read_predicate_of_relative(found)
        self.reader.expect(",")

    def _read_list(self, it: ProseObject | None, *, subjects: bool = False) -> list[ProseObject]:
        """Read objects, each with what follows its noun. What follows the last alone may be meant for all: refused."""
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
        """Read a further object of a list, which is not the subject of the next clause."""
        if not self.take_any("lists"):
            self.reader.fail("a further object")
        found = self.read_noun()
        read = self.read_modifiers(found, it)
        if not subjects and self.sees_verb():
            self.reader.fail("a further object")
        return found, read

    def _read_next_name(self) -> tuple[ProseObject, None]:
        """Read a further name under the same article: "the cup, fork and plate"."""
        if not self.take_any("lists") or self.reader.next in (*DEFINITE, "a", "an"):
            self.reader.fail("a name without an article")
        return self.read_bare_name(), None
