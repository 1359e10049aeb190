"""Build short, readable proofs and refutations of formulas in a world.

Their size is bounded: only a few of many candidates are listed and the rest counted, and only one is explained within a
nested formula. If finding the reasons takes too many steps, the proof only states the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from formalimg.logic.constraints import Semantics
from formalimg.logic.evaluation import Binding, Evaluator, TooHardError
from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Iff, Implies, Not, Or, Value
from formalimg.logic.variables import existential_block, free_variables
from formalimg.logic.world import OutOfStepsError, World, members

MAX_LISTED = 5  # How many candidates of one variable, or instances of one condition, are listed one by one
MAX_PROVED = 50  # How many failing parts of one `or` are proved; of further ones the proof only says that they fail
_MAX_COUNTED = 5  # How many of the objects that a count finds are named
_GAVE_UP = "why that is takes too many steps to find out"


class VariableBinding(NamedTuple):
    """A variable and the object bound to it."""

    variable: str
    obj: int
    description: str

    def to_json(self) -> dict[str, object]:
        """Return JSON-serializable data. The stored format uses the key `thing` for the object."""
        return {"variable": self.variable, "thing": self.obj, "description": self.description}


class OtherCandidates(NamedTuple):
    """Candidates that are summarized rather than listed: how many of them fail each claim."""

    number: int
    claim: Formula


@dataclass(frozen=True)
class Proof:
    """An explanation of why a formula holds or fails."""

    formula: Formula  # the formula, with variables renamed apart
    holds: bool  # whether it holds
    reason: str = ""  # a short text, with numbers where there are any
    bindings: tuple[VariableBinding, ...] = ()  # the objects that its quantified variables stand for here
    # the proofs that the reason depends on. For an `exists` that fails: the candidates for one variable, given the
    # bindings of the others, each with the first claim that it fails
    parts: tuple[Proof, ...] = ()
    # for an `exists` that fails: conditions that cannot hold together. Without one of them they could, except for
    # those that only state the class of an object; these are kept for the reader
    conflict: tuple[Formula, ...] = ()
    others: tuple[OtherCandidates, ...] = ()  # the candidates that are not among the parts
    candidate: VariableBinding | None = None  # for a part about a candidate: which one

    def to_json(self) -> dict[str, object]:
        """Return the proof as JSON-serializable data, omitting empty fields."""
        data: dict[str, object] = {"holds": self.holds, "formula": str(self.formula)}
        if self.candidate:
            data["candidate"] = self.candidate.to_json()
        if self.reason:
            data["reason"] = self.reason
        if self.bindings:
            data["bindings"] = [bound.to_json() for bound in self.bindings]
        if self.conflict:
            data["conflict"] = [str(claim) for claim in self.conflict]
        if self.parts:
            data["parts"] = [part.to_json() for part in self.parts]
        if self.others:
            data["others"] = [{"number": number, "fail": str(claim)} for number, claim in self.others]
        return data


def prove(formula: Formula, holds: bool, world: World, semantics: Semantics, style: str | None) -> Proof:
    """Explain why a closed formula holds or fails in a world.

    If finding the reasons takes too many steps, the proof only states the verdict.
    """
    try:
        return _Prover(Evaluator(world, semantics, style)).prove(formula, {})
    except (OutOfStepsError, TooHardError):
        return Proof(formula, holds, _GAVE_UP)


class _Prover:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.world = evaluator.world

    def prove(self, formula: Formula, binding: Binding) -> Proof:
        match formula:
            case Atom():
                return self.atom(formula, binding)
            case Not(body):
                inner = self.prove(body, binding)
                reason = "what it denies holds" if inner.holds else "what it denies fails"
                return Proof(formula, not inner.holds, reason, (), (inner,))
            case And(parts):
                return self.all_of(formula, parts, binding)
            case Or(parts):
                return self.any_of(formula, parts, binding)
            case Implies(antecedent, consequent):
                return self.implication(formula, antecedent, consequent, binding)
            case Iff(left, right):
                sides = (self.prove(left, binding), self.prove(right, binding))
                agree = sides[0].holds == sides[1].holds
                return Proof(formula, agree, "the sides agree" if agree else "the sides differ", (), sides)
            case Exists():
                return self.some(formula, binding)
            case Forall():
                return self.every(formula, binding)
            case Count(_, _, variable, body):
                objects = self.evaluator.selected(variable.name, (), [body], binding) if len(self.world) else 0
                holds = formula.allows(objects.bit_count())
                return Proof(formula, holds, describe_count(formula, True, objects))

    def outline(self, formula: Formula, binding: Binding) -> Proof:
        """Return the verdict for a formula without its parts, including evidence if it is an atom."""
        if isinstance(formula, Atom):
            return self.atom(formula, binding)
        return Proof(formula, self.evaluator.holds(formula, binding))

    def atom(self, atom: Atom, binding: Binding) -> Proof:
        holds = self.evaluator.holds(atom, binding)
        objects = tuple(binding[name] for name in atom.variables)
        if not objects:
            return Proof(atom, holds, f"the style is '{self.evaluator.style}'")
        return Proof(atom, holds, self.world.evidence(atom, objects))

    def all_of(self, formula: Formula, parts: Sequence[Formula], binding: Binding) -> Proof:
        holding = [self.evaluator.holds(part, binding) for part in parts]
        if all(holding):
            return Proof(formula, True, "", (), tuple(self.prove(part, binding) for part in parts))
        # Parts that hold next to a failure are only outlined; those that fail are proved.
        proofs = tuple(
            self.outline(part, binding) if holds else self.prove(part, binding)
            for part, holds in zip(parts, holding, strict=True)
        )
        return Proof(formula, False, f"{holding.count(False)} of {len(parts)} conditions fail", (), proofs)

    def any_of(self, formula: Formula, parts: Sequence[Formula], binding: Binding) -> Proof:
        for part in parts:
            if self.evaluator.holds(part, binding):
                return Proof(formula, True, "one part is enough", (), (self.prove(part, binding),))
        proofs = tuple(
            self.prove(part, binding) if n < MAX_PROVED else Proof(part, False) for n, part in enumerate(parts)
        )
        return Proof(formula, False, "every part fails", (), proofs)

    def implication(self, formula: Formula, antecedent: Formula, consequent: Formula, binding: Binding) -> Proof:
        if not self.evaluator.holds(antecedent, binding):
            return Proof(formula, True, "its condition fails", (), (self.prove(antecedent, binding),))
        result = self.prove(consequent, binding)
        reason = "its consequence holds" if result.holds else "its condition holds, its consequence fails"
        return Proof(formula, result.holds, reason, (), (result,))

    # --- exists

    def some(self, formula: Exists, binding: Binding) -> Proof:
        variables, claims = existential_block(formula)
        if not len(self.world):
            return Proof(formula, False, "there is nothing in the scene")
        witness = self.evaluator.first_binding(variables, claims, binding)
        if witness is not None:
            parts = tuple(self.prove(claim, witness) for claim in claims)
            return Proof(formula, True, "", self.bound(variables, witness), parts)
        return self.none_fits(formula, variables, claims, binding)

    def none_fits(self, formula: Formula, variables: list[str], claims: list[Formula], binding: Binding) -> Proof:
        """Explain why no objects fit, listing conflicting claims, the closest candidates and the reasons they fail."""
        conflict = self.conflict(variables, claims, binding)
        *satisfied, last = conflict
        closest = self.evaluator.first_binding(variables, satisfied, binding)
        assert closest is not None, "all but the last claim of a conflict can hold together"
        mentioned = free_variables(last)
        stuck = next((name for name in reversed(variables) if name in mentioned), None)
        if stuck is None:  # the claim has no variable that is bound here
            return Proof(formula, False, "whatever objects are chosen", (), (self.prove(last, closest),))
        involved = {name for claim in conflict for name in free_variables(claim)} - {stuck}
        bindings = self.bound([name for name in variables if name in involved], closest)
        stuck_claims = [claim for claim in conflict if stuck in free_variables(claim)]
        candidates, other_candidates = self.candidates(stuck, stuck_claims, closest)
        return Proof(
            formula, False, f"nothing can be ?{stuck}", bindings, candidates, tuple(conflict), other_candidates
        )

    def conflict(self, variables: list[str], claims: list[Formula], binding: Binding) -> list[Formula]:
        """Return a minimal set of conflicting claims, including the class claims of the objects that they mention.

        The last claim in the result is the first one in text order that conflicts with those before it.
        """

        def possible(chosen: list[Formula]) -> bool:
            return self.evaluator.satisfiable(variables, chosen, binding)

        low, high = 0, len(claims)  # the first `low` claims are possible, the first `high` are not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if possible(claims[:middle]) else (low, middle)
        *before, last = claims[:high]
        for claim in reversed(before):
            without = [candidate for candidate in before if candidate is not claim]
            if not _states_class(claim) and not possible([*without, last]):
                before = without
        # Classes of objects that nothing else in the conflict mentions are not part of it.
        spoken_of = {name for claim in [*before, last] if not _states_class(claim) for name in free_variables(claim)}
        spoken_of |= free_variables(last)
        return [*(claim for claim in before if free_variables(claim) <= spoken_of | set(binding)), last]

    def candidates(
        self, variable: str, claims: list[Formula], binding: Binding
    ) -> tuple[tuple[Proof, ...], tuple[OtherCandidates, ...]]:
        """Explain why each candidate for a variable fails, listing those that satisfy the most claims first.

        Some objects are only counted: those that fail the very first claim, mostly because of their class; those beyond
        MAX_LISTED; and those that fail a claim other than an atom, except for the first, which is explained in full.
        """
        failed: list[tuple[int, int]] = []  # how many claims hold before the first that fails, and the object
        other_bindings = {name: obj for name, obj in binding.items() if name != variable}
        remaining = (1 << len(self.world)) - 1
        for n, claim in enumerate(claims):
            # One question for all objects: asked for each, a long claim would be read as often as there are objects.
            fitting = remaining & self.evaluator.selected(variable, (), [claim], other_bindings)
            failed.extend((n, obj) for obj in members(remaining & ~fitting))
            remaining = fitting
        failed.sort(key=lambda entry: (-entry[0], entry[1]))
        listed: list[Proof] = []
        counted: Counter[int] = Counter()
        for passed, obj in failed:
            claim, tried = claims[passed], {**binding, variable: obj}
            promising = passed > 0 or (len(claims) == 1 and not _states_class(claim))
            if promising and len(listed) < MAX_LISTED and (not listed or isinstance(claim, Atom)):
                proof = self.prove(claim, tried)
                listed.append(replace(proof, candidate=self.bound([variable], tried)[0]))
            else:
                counted[passed] += 1
        return tuple(listed), tuple(
            OtherCandidates(counted[passed], claims[passed]) for passed in sorted(counted, reverse=True)
        )

    # --- forall

    def every(self, formula: Forall, binding: Binding) -> Proof:
        name, body = formula.variable.name, formula.body
        if not len(self.world):
            return Proof(formula, not self.evaluator.strict, "there is nothing in the scene")
        antecedent, consequent = (body.antecedent, body.consequent) if isinstance(body, Implies) else (None, body)
        concerned = (1 << len(self.world)) - 1
        if antecedent is not None:
            concerned = self.evaluator.selected(name, (), [antecedent], binding)
        if not concerned:
            return self.no_instance(formula, binding)
        fitting = concerned & self.evaluator.selected(name, (), [consequent], binding)
        failing = concerned & ~fitting
        count, bad = concerned.bit_count(), failing.bit_count()
        which = "objects that meet the condition" if antecedent is not None else "objects"
        if not failing:
            names = self.listed(concerned)
            reason = (
                f"holds for all {count} {which}: {names}" if count > 1 else f"holds for {names}, the only such object"
            )
            first = next(members(concerned))
        else:
            reason = f"fails for {bad} of {count} {which}: {self.listed(failing)}"
            first = next(members(failing))
        tried = {**binding, name: first}
        inner = self.prove(consequent, tried)
        return Proof(formula, not failing, reason, self.bound([name], tried), (inner,))

    def no_instance(self, formula: Forall, binding: Binding) -> Proof:
        """Return the proof for a `forall` whose condition is met by no object."""
        assert isinstance(formula.body, Implies)
        if not self.evaluator.strict:
            return Proof(formula, True, "no object meets the condition")
        instance = self.prove(Exists(formula.variable, formula.body.antecedent), binding)
        return Proof(formula, False, "no object meets the condition, and strict forall wants one", (), (instance,))

    # --- names

    def bound(self, variables: Sequence[str], binding: Binding) -> tuple[VariableBinding, ...]:
        return tuple(VariableBinding(name, binding[name], self.world.describe(binding[name])) for name in variables)

    def listed(self, objects: int) -> str:
        names = [self.world.describe(obj) for obj in members(objects)]
        more = len(names) - MAX_LISTED
        return ", ".join(names[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _states_class(claim: Formula) -> bool:
    return isinstance(claim, Atom) and claim.predicate == "Is"


def describe_count(count: Count, positive: bool, objects: int) -> str:
    """Describe what a count requires and what was found, such as `3 cups needed, 2 found: #0 #4`."""
    minimum, maximum, but = count.limits(positive)
    if but is not None:
        needed = f"any number of {_format_noun(count, 2)} but {but} allowed"
    elif maximum == -1:
        needed = f"no number of {_format_noun(count, 2)} allowed"
    elif maximum == 0:
        needed = f"no {_format_noun(count, 1)} allowed"
    elif minimum == maximum:
        needed = f"{minimum} {_format_noun(count, minimum)} needed"
    elif maximum is None:
        needed = f"at least {minimum} {_format_noun(count, minimum)} needed"
    else:
        needed = f"at most {maximum} {_format_noun(count, maximum)} allowed"
    names = [f"#{obj}" for obj in members(objects)]
    more = f" and {len(names) - _MAX_COUNTED} more" if len(names) > _MAX_COUNTED else ""
    count_text = f"{len(names)} found: {' '.join(names[:_MAX_COUNTED])}{more}" if names else "none found"
    return f"{needed}, {count_text}"


def _format_noun(count: Count, number: int) -> str:
    """Return a noun phrase for the counted objects, such as `red cups`, or `such cups` for more complex conditions."""
    parts = count.body.parts if isinstance(count.body, And) else (count.body,)
    classes, words, more = [], [], False
    for part in parts:
        match part:
            case Atom("Is", (variable, Value(word))) if variable == count.variable:
                classes.append(word.replace("_", " "))
            case Atom(_, (variable, Value(word))) if variable == count.variable:
                words.append(word.replace("_", " "))
            case _:
                more = True
    noun = classes[0] if len(classes) == 1 else "object"
    if more or len(classes) > 1:
        words.insert(0, "such")
    return " ".join([*words, noun if number == 1 else _pluralize(noun)])


_IRREGULAR = {"mouse": "mice", "person": "people", "child": "children", "man": "men", "woman": "women"}


def _pluralize(noun: str) -> str:
    """Return an approximate plural of a class name, for use in messages that also show the formula."""
    before, space, last = noun.rpartition(" ")
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif last.endswith("fe"):
        last = f"{last[:-2]}ves"
    elif last.endswith("y") and last[-2:-1] not in set("aeiou"):
        last = f"{last[:-1]}ies"
    elif last.endswith(("x", "z", "ch", "sh", "ss")):
        last = f"{last}es"
    elif not last.endswith("s"):
        last = f"{last}s"
    return f"{before}{space}{last}"
