"""Parse prompts written in common patterns of English, such as those of published benchmarks.

This is the second reader, for text that is not in the language of `realize`. It knows more words and sentence patterns,
and refuses text with two readings or an unexpected word, so that accepted text always means what its formula says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from formalimg.language.description import is_relation, to_formula
from formalimg.language.lexicon import WordingError
from formalimg.language.prose_draft import TOP, ProseObject
from formalimg.language.prose_lexicon import prose_lexicon
from formalimg.language.prose_nouns import DEFINITE, SUBJECT_PRONOUNS, ClauseContext
from formalimg.language.prose_phrases import BE, HAVE, QUANTIFIERS, PropertyRead, ProsePhrases, unclear
from formalimg.logic.syntax import Formula

T = TypeVar("T")

_REQUESTED_STYLES = {"knolling": "a knolling style"}  # The style of image that prompts ask for, by their vocabulary
_BOTH = ("the two", "these two", "both of them", "both")


def parse_prose(text: str, suite: str, classes: tuple[str, ...] = ()) -> Formula:
    """Parse a prompt in plain English, with nouns for additional classes."""
    parser = _ProseParser(text, prose_lexicon(suite, classes))
    parser.read_text()
    return to_formula(parser.draft.description())


class _ProseParser(ProsePhrases):
    """Recursive-descent parser for prose, which tries alternatives in order."""

    sentence_rule = TOP  # the rule begun by "every" in the current sentence, if any
    open_rule = TOP  # the rule of the last "for every ...", which further sentences may continue

    def attempt(self, read: Callable[[], T]) -> T | None:
        rules = self.open_rule, self.sentence_rule
        result = super().attempt(read)
        if result is None:
            self.open_rule, self.sentence_rule = rules
        return result

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
        if len(self.context.named) != 1:
            self.context = ClauseContext(self.context.named)
        sentences = [self._read_opening, self._read_request, self._read_style, self._read_styled, self._read_body]
        if self.reader.next in ("a", "an") or self.is_next(self.take_amount):
            sentences.append(self._read_fragment)
        if not any(self.attempt(lambda read=read: read() is None) for read in sentences):  # type: ignore[misc]
            raise self._error()
        if rule == TOP:
            self.open_rule = self.rule
        return True

    def _error(self) -> WordingError:
        assert self.deepest is not None, "only attempts that failed lead here"
        return self.deepest[1]

    def _read_opening(self) -> None:
        lexicon = self.prose.words
        if self.reader.take_one_of((*lexicon.openings.values(), *lexicon.earlier_openings)):
            return
        if self.reader.take_one_of(("in the", "in this")) and not (self.take_any("scenes") and self.reader.take(",")):
            self.reader.fail("the image and a comma")
        self.reader.take("all")
        for words in ("directions", BE, "viewpoints", ("the",), "viewers"):
            if not (self.take_any(words) if isinstance(words, str) else self.reader.take_one_of(words)):
                self.reader.fail("from where directions are seen")
        self.reader.expect(".")

    def _read_request(self) -> None:
        """Read a request such as "Create a knolling-style image", optionally followed by the content."""
        if self.prose.suite not in _REQUESTED_STYLES or not self.take_any("requests"):
            self.reader.fail("a request for an image")
        self.reader.expect(_REQUESTED_STYLES[self.prose.suite])
        if not self.take_any("scenes"):
            self.reader.fail("what is asked for")
        if self.take_any("showing"):
            self.read_presence()
        self.reader.expect(".")

    def _read_style(self) -> None:
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
        if self.take_any("renderings") or self.reader.sees("in"):
            self.reader.expect("in")
            self.draft.set_style(self._take_style())
            self.reader.expect(",")
            self._read_body()
            return
        if self.take_any("requests"):
            self.reader.expect("a", "an")
            self.reader.position -= 1
        self.draft.set_style(self._take_style())
        if self.take_any("in_which"):
            self._read_body()
            return
        if not (self.take_any("showing") or self.take_any("shows")):
            self.reader.fail("what the image shows")
        self.mentioned = []
        self.read_presence()
        self._read_more_clauses()
        self.reader.expect(".")

    def _take_style(self) -> str:
        """Consume a style, such as "a cartoon", "a cartoon style image" or "an image in cartoon style"."""
        self.reader.take("the style of")
        self.reader.take_one_of(("a", "an", "the"))
        position = self.reader.position
        if not (self.take_any("scenes") and self.reader.take_one_of(("in a", "in an", "in"))):
            self.reader.position = position
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
            universal = self.read_universal("every")
            self.read_condition(universal)
            self.reader.take(",")
            self.rule = universal.rule
            self.context = ClauseContext((universal,), universal)
        self.read_clause()
        self._read_more_clauses()
        self.reader.expect(".")

    def _read_fragment(self) -> None:
        """Read a prompt fragment without a verb, such as "a red cup to the left of a plate"."""
        self.mentioned = []
        self.read_presence()
        self.reader.expect(".")

    def _read_more_clauses(self) -> None:
        while self.attempt(self._read_joined_clause):
            pass

    def _read_joined_clause(self) -> bool:
        """Read another clause of the sentence. Raise an error if it may or may not belong to the preceding rule."""
        if not self.take_any("joints"):
            self.reader.fail("the end of the sentence")
        outer_rule, objects = self.rule, list(self.draft.objects)
        joins_rule = self.sentence_rule != TOP and self.reader.next not in QUANTIFIERS
        if joins_rule:
            self.rule = self.sentence_rule
        self.read_clause()
        if joins_rule and not any(obj.rule == self.rule for obj in self.mentioned if obj in objects):
            raise unclear("it is not clear whether the clause belongs to the rule before it")
        self.rule = outer_rule
        return True

    # --- clauses

    def read_clause(self) -> None:
        self.mentioned = []
        quantifier = self.reader.take_one_of(QUANTIFIERS)
        if quantifier:
            universal, outer_rule = self.read_universal("all" if quantifier == "all" else "every"), self.rule
            self.read_condition(universal)
            self.rule = self.sentence_rule = universal.rule
            objects = len(self.draft.objects)
            self._read_predicate([universal])
            self.rule = outer_rule
            if quantifier == "all" and len(self.draft.objects) > objects:
                raise unclear("there may be one thing for all of them or one for each")
        elif self.reader.take_one_of(("there is", "there are")) or self._takes_scene_shows():
            self.take_any("adverbs")
            self.read_presence()
        elif self.reader.next not in SUBJECT_PRONOUNS and not self.starts_noun() and self.starts_property():
            self._read_inverted()
        else:
            self._read_predicate(self._read_subjects())

    def _takes_scene_shows(self) -> bool:
        position = self.reader.position
        if self.reader.take("the") and self.take_any("scenes"):
            self.take_any("adverbs")
            if self.take_any("shows"):
                return True
        self.reader.position = position
        return False

    def read_condition(self, universal: ProseObject) -> None:
        """Read the restriction of a rule, as in "every cup located on the left side" or "every cup that is red"."""
        if not (self.reader.take_one_of(("that is", "that are", "who is", "who are")) or self.starts_property()):
            return
        claims = len(self.draft.claims)
        self.rule, outer_rule = universal.rule, self.rule
        self.read_property([universal], None)
        self.rule = outer_rule
        added = self.draft.claims[claims:]
        if any(is_relation(part) for _, claim in added for part in claim.parts):
            self.reader.fail("a condition that names no other object")
        del self.draft.claims[claims:]
        self.draft.guards += added

    def read_presence(self) -> None:
        universal = (
            self.context.referent if self.rule and self.context.referent and self.context.referent.universal else None
        )
        objects = self.read_list(universal)
        self._read_trailing(
            objects, referent=objects[0] if len(objects) == 1 and not self._names_other(objects) else None
        )

    def _read_inverted(self) -> None:
        """Read a clause that begins with a place or relation, such as "to the left of the cup is a plate"."""
        self.skip_adverbs()
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
            self.reader.position += 1
        else:
            self.reader.expect("there is", "there are", *BE)
        objects = self.read_list(None)
        self._refuse_posture(posture, objects)
        if near:
            self.relate(near[0], objects, near[1])
        for obj in objects:
            for side in sides or ():
                self.draft.add(self.rule, obj.variable, side)
        self._read_trailing(objects, referent=objects[0] if len(objects) == 1 else None)

    def _read_reference(self) -> ProseObject:
        """Read the object of a fronted relation. "that" refers to the object of the previous clause."""
        if self.reader.sees("that") and self.reader.words[self.reader.position + 1] in (*BE, *self.prose.verbs):
            if self.context.referent is None:
                self.reader.fail("an object that 'that' can stand for")
            self.reader.take("that")
            self.mentioned.append(self.context.referent)
            return self.context.referent
        return self.read_noun()

    def _read_predicate(self, subjects: Sequence[ProseObject]) -> None:
        posture = self.prose.verbs.get(self.reader.next)
        if self.reader.take_one_of(HAVE):
            if len(subjects) > 1:
                self.reader.fail("one subject, so that 'it' can stand for it")
            self.read_neighbors(subjects[0])
        else:
            if posture is not None:
                self.reader.position += 1
                self._refuse_posture(posture, subjects)
            elif not self.is_next(lambda: self.take_any("finite")):
                self.reader.expect(*BE)
            self.read_properties(subjects)
            if len(subjects) == 1 and self.reader.take_one_of(("and has", "and have", ", and has", ", and have")):
                self.read_neighbors(subjects[0])
        subject = subjects[0] if len(subjects) == 1 else None
        self._read_trailing(subjects, referent=None if self._names_other(subjects) else subject)
        self.context = self.context._replace(referent=None if subject and subject.amount else subject)

    def _names_other(self, objects: Sequence[ProseObject]) -> bool:
        return any(obj not in objects and not self.prose.is_living(obj.noun) for obj in self.mentioned)

    def _refuse_posture(self, posture: str | None, subjects: Sequence[ProseObject]) -> None:
        living = next((obj for obj in subjects if self.prose.is_living(obj.noun)), None)
        if posture and living:
            raise unclear(f"the {living.noun.text} may be {posture} or only be there")

    def _read_trailing(self, objects: Sequence[ProseObject], referent: ProseObject | None) -> None:
        """Read phrases separated from the clause by commas, and finish the clause."""
        while self.attempt(lambda: self._read_tail(objects, referent)):
            pass
        # "Both" and "they" could be counted objects, too.
        named = () if any(obj.amount for obj in self.mentioned) else tuple(dict.fromkeys(self.mentioned))
        self.context = ClauseContext(named, None if referent and referent.amount else referent)

    def _read_tail(self, objects: Sequence[ProseObject], referent: ProseObject | None) -> bool:
        if self.reader.next == "," and any(obj.amount for obj in (*objects, *self.mentioned[-1:])):
            raise unclear("what follows the comma may be said of all objects or be a part of what is counted")
        if self.reader.take_one_of((", which", ", who")):
            self.read_predicate_of_relative(self.mentioned[-1])
        elif self.reader.take(", on which"):
            self._read_borne(self.mentioned[-1])
        elif self.reader.take(", with"):
            self.read_properties([self.read_noun()], referent)
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
        self.reader.position += 1
        objects = self.read_list(None)
        self._refuse_posture(posture, objects)
        self.relate(phrase, objects, bearer)

    # --- lists of objects

    def _read_subjects(self) -> Sequence[ProseObject]:
        if self.reader.take_one_of(_BOTH):
            return self._pair()
        if self.reader.next == "they" and (self.context.referent is None or not self.context.referent.noun.many):
            self.reader.position += 1
            return self._pair()
        pronoun = self.read_pronoun(SUBJECT_PRONOUNS, self.context.referent)
        if pronoun:
            return [pronoun]
        objects = self.read_list(None, subjects=True)
        if len(objects) == 1:
            self.attempt(lambda: self._read_aside(objects[0]))
        return objects

    def _pair(self) -> Sequence[ProseObject]:
        if len(self.context.named) != 2:
            self.reader.fail("a clause before that names two objects")
        self.mentioned += self.context.named
        return self.context.named

    def _read_aside(self, subject: ProseObject) -> None:
        self.reader.expect(", which", ", who")
        self.read_predicate_of_relative(subject)
        self.reader.expect(",")

    def read_list(self, referent: ProseObject | None, *, subjects: bool = False) -> list[ProseObject]:
        """Read a list of objects with modifiers. Raise an error if a final modifier could apply to all objects."""
        is_definite = self.reader.next in DEFINITE
        objects = [self.read_noun()]
        read = self.read_modifiers(objects[0], referent)
        while True:
            name = self.attempt(self._read_next_name) if is_definite else None
            position = self.reader.position
            item = (
                (name, None)
                if name
                else self.attempt(lambda: self._read_next_object(subjects=subjects, referent=referent))
            )
            if item is None:
                break
            obj, next_read = item
            objects.append(obj)
            if read and read.named and not read.pronoun and "with" not in self.reader.words[position : position + 3]:
                raise unclear(f"it is not clear to which list the {obj.noun.text} belongs")
            if next_read and not read:
                raise unclear(f"it is not clear whether only the {obj.noun.text} is meant")
            read = next_read
        if len(objects) > 1 and self.is_list_alignment():
            self.skip_adverbs()
            self.align(self.reader.take_meaning(self.prose.alignments) or "", objects)
        return objects

    def _read_next_object(
        self, *, subjects: bool, referent: ProseObject | None
    ) -> tuple[ProseObject, PropertyRead | None]:
        """Read another object in a list, unless it is the subject of the next clause."""
        if not self.take_any("lists"):
            self.reader.fail("a further object")
        obj = self.read_noun()
        read = self.read_modifiers(obj, referent)
        if not subjects and self.sees_verb():
            self.reader.fail("a further object")
        return obj, read

    def _read_next_name(self) -> ProseObject:
        """Read another noun under a shared article, as in "the cup, fork and plate"."""
        if not self.take_any("lists") or self.reader.next in (*DEFINITE, "a", "an"):
            self.reader.fail("a name without an article")
        return self.read_bare_name()
