"""Draft of a description, stored in flat lists so that failed attempts can be rolled back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from formalimg.language.description import (
    ClaimPart,
    CountedObjects,
    Description,
    DescriptionBlock,
    ObjectClaim,
    Rule,
    claim_objects,
)
from formalimg.language.lexicon import Noun, WordingError
from formalimg.language.phrase_parser import NounPhraseCore
from formalimg.logic.syntax import CountBound

TOP = 0  # The number of the block outside of all rules; rules count from 1


class Amount(NamedTuple):
    """The number of objects in a count."""

    bound: CountBound
    number: int


class ProseObject(NamedTuple):
    """An object in the text, with its variable, noun phrase and rule, or a set of counted objects."""

    variable: str
    core: NounPhraseCore
    rule: int
    universal: bool = False
    amount: Amount | None = None

    @property
    def noun(self) -> Noun:
        """The noun of the object."""
        return self.core.noun


class DraftMark(NamedTuple):
    """The list lengths and style of a draft at a point in time, used for rollback."""

    objects: int
    claims: int
    guards: int
    rules: int
    style: str | None


@dataclass
class ProseDraft:
    """The content read so far."""

    style: str | None = None
    objects: list[ProseObject] = field(default_factory=list)
    claims: list[tuple[int, ObjectClaim]] = field(default_factory=list)
    guards: list[tuple[int, ObjectClaim]] = field(default_factory=list)
    rules: list[ProseObject] = field(default_factory=list)

    def mark(self) -> DraftMark:
        """Return a mark for the current state."""
        return DraftMark(len(self.objects), len(self.claims), len(self.guards), len(self.rules), self.style)

    def cut_back(self, mark: DraftMark) -> None:
        """Roll back to the state at the mark."""
        del self.objects[mark.objects :], self.claims[mark.claims :]
        del self.guards[mark.guards :], self.rules[mark.rules :]
        self.style = mark.style

    def set_style(self, style: str) -> None:
        """Set the style, raising an error if it is already set."""
        if self.style is not None:
            raise WordingError("the text names two styles: leave one out")
        self.style = style

    def visible(self, rule: int) -> list[ProseObject]:
        """Return the objects that a sentence of this rule can refer to, excluding counted objects."""
        return [known for known in self.objects if known.rule in (TOP, rule) and known.amount is None]

    def introduce(self, core: NounPhraseCore, rule: int, amount: Amount | None = None) -> ProseObject:
        """Introduce an object, or counted objects if `amount` is given."""
        for known in (known for known in self.objects if known.rule in (TOP, rule)):
            if known.noun is core.noun and known.core.mark == core.mark and _may_be_same(known.core, core):
                raise WordingError(
                    f"'a {core.noun.text}' may be new or the one named before: write 'the {core.noun.text}', or give"
                    " each its own color"
                )
        found = self._object(core, rule, amount=amount)
        self.claims += [(rule, claim) for claim in _claims(found)]
        return found

    def begin_rule(self, core: NounPhraseCore) -> ProseObject:
        """Begin a rule about every object described by a noun phrase."""
        found = self._object(core, len(self.rules) + 1, universal=True)
        self.rules.append(found)
        self.guards += [(found.rule, claim) for claim in _claims(found)]
        return found

    def add(self, rule: int, subject: str, predicate: str, *rest: str) -> None:
        """Add a claim to a rule or the top level. Claims about counted objects are added to their count."""
        named = [known for known in self.objects if known.variable in (subject, *rest)]
        if any(known.universal and known.rule != rule for known in named):
            raise WordingError(
                f"the sentence does not belong to 'every {named[0].noun.text}': say both in one sentence"
            )
        counted = next((known for known in named if known.amount), None)
        if counted is not None:
            rule = counted.rule
            others = [known for known in named if known is not counted]
            before = [known for known in self.objects[: self.objects.index(counted)] if known in self.visible(rule)]
            if any(other not in before for other in others):
                raise WordingError(
                    f"there may be one {others[0].noun.text} for all {counted.noun.plural} or one for each: name the"
                    f" {others[0].noun.text} first, in a sentence of its own"
                )
        self.claims.append((rule, ObjectClaim(subject, (ClaimPart(predicate, rest),))))

    def description(self) -> Description:
        """Convert the draft to a description."""
        top = self._block(TOP)
        for rule in self.rules:
            guard = [claim for number, claim in self.guards if number == rule.rule]
            top.rules.append(Rule(rule.variable, guard, self._block(rule.rule)))
        return Description(self.style, top)

    def _block(self, rule: int) -> DescriptionBlock:
        own = [known for known in self.objects if known.rule == rule and not known.universal]
        objects = [known.variable for known in own if not known.amount]
        if any(known.amount and not self._claims(rule, known.variable) for known in own):
            raise WordingError("say of what class the counted objects are")
        counts = [
            CountedObjects(*known.amount, known.variable, DescriptionBlock(claims=self._claims(rule, known.variable)))
            for known in own
            if known.amount
        ]
        return DescriptionBlock(objects, self._claims(rule, None), counts=counts)

    def _claims(self, rule: int, counted: str | None) -> list[ObjectClaim]:
        """Return the claims in a rule that concern the given counted objects, or no counted objects if None."""
        counted_ones = {known.variable for known in self.objects if known.amount}
        return list(
            dict.fromkeys(
                claim
                for number, claim in self.claims
                if number == rule
                and next((name for name in claim_objects(claim) if name in counted_ones), None) == counted
            )
        )

    def _object(
        self, core: NounPhraseCore, rule: int, *, universal: bool = False, amount: Amount | None = None
    ) -> ProseObject:
        stem = (core.noun.word or core.noun.text).replace(" ", "_")
        found = ProseObject(f"?{stem}_{len(self.objects) + 1}", core, rule, universal, amount)
        self.objects.append(found)
        return found


def _claims(known: ProseObject) -> list[ObjectClaim]:
    noun = [(ClaimPart("Is", (known.noun.word,)),)] if known.noun.word else []
    groups = [tuple(ClaimPart(a.predicate, (a.word,)) for a in group) for group in known.core.adjectives]
    return [ObjectClaim(known.variable, parts) for parts in (*noun, *groups)]


def _may_be_same(known: NounPhraseCore, new: NounPhraseCore) -> bool:
    one, other = set(known.adjectives), set(new.adjectives)
    return one <= other or other <= one
