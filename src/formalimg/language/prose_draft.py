"""Draft of a description, stored in flat lists so that failed attempts can be rolled back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

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

Amount: TypeAlias = tuple[CountBound, int]
DraftMark: TypeAlias = tuple[int, int, int, int, str | None]  # list lengths and style of a draft, used for rollback


class ProseObject(NamedTuple):
    """An object in the text, with its variable, noun phrase and rule, or a set of counted objects."""

    variable: str
    core: NounPhraseCore
    rule: int
    universal: bool = False
    amount: Amount | None = None

    @property
    def noun(self) -> Noun:
        return self.core.noun


@dataclass
class ProseDraft:
    """The content read so far. Claims and guards are stored with the number of their rule."""

    style: str | None = None
    objects: list[ProseObject] = field(default_factory=list)
    claims: list[tuple[int, ObjectClaim]] = field(default_factory=list)
    guards: list[tuple[int, ObjectClaim]] = field(default_factory=list)
    rules: list[ProseObject] = field(default_factory=list)

    def mark(self) -> DraftMark:
        return len(self.objects), len(self.claims), len(self.guards), len(self.rules), self.style

    def roll_back(self, mark: DraftMark) -> None:
        objects, claims, guards, rules, self.style = mark
        del self.objects[objects:], self.claims[claims:], self.guards[guards:], self.rules[rules:]

    def set_style(self, style: str) -> None:
        """Set the style, raising an error if it is already set."""
        if self.style is not None:
            raise WordingError("the text names two styles: leave one out")
        self.style = style

    def visible(self, rule: int) -> list[ProseObject]:
        """Return the objects that a sentence of this rule can refer to, excluding counted objects."""
        return [obj for obj in self.objects if obj.rule in (TOP, rule) and obj.amount is None]

    def introduce(self, core: NounPhraseCore, rule: int, amount: Amount | None = None) -> ProseObject:
        """Introduce an object, or counted objects if `amount` is given."""
        adjectives = set(core.adjectives)
        for obj in self.objects:
            if obj.rule not in (TOP, rule) or obj.noun is not core.noun or obj.core.mark != core.mark:
                continue
            if adjectives <= set(obj.core.adjectives) or adjectives >= set(obj.core.adjectives):
                raise WordingError(
                    f"'a {core.noun.text}' may be new or the one named before: write 'the {core.noun.text}', or give"
                    " each its own color"
                )
        introduced = self._add_object(core, rule, amount=amount)
        self.claims += [(rule, claim) for claim in core.claims(introduced.variable)]
        return introduced

    def begin_rule(self, core: NounPhraseCore) -> ProseObject:
        universal = self._add_object(core, len(self.rules) + 1, universal=True)
        self.rules.append(universal)
        self.guards += [(universal.rule, claim) for claim in core.claims(universal.variable)]
        return universal

    def _add_object(
        self, core: NounPhraseCore, rule: int, *, universal: bool = False, amount: Amount | None = None
    ) -> ProseObject:
        stem = (core.noun.word or core.noun.text).replace(" ", "_")
        self.objects.append(ProseObject(f"?{stem}_{len(self.objects) + 1}", core, rule, universal, amount))
        return self.objects[-1]

    def add(self, rule: int, subject: str, predicate: str, *rest: str) -> None:
        """Add a claim to a rule or the top level. Claims about counted objects are added to their count."""
        mentioned = [obj for obj in self.objects if obj.variable in (subject, *rest)]
        if any(obj.universal and obj.rule != rule for obj in mentioned):
            raise WordingError(
                f"the sentence does not belong to 'every {mentioned[0].noun.text}': say both in one sentence"
            )
        counted = next((obj for obj in mentioned if obj.amount), None)
        if counted is not None:
            rule = counted.rule
            before = self.objects[: self.objects.index(counted)]
            partners = [obj for obj in mentioned if obj is not counted]
            if any(obj not in before or obj not in self.visible(rule) for obj in partners):
                text = partners[0].noun.text
                raise WordingError(
                    f"there may be one {text} for all {counted.noun.plural} or one for each: name the"
                    f" {text} first, in a sentence of its own"
                )
        self.claims.append((rule, ObjectClaim(subject, (ClaimPart(predicate, rest),))))

    def description(self) -> Description:
        top = self._block(TOP)
        for rule in self.rules:
            guard = [claim for number, claim in self.guards if number == rule.rule]
            top.rules.append(Rule(rule.variable, guard, self._block(rule.rule)))
        return Description(self.style, top)

    def _block(self, rule: int) -> DescriptionBlock:
        objects = [obj for obj in self.objects if obj.rule == rule and not obj.universal]
        counts = []
        for obj in objects:
            if obj.amount:
                claims = self._claims(rule, obj.variable)
                if not claims:
                    raise WordingError("say of what class the counted objects are")
                counts.append(CountedObjects(*obj.amount, obj.variable, DescriptionBlock(claims=claims)))
        variables = [obj.variable for obj in objects if not obj.amount]
        return DescriptionBlock(variables, self._claims(rule, None), counts=counts)

    def _claims(self, rule: int, counted: str | None) -> list[ObjectClaim]:
        """Return the claims in a rule that concern the given counted objects, or no counted objects if None."""
        all_counted = {obj.variable for obj in self.objects if obj.amount}
        claims = dict.fromkeys(claim for number, claim in self.claims if number == rule)
        return [c for c in claims if next((obj for obj in claim_objects(c) if obj in all_counted), None) == counted]
