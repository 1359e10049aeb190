"""Descriptions: the intermediate form between a formula and its English sentences.

A description is a style and a block: objects that exist, claims about them, and rules that hold of every object of some
kind. A rule has a block of its own, whose objects may be different ones for each object the rule speaks of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from formalimg.logic import (
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    check,
    rename_apart,
)
from formalimg.suites.formula.wording.lexicon import WordingError


class ClaimPart(NamedTuple):
    """A predicate that is affirmed or denied of a subject; the subject is named by the claim."""

    predicate: str
    rest: tuple[str, ...]
    positive: bool = True


class ObjectClaim(NamedTuple):
    """A claim about one object: one part, or several of which at least one holds."""

    subject: str
    parts: tuple[ClaimPart, ...]

    @property
    def single(self) -> ClaimPart | None:
        """The only part, if there is one and it is affirmed; else None."""
        return self.parts[0] if len(self.parts) == 1 and self.parts[0].positive else None


class Disjunction(NamedTuple):
    """Claims about different objects, of which at least one holds."""

    claims: tuple[ObjectClaim, ...]


@dataclass
class DescriptionBlock:
    """Objects that exist, claims about them, and rules."""

    objects: list[str] = field(default_factory=list)
    claims: list[ObjectClaim] = field(default_factory=list)
    disjunctions: list[Disjunction] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)


@dataclass
class Rule:
    """What holds for every object that matches the guard; without a guard, for every object."""

    variable: str
    guard: list[ObjectClaim]
    body: DescriptionBlock


@dataclass
class Description:
    """What an image shows: a style and a block."""

    style: str | None
    block: DescriptionBlock


def is_relation(part: ClaimPart) -> bool:
    """Return whether the part relates two objects. Names of objects start with a question mark, words do not."""
    return bool(part.rest) and part.rest[0].startswith("?")


def describe(formula: Formula, suite: str) -> Description:
    """Return the description of a formula.

    Raises:
        WordingError: if the formula is not of a shape that can be put into words.
    """
    problems = [problem for problem in check(formula, suite) if problem.kind != "predicate"]
    if problems:
        raise WordingError(f"the formula is not one of {suite}: {problems[0].message}")
    reading = _FormulaWalk()
    block = reading.block(rename_apart(formula), top=True)
    _require_expressible(block)
    return Description(reading.style, block)


class _FormulaWalk:
    """Collects a description in one walk over a formula."""

    def __init__(self) -> None:
        self.style: str | None = None

    def block(self, formula: Formula, *, top: bool) -> DescriptionBlock:
        block = DescriptionBlock()
        self.collect(formula, block, top)
        return block

    def collect(self, formula: Formula, block: DescriptionBlock, top: bool) -> None:
        match formula:
            case And(parts):
                for part in parts:
                    self.collect(part, block, top)
            case Exists(variable, body):
                block.objects.append(f"?{variable.name}")
                self.collect(body, block, top)
            case Forall(variable, body):
                if not top:
                    raise WordingError("a forall inside a forall cannot be put into words: move it out in front")
                block.rules.append(self.rule(f"?{variable.name}", body))
            case Atom("IsStyle", (Value(word),)):
                if not top or self.style is not None:
                    raise WordingError("a style can be stated once, beside the objects and not inside a forall")
                self.style = word
            case Or((only,)):
                self.collect(only, block, top)
            case Count() | Atom("distinct", _):
                raise WordingError("formulas with counts or distinct cannot be put into words yet")
            case Atom() | Not() | Or():
                self.claim(formula, block)
            case _:
                raise WordingError("only an implies directly under a forall can be put into words, and no iff")

    def claim(self, formula: Formula, block: DescriptionBlock) -> None:
        claims = [_literal(part) for part in (formula.parts if isinstance(formula, Or) else (formula,))]
        if len({claim.subject for claim in claims}) == 1:
            block.claims.append(ObjectClaim(claims[0].subject, tuple(part for claim in claims for part in claim.parts)))
        else:
            block.disjunctions.append(Disjunction(tuple(claims)))

    def rule(self, variable: str, body: Formula) -> Rule:
        if not isinstance(body, Implies):
            return Rule(variable, [], self.block(body, top=False))
        guard = self.block(body.antecedent, top=False)
        if guard.objects or guard.disjunctions or any(claim.subject != variable for claim in guard.claims):
            raise WordingError(f"the condition on {variable} must say of it alone what it is like")
        return Rule(variable, guard.claims, self.block(body.consequent, top=False))


def _literal(formula: Formula) -> ObjectClaim:
    positive = not isinstance(formula, Not)
    atom = formula.body if isinstance(formula, Not) else formula
    if not isinstance(atom, Atom) or not atom.variables:
        raise WordingError("not and or can be applied to single atoms about an object, not of larger formulas")
    subject, *rest = [f"?{a.name}" if isinstance(a, Variable) else a.text for a in atom.arguments]
    if subject in rest:
        raise WordingError(f"{atom} relates an object to itself, which has no words")
    return ObjectClaim(subject, (ClaimPart(atom.predicate, tuple(rest), positive),))


def _require_expressible(block: DescriptionBlock) -> None:
    """Raise WordingError where no noun would fit, or the text would repeat itself."""
    for scope in (block.claims, *(rule.guard for rule in block.rules), *(rule.body.claims for rule in block.rules)):
        seen = [(claim.subject, frozenset(claim.parts)) for claim in scope]
        if len(set(seen)) < len(seen) or any(len(set(c.parts)) < len(c.parts) for c in scope):
            raise WordingError("the formula says the same object twice: leave one of the two out")
        named = [claim.subject for claim in scope if claim.single and claim.single.predicate == "Is"]
        if len(set(named)) < len(named):
            twice = next(obj for obj in named if named.count(obj) > 1)
            raise WordingError(f"{twice} is of two classes, which no noun can name")


def to_formula(description: Description) -> Formula:
    """Return the formula of a description, with the quantifiers of each block in front of it."""
    style = [Atom("IsStyle", (Value(description.style),))] if description.style else []
    body = _block_formula(description.block)
    return And((*style, *body)) if style or len(body) != 1 else body[0]


def _block_formula(block: DescriptionBlock) -> list[Formula]:
    parts: list[Formula] = [_claim_formula(claim) for claim in block.claims]
    parts += [Or(tuple(_claim_formula(claim) for claim in disjunction.claims)) for disjunction in block.disjunctions]
    parts += [_rule_formula(rule) for rule in block.rules]
    for obj in reversed(block.objects):
        parts = [Exists(Variable(obj[1:]), parts[0] if len(parts) == 1 else And(tuple(parts)))]
    return parts


def _rule_formula(rule: Rule) -> Formula:
    body = _conjunction(_block_formula(rule.body))
    if rule.guard:
        body = Implies(_conjunction([_claim_formula(claim) for claim in rule.guard]), body)
    return Forall(Variable(rule.variable[1:]), body)


def _conjunction(parts: list[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _claim_formula(claim: ObjectClaim) -> Formula:
    literals = [_part_formula(claim.subject, part) for part in claim.parts]
    return literals[0] if len(literals) == 1 else Or(tuple(literals))


def _part_formula(subject: str, part: ClaimPart) -> Formula:
    arguments = [Variable(word[1:]) if word.startswith("?") else Value(word) for word in (subject, *part.rest)]
    atom = Atom(part.predicate, tuple(arguments))
    return atom if part.positive else Not(atom)
