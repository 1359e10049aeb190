"""Intermediate representation between a formula and its English sentences.

A description is a style and a block: objects that exist, claims about them, counts, and rules that hold of every object
of some kind. A rule or a count has a block of its own, whose objects may be different ones for each object it is about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from formalimg.language.counts import SignedCount, signed_count
from formalimg.language.lexicon import WordingError
from formalimg.logic.checks import check
from formalimg.logic.syntax import (
    DISTINCT,
    And,
    Atom,
    Count,
    CountBound,
    Exists,
    Forall,
    Formula,
    Implies,
    Not,
    Or,
    Value,
    Variable,
)
from formalimg.logic.variables import rename_apart
from formalimg.logic.vocabulary import Vocabulary


class ClaimPart(NamedTuple):
    """A predicate that is affirmed or denied of the subject of a claim."""

    predicate: str
    rest: tuple[str, ...]
    positive: bool = True


class ObjectClaim(NamedTuple):
    """A claim about one object, consisting of one or more alternative parts."""

    subject: str
    parts: tuple[ClaimPart, ...]

    @property
    def single(self) -> ClaimPart | None:
        """The only part of the claim if it is affirmed, otherwise None."""
        return self.parts[0] if len(self.parts) == 1 and self.parts[0].positive else None


class Disjunction(NamedTuple):
    """Claims about different objects, at least one of which must hold."""

    claims: tuple[ObjectClaim, ...]


@dataclass
class DescriptionBlock:
    """A scope with its objects, claims, disjunctions, rules and counts."""

    objects: list[str] = field(default_factory=list)
    claims: list[ObjectClaim] = field(default_factory=list)
    disjunctions: list[Disjunction] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    counts: list[CountedObjects] = field(default_factory=list)


@dataclass
class Rule:
    """A rule about every object that satisfies the guard, or about every object if the guard is empty."""

    variable: str
    guard: list[ObjectClaim]
    body: DescriptionBlock


@dataclass
class CountedObjects:
    """A count of the objects that satisfy the body, possibly negated."""

    bound: CountBound
    number: int
    variable: str
    body: DescriptionBlock
    positive: bool = True


@dataclass
class Description:
    """The description of an image: a style and a block of claims."""

    style: str | None
    block: DescriptionBlock


def is_relation(part: ClaimPart) -> bool:
    """Return whether the part relates two objects. Object names start with a question mark."""
    return bool(part.rest) and part.rest[0].startswith("?")


def claim_objects(claim: ObjectClaim) -> list[str]:
    """Return the objects mentioned in a claim, starting with the subject."""
    return [claim.subject, *(obj for part in claim.parts if is_relation(part) for obj in part.rest)]


def describe(formula: Formula, suite: str | Vocabulary) -> Description:
    """Convert a formula to a description."""
    problems = [problem for problem in check(formula, suite) if problem.kind != "predicate"]
    if problems:
        name = suite if isinstance(suite, str) else suite.name
        raise WordingError(f"the formula is not one of {name}: {problems[0].message}")
    reading = _FormulaWalk()
    block = reading.block(rename_apart(formula), top=True)
    _require_expressible(block)
    return Description(reading.style, block)


class _FormulaWalk:
    """Builds a description in a single pass over a formula."""

    def __init__(self) -> None:
        self.style: str | None = None

    def block(self, formula: Formula, *, top: bool) -> DescriptionBlock:
        block = DescriptionBlock()
        self.collect(formula, block, top)
        return block

    def collect(self, formula: Formula, block: DescriptionBlock, top: bool) -> None:
        counted = signed_count(formula)
        if counted is not None:
            block.counts.append(self.count(counted))
            return
        match formula:
            case And(parts):
                for part in parts:
                    self.collect(part, block, top)
            case Exists(variable, body):
                block.objects.append(f"?{variable.name}")
                self.collect(body, block, top)
            case Forall(variable, body):
                if not top:
                    raise WordingError(
                        "a forall inside a forall or count cannot be put into words: move it out in front"
                    )
                block.rules.append(self.rule(f"?{variable.name}", body))
            case Atom("IsStyle", (Value(word),)):
                if not top or self.style is not None:
                    raise WordingError("a style can be stated once, beside the objects and not inside a forall")
                self.style = word
            case Or((only,)):
                self.collect(only, block, top)
            case Atom(predicate, arguments) if predicate == DISTINCT and len(arguments) > 2:
                for pair in combinations(arguments, 2):
                    self.claim(Atom(DISTINCT, pair), block)
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

    def count(self, found: SignedCount) -> CountedObjects:
        count, variable = found.counted, f"?{found.counted.variable.name}"
        body = self.block(count.body, top=False)
        if body.rules or body.counts or body.disjunctions:
            raise WordingError(f"what is counted as {variable} must be said of one object: no choice or count inside")
        for claim in body.claims:
            if claim.subject != variable and claim.subject not in body.objects and not _relates_to(claim, variable):
                raise WordingError(f"a count of {variable} must say nothing else: move {claim.subject} out in front")
        return CountedObjects(count.bound, count.number, variable, body, found.positive)

    def rule(self, variable: str, body: Formula) -> Rule:
        if not isinstance(body, Implies):
            return Rule(variable, [], self.block(body, top=False))
        guard = self.block(body.antecedent, top=False)
        if (
            guard.objects
            or guard.disjunctions
            or guard.counts
            or any(claim.subject != variable for claim in guard.claims)
        ):
            raise WordingError(f"the condition on {variable} must say of it alone what it is like")
        return Rule(variable, guard.claims, self.block(body.consequent, top=False))


def _literal(formula: Formula) -> ObjectClaim:
    positive = not isinstance(formula, Not)
    atom = formula.body if isinstance(formula, Not) else formula
    if not isinstance(atom, Atom) or not atom.variables:
        raise WordingError("not and or can be applied to single atoms about an object, not of larger formulas")
    if atom.predicate == DISTINCT and len(atom.arguments) > 2:
        raise WordingError(f"{atom} is about more than two objects, which has no words under not or or")
    subject, *rest = [f"?{a.name}" if isinstance(a, Variable) else a.text for a in atom.arguments]
    if subject in rest:
        raise WordingError(f"{atom} relates an object to itself, which has no words")
    return ObjectClaim(subject, (ClaimPart(atom.predicate, tuple(rest), positive),))


def _relates_to(claim: ObjectClaim, variable: str) -> bool:
    """Return whether the claim consists of a single relation to the variable, possibly negated."""
    return len(claim.parts) == 1 and claim.parts[0].rest == (variable,)


def _require_expressible(block: DescriptionBlock) -> None:
    """Raise WordingError for duplicate claims or objects with more than one class."""
    counts = [count for inner in (block, *(rule.body for rule in block.rules)) for count in inner.counts]
    scopes = [block.claims, *(rule.guard for rule in block.rules), *(rule.body.claims for rule in block.rules)]
    for scope in (*scopes, *(count.body.claims for count in counts)):
        seen = [(claim.subject, frozenset(claim.parts)) for claim in scope]
        if len(set(seen)) < len(seen) or any(len(set(c.parts)) < len(c.parts) for c in scope):
            raise WordingError("the formula says the same object twice: leave one of the two out")
        named = [claim.subject for claim in scope if claim.single and claim.single.predicate == "Is"]
        if len(set(named)) < len(named):
            twice = next(obj for obj in named if named.count(obj) > 1)
            raise WordingError(f"{twice} is of two classes, which no noun can name")


MAX_OBJECTS = 90
"""The most objects of a block. Each is a quantifier inside the one before, and formulas are nested at most 200 deep."""


def to_formula(description: Description) -> Formula:
    """Convert a description to a formula, placing the quantifiers of each block at its start."""
    style = [Atom("IsStyle", (Value(description.style),))] if description.style else []
    body = _block_formula(description.block)
    return And((*style, *body)) if style or len(body) != 1 else body[0]


def _block_formula(block: DescriptionBlock) -> list[Formula]:
    if len(block.objects) > MAX_OBJECTS:
        found = f"the text speaks of {len(block.objects):,} objects"
        raise WordingError(f"{found}, the limit is {MAX_OBJECTS}: describe fewer, or split it into several prompts")
    parts: list[Formula] = [_claim_formula(claim) for claim in block.claims]
    parts += [Or(tuple(_claim_formula(claim) for claim in disjunction.claims)) for disjunction in block.disjunctions]
    parts += [_count_formula(count) for count in block.counts]
    parts += [_rule_formula(rule) for rule in block.rules]
    for obj in reversed(block.objects):
        parts = [Exists(Variable(obj[1:]), parts[0] if len(parts) == 1 else And(tuple(parts)))]
    return parts


def _count_formula(counted: CountedObjects) -> Formula:
    body = _conjunction(_block_formula(counted.body))
    count = Count(counted.bound, counted.number, Variable(counted.variable[1:]), body)
    return count if counted.positive else Not(count)


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
