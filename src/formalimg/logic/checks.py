"""Check a formula against a vocabulary and report every problem with its position."""

from __future__ import annotations

from pathlib import Path

from formalimg.logic.errors import NOWHERE, FormulaError, Problem, ProblemKind, Span
from formalimg.logic.parser import as_formula, parse, try_parse
from formalimg.logic.prenex import component_sizes
from formalimg.logic.syntax import DISTINCT, Atom, Count, Exists, Forall, Formula, Value, Variable, children
from formalimg.logic.variables import scope_problem
from formalimg.logic.vocabulary import VARIABLE, Predicate, Vocabulary, closest_match, vocabulary

_MAX_LISTED = 12


def check(
    formula: Formula | str | bytes,
    suite: str | Path | Vocabulary = "knolling",
    *,
    k: int | None = None,
    single_component: bool = False,
) -> list[Problem]:
    """Return every problem with a formula as an instruction of a suite, or an empty list if it is valid.

    Args:
        formula: a parsed formula, or text (then syntax problems are reported too).
        suite: the vocabulary to check against: a name, a TOML file, or a vocabulary.
        k: if given, the complexity the formula must have.
        single_component: if true, all variables must be in one component.
    """
    words = vocabulary(suite)
    if isinstance(formula, str | bytes):
        parsed, problems = try_parse(formula)
        if parsed is None:
            return problems
        formula = parsed
    elif as_formula(formula).span is NOWHERE:
        formula = parse(str(formula))  # built by code: give every node a position
    checker = _Checker(words)
    checker.visit(formula, {})
    problems = checker.problems
    if k is not None or single_component:
        problems += _structural_problems(formula, k, single_component)
    return sorted(problems, key=lambda problem: problem.span.start)


def _structural_problems(formula: Formula, k: int | None, single_component: bool) -> list[Problem]:
    try:
        sizes = component_sizes(formula)
    except FormulaError as error:
        return [problem for problem in error.problems if problem.kind != "scope"]  # scope is reported already
    messages = []
    largest = max(sizes, default=0)
    if k is not None and largest != k:
        messages.append(f"the complexity is K = {largest}, expected was {k}")
    if single_component and len(sizes) > 1:
        together = " + ".join(map(str, sizes))
        messages.append(f"the variables fall into {len(sizes)} separate components ({together}), expected was one")
    return [Problem("complexity", message, formula.span) for message in messages]


class _Checker:
    def __init__(self, words: Vocabulary) -> None:
        self.vocabulary = words
        self.problems: list[Problem] = []

    def report(self, kind: ProblemKind, message: str, span: Span) -> None:
        self.problems.append(Problem(kind, message, span))

    def visit(self, formula: Formula, used: dict[str, bool]) -> None:
        """Check a formula, recording in `used` which of the variables in scope occur."""
        kind = type(formula)
        if kind is Atom:
            self.atom(formula, used)  # type: ignore[arg-type]
        elif kind is Exists or kind is Forall or kind is Count:
            variable = formula.variable  # type: ignore[union-attr]
            inner = {**used, variable.name: False}
            self.visit(formula.body, inner)  # type: ignore[union-attr]
            if not inner[variable.name]:
                self.report("unused", f"?{variable.name} is bound here but never used", variable.span)
            for name in used:
                if name != variable.name:
                    used[name] = inner[name]
        else:
            for part in children(formula):
                self.visit(part, used)

    def atom(self, atom: Atom, used: dict[str, bool]) -> None:
        for argument in atom.arguments:
            if type(argument) is Variable:
                if argument.name in used:
                    used[argument.name] = True
                else:
                    near = closest_match(argument.name, used)
                    problem = scope_problem(argument)
                    advice = f": did you mean ?{near}?" if near else ""
                    self.report(problem.kind, f"{problem.message}{advice}", problem.span)
        if atom.predicate == DISTINCT:
            self.distinct(atom)
            return
        predicate = self.vocabulary.predicates.get(atom.predicate)
        if predicate is None:
            near = closest_match(atom.predicate, self.vocabulary.predicates)
            advice = f"did you mean {near}?" if near else f"it knows {', '.join(self.vocabulary.predicates)}"
            message = f"{self.vocabulary.name} has no predicate {atom.predicate}: {advice}"
            self.report("predicate", message, atom.span)
        elif len(atom.arguments) != len(predicate.arguments):
            usage = " ".join([predicate.name, *(f"<{kind}>" for kind in predicate.arguments)])
            arity = f"{len(atom.arguments)} argument{'s' * (len(atom.arguments) != 1)}"
            self.report("arity", f"{predicate.name} is written ({usage}), here it has {arity}", atom.span)
        else:
            for position, kind in enumerate(predicate.arguments):
                self.argument(atom, predicate, position, kind)

    def distinct(self, atom: Atom) -> None:
        for argument in atom.arguments:
            if not isinstance(argument, Variable):
                self.report("argument", f"{DISTINCT} takes variables, not a word", argument.span)
        if len(atom.arguments) < 2:
            usage = f"{DISTINCT} is written ({DISTINCT} ?a ?b …), with two variables or more"
            self.report("arity", usage, atom.span)
        elif len(set(atom.variables)) < len(atom.variables):
            self.report("argument", f"a variable is never {DISTINCT} from itself: name each one once", atom.span)

    def argument(self, atom: Atom, predicate: Predicate, position: int, kind: str) -> None:
        argument = atom.arguments[position]
        if isinstance(argument, Variable):
            if kind != VARIABLE:
                message = f"{predicate.name} takes a {kind} here, not a variable"
                self.report("argument", message, argument.span)
        elif kind == VARIABLE:
            self.report("argument", f"{predicate.name} takes a variable here, not a word", argument.span)
        elif argument.text not in self.vocabulary.words[kind]:
            self.word(predicate, argument, kind)

    def word(self, predicate: Predicate, value: Value, kind: str) -> None:
        kinds = self.vocabulary.kinds_of(value.text)
        if kinds:
            taker = self.vocabulary.predicate_taking(kinds[0])
            message = f"{predicate.name} takes a {kind}, and {value} is a {kinds[0]}: did you mean {taker}?"
            self.report("argument", message, value.span)
            return
        near = self.vocabulary.nearest_word(value.text, kind)
        words = self.vocabulary.words[kind]
        more = f" and {len(words) - _MAX_LISTED} more" if len(words) > _MAX_LISTED else ""
        advice = f"did you mean '{near}'?" if near else f"choose from {', '.join(words[:_MAX_LISTED])}{more}"
        self.report("word", f"{self.vocabulary.name} has no {kind} {value}: {advice}", value.span)
