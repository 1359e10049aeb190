"""Intermediate representation between a formula and its English sentences.

A description is a style and a block: objects that exist, claims about them, counts, and rules about every object of
some kind. A rule or a count has its own block, whose objects may differ for each object it is about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

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

MAX_OBJECTS = 90  # Limit per block: each object is a nested quantifier, and formulas may be nested 200 deep


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


def phrase_claims(variable: str, cls: str | None, attributes: list[tuple[ClaimPart, ...]]) -> list[ObjectClaim]:
    """Return the claims that a noun phrase makes about its object: the class, if any, and each attribute."""
    parts = [(ClaimPart("Is", (cls,)),)] if cls else []
    return [ObjectClaim(variable, alternatives) for alternatives in (*parts, *attributes)]


def describe(formula: Formula, suite: str | Vocabulary) -> Description:
    """Convert a formula to a description."""
    problems = [problem for problem in check(formula, suite) if problem.kind != "predicate"]
    if problems:
        name = suite if isinstance(suite, str) else suite.name
        raise WordingError(f"the formula is not one of {name}: {problems[0].message}")
    walk = _FormulaWalk()
    block = walk.block(rename_apart(formula), top=True)
    _require_expressible(block)
    return Description(walk.style, block)


class _FormulaWalk:
    """Builds a description in a single pass over a formula."""

    def __init__(self) -> None:
        self.style: str | None = None

    def block(self, formula: Formula, *, top: bool = False) -> DescriptionBlock:
        block = DescriptionBlock()
        self.collect(formula, block, top)
        return block

    def collect(self, formula: Formula, block: DescriptionBlock, top: bool) -> None:
        signed = count_with_sign(formula)
        if signed is not None:
            block.counts.append(self.count(*signed))
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
                    raise WordingError("no words for a forall inside a forall or count: move it out in front")
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

    def count(self, count: Count, positive: bool) -> CountedObjects:
        variable, body = f"?{count.variable.name}", self.block(count.body)
        if body.rules or body.counts or body.disjunctions:
            raise WordingError(f"what is counted as {variable} must be said of one object: no choice or count inside")
        for claim in body.claims:
            relates = len(claim.parts) == 1 and claim.parts[0].rest == (variable,)
            if claim.subject not in (variable, *body.objects) and not relates:
                raise WordingError(f"a count of {variable} must say nothing else: move {claim.subject} out in front")
        return CountedObjects(count.bound, count.number, variable, body, positive)

    def rule(self, variable: str, body: Formula) -> Rule:
        if not isinstance(body, Implies):
            return Rule(variable, [], self.block(body))
        guard = self.block(body.antecedent)
        is_about_others = any(claim.subject != variable for claim in guard.claims)
        if guard.objects or guard.disjunctions or guard.counts or is_about_others:
            raise WordingError(f"the condition on {variable} must say of it alone what it is like")
        return Rule(variable, guard.claims, self.block(body.consequent))


def _literal(formula: Formula) -> ObjectClaim:
    positive = not isinstance(formula, Not)
    atom = formula.body if isinstance(formula, Not) else formula
    if not isinstance(atom, Atom) or not atom.variables:
        raise WordingError("not and or can be applied to single atoms about an object, not to larger formulas")
    if atom.predicate == DISTINCT and len(atom.arguments) > 2:
        raise WordingError(f"{atom} is about more than two objects, which has no words under not or or")
    subject, *rest = [f"?{a.name}" if isinstance(a, Variable) else a.text for a in atom.arguments]
    if subject in rest:
        raise WordingError(f"{atom} relates an object to itself, which has no words")
    return ObjectClaim(subject, (ClaimPart(atom.predicate, tuple(rest), positive),))


def _require_expressible(block: DescriptionBlock) -> None:
    """Raise WordingError for duplicate claims or objects with more than one class."""
    scopes = [block.claims, *(rule.guard for rule in block.rules), *(rule.body.claims for rule in block.rules)]
    scopes += [count.body.claims for inner in (block, *(rule.body for rule in block.rules)) for count in inner.counts]
    for scope in scopes:
        distinct = {(claim.subject, frozenset(claim.parts)) for claim in scope}
        if len(distinct) < len(scope) or any(len(set(claim.parts)) < len(claim.parts) for claim in scope):
            raise WordingError("the formula says the same of an object twice: leave one of the two out")
        named = [claim.subject for claim in scope if claim.single and claim.single.predicate == "Is"]
        if twice := next((obj for obj in named if named.count(obj) > 1), None):
            raise WordingError(f"{twice} is of two classes, which no noun can name")


# --- counts


def count_with_sign(formula: Formula) -> tuple[Count, bool] | None:
    """Normalize a count or negated count to the form used in English, with its sign, or return None for others.

    "Not at least three" becomes "at most two", and "at most zero" becomes "exactly zero". The negation is preserved
    only in "not exactly three" and in "not at least zero", which never holds.
    """
    if isinstance(formula, Not):
        inner = count_with_sign(formula.body)
        return inner and (_negate(inner[0]) if inner[1] else (inner[0], True))
    if not isinstance(formula, Count):
        return None
    return (_with_bound(formula, "exactly", 0) if formula.range == (0, 0) else formula), True


def _negate(count: Count) -> tuple[Count, bool]:
    low, high = count.range
    if high is None and low:
        return _with_bound(count, "at-most" if low > 1 else "exactly", low - 1), True
    if count.bound == "at-most" or count.range == (0, 0):
        return _with_bound(count, "at-least", count.number + 1), True
    return count, False


def _with_bound(count: Count, bound: CountBound, number: int) -> Count:
    return Count(bound, number, count.variable, count.body, count.span)


# --- from descriptions to formulas


def to_formula(description: Description) -> Formula:
    """Convert a description to a formula, placing the quantifiers of each block at its start."""
    style = [Atom("IsStyle", (Value(description.style),))] if description.style else []
    return _conjunction([*style, *_block_formulas(description.block)])


def _block_formulas(block: DescriptionBlock) -> list[Formula]:
    if len(block.objects) > MAX_OBJECTS:
        raise WordingError(
            f"the text speaks of {len(block.objects):,} objects, the limit is {MAX_OBJECTS}: describe fewer, or split"
            " it into several prompts"
        )
    parts: list[Formula] = [_claim_formula(claim) for claim in block.claims]
    parts += [Or(tuple(_claim_formula(claim) for claim in disjunction.claims)) for disjunction in block.disjunctions]
    for counted in block.counts:
        body = _conjunction(_block_formulas(counted.body))
        count = Count(counted.bound, counted.number, Variable(counted.variable[1:]), body)
        parts.append(count if counted.positive else Not(count))
    for rule in block.rules:
        body = _conjunction(_block_formulas(rule.body))
        if rule.guard:
            body = Implies(_conjunction([_claim_formula(claim) for claim in rule.guard]), body)
        parts.append(Forall(Variable(rule.variable[1:]), body))
    for obj in reversed(block.objects):
        parts = [Exists(Variable(obj[1:]), _conjunction(parts))]
    return parts


def _conjunction(parts: list[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _claim_formula(claim: ObjectClaim) -> Formula:
    literals: list[Formula] = []
    for part in claim.parts:
        arguments = [
            Variable(word[1:]) if word.startswith("?") else Value(word) for word in (claim.subject, *part.rest)
        ]
        atom = Atom(part.predicate, tuple(arguments))
        literals.append(atom if part.positive else Not(atom))
    return literals[0] if len(literals) == 1 else Or(tuple(literals))
