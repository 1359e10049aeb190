"""Parse text into a formula, reporting all syntax errors together.

Tokens are read in one pass with a stack of open parentheses, so that deep nesting needs no recursion. A list that is
not a formula is reported and replaced by a placeholder; the lists around it are still checked.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.logic.errors import FormulaError, Problem, SourceText, Span
from formalimg.logic.syntax import (
    COUNT_BOUNDS,
    DISTINCT,
    And,
    Argument,
    Atom,
    Count,
    CountBound,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Value,
    Variable,
)
from formalimg.logic.vocabulary import closest_match

MAX_CHARACTERS = 100_000  # The maximum length of a formula; a K = 10 formula has about 2,000 characters
MAX_DEPTH = 200  # The maximum nesting depth; a K = 10 formula is about 15 deep
MAX_DISTINCT_PAIRS = 10_000  # The most pairs of variables that are said to be distinct, in all of a formula
MAX_COUNT = 1000  # The largest number of a counting quantifier
OPERATORS = ("and", "or", "not", "implies", "iff", "exists", "forall", *COUNT_BOUNDS)

# Sets, because parsing takes most of the time of loading a suite.
_OPERATOR_SET = frozenset(OPERATORS)
_FORMULAS = frozenset([Atom, Not, And, Or, Implies, Iff, Exists, Forall, Count])

_TOKEN = re.compile(
    # First, a plain atom as a whole: most of a formula consists of these, and one token is faster than five.
    r"""\( (?!(?i:and|or|not|implies|iff|exists|forall|exactly|at-least|at-most)\s) ([^\s()'"?;]+) \s+ (\?[\w-]+)
           (?: \s+ (\?[\w-]+ | '[^'\n]*') )? \)
      | [()]                        # a parenthesis
      | '[^'\n]*' | "[^"\n]*"       # a quoted value
      | \?[\w-]+                    # a variable
      | [^\s()'"?;]+                # a word
      | ;[^\n]*                     # a comment
      | \S                          # anything else is a stray character
    """,
    re.VERBOSE,
)


class _Symbol(NamedTuple):
    """An unquoted symbol."""

    text: str
    span: Span


class _InvalidList(NamedTuple):
    """Placeholder for a list that is not a valid formula and has already been reported."""

    span: Span


_Item: TypeAlias = Formula | Argument | _Symbol | _InvalidList


class _OpenList(NamedTuple):
    """An open parenthesis and the items read after it so far."""

    start: int
    items: list[_Item]


def parse(text: str | bytes) -> Formula:
    """Parse one formula.

    Raises:
        FormulaError: if the text is not a formula; the error contains all problems with their positions.
    """
    formula, problems = try_parse(text)
    if problems or formula is None:
        raise FormulaError(problems)
    return formula


def as_formula(formula: Formula | str) -> Formula:
    """Return the formula unchanged, or parse it if it is a string."""
    if isinstance(formula, str):
        return parse(formula)
    if not isinstance(formula, Formula):
        raise FormalimgError(
            f"a formula cannot be of the type {type(formula).__name__}: give text, or what parse() returned"
        )
    return formula


def try_parse(text: str | bytes) -> tuple[Formula | None, list[Problem]]:
    """Parse one formula and return it (None if parsing fails) together with all syntax problems."""
    if not isinstance(text, str | bytes):
        raise FormalimgError(f"a formula cannot be of the type {type(text).__name__}: give a str or bytes")
    try:
        source = SourceText(text if isinstance(text, str) else _decode_utf8(text))
    except FormulaError as error:
        return None, list(error.problems)
    reader = _Parser(source)
    return reader.read(), sorted(reader.problems, key=lambda problem: problem.span.start)


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        readable = SourceText(data[: MAX_CHARACTERS * 4].decode("utf-8", errors="replace"))
        offset = min(len(data[: error.start].decode("utf-8", errors="replace")), len(readable.text))
        message = f"this is not text: byte 0x{data[error.start]:02x} is not valid UTF-8"
        raise FormulaError([Problem("syntax", message, Span(readable, offset, offset + 1))]) from None


def _plain_atom(token: re.Match[str], source: SourceText) -> Atom:
    """Return the atom matched by a single token: a predicate, a variable and an optional second argument."""
    predicate, variable, second = token.groups()
    arguments: tuple[Argument, ...] = (Variable(variable[1:], Span(source, *token.span(2))),)
    if second is not None:
        span = Span(source, *token.span(3))
        arguments += (Variable(second[1:], span) if second[0] == "?" else Value(second[1:-1], span),)
    return Atom(predicate, arguments, Span(source, *token.span()))


class _Parser:
    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.distinct_pairs = 0

    def report(self, message: str, span: Span) -> _InvalidList:
        self.problems.append(Problem("syntax", message, span))
        return _InvalidList(span)

    def read(self) -> Formula | None:
        source, text = self.source, self.source.text
        if len(text) > MAX_CHARACTERS:
            message = f"the formula is too long: {len(text):,} characters, the limit is {MAX_CHARACTERS:,}"
            self.problems.append(Problem("size", message, Span(source, MAX_CHARACTERS, MAX_CHARACTERS + 1)))
            return None
        whole = _OpenList(0, [])
        stack = [whole]
        top = whole.items
        for token in _TOKEN.finditer(text):
            word = token.group()
            start, end = token.span()
            first = word[0]
            if first == "(":
                if len(stack) > MAX_DEPTH:
                    message = f"the formula is nested more than {MAX_DEPTH} deep"
                    self.problems.append(Problem("size", message, Span(source, start, start + 1)))
                    return None
                if token.lastindex:
                    top.append(_plain_atom(token, source))
                    continue
                stack.append(_OpenList(start, []))
                top = stack[-1].items
            elif first == ")":
                if len(stack) == 1:
                    self.report("this ')' closes nothing: remove it or add the missing '('", Span(source, start, end))
                    continue
                opened, items = stack.pop()
                top = stack[-1].items
                top.append(self.node(items, Span(source, opened, end)))
            elif first == "?" and word != "?":
                top.append(Variable(word[1:], Span(source, start, end)))
            elif first in "'\"" and len(word) > 1:
                top.append(Value(word[1:-1], Span(source, start, end)))
            elif first == "?":
                self.report("a variable needs a name after '?', as in ?x", Span(source, start, end))
            elif first in "'\"":
                self.report("this quote is never closed on its line", Span(source, start, end))
                return None  # the tokens after it cannot be known
            elif first != ";":
                top.append(_Symbol(word, Span(source, start, end)))
        for unclosed in stack[1:]:
            self.report("this '(' is never closed", Span(source, unclosed.start, unclosed.start + 1))
        return self.only(whole.items) if len(stack) == 1 else None

    def only(self, items: list[_Item]) -> Formula | None:
        """Return the only formula in the text, reporting an error if there is not exactly one."""
        if not items:
            if not self.problems:
                end = len(self.source.text)
                self.report("there is no formula here: the text is empty", Span(self.source, end, end))
            return None
        first, *extra = items
        if extra:
            self.report("a second formula begins here: join them as (and … …)", extra[0].span)
        if isinstance(first, Variable | Value | _Symbol):
            self.report("a formula begins with '(', as in (exists ?x (Is ?x 'cup'))", first.span)
            return None
        return None if self.problems or isinstance(first, _InvalidList) else first

    def node(self, items: list[_Item], span: Span) -> Formula | _InvalidList:
        """Build the syntax tree node for a closed list."""
        if not items:
            return self.report("nothing stands between these parentheses", span)
        head, arguments = items[0], items[1:]
        if not isinstance(head, _Symbol):
            if isinstance(head, _InvalidList):
                return _InvalidList(span)
            return self.report("a list begins with an operator or a predicate, as in (and …) or (Is …)", head.span)
        if head.text not in _OPERATOR_SET:
            return self.atom(head, arguments, span)
        if head.text in ("exists", "forall"):
            return self.quantified(head, arguments, span)
        if head.text in COUNT_BOUNDS:
            return self.counted(head, arguments, span)
        return self.connected(head, arguments, span)

    def quantified(self, head: _Symbol, items: list[_Item], span: Span) -> Formula | _InvalidList:
        usage = f"({head.text} ?x F)"
        if not items:
            return self.report(f"{head.text} needs a variable and a formula: {usage}", span)
        variable = items[0]
        if isinstance(variable, _InvalidList):
            return _InvalidList(span)
        if isinstance(variable, _Symbol):
            return self.report(f"a variable begins with '?': write ?{variable.text}", variable.span)
        if not isinstance(variable, Variable):
            return self.report(f"{head.text} binds one variable: {usage}", variable.span)
        if len(items) == 1:
            return self.report(f"{head.text} ?{variable.name} needs a formula to speak about: {usage}", span)
        if len(items) > 2:
            advice = "nest the quantifiers" if isinstance(items[1], Variable) else "join the formulas with (and … …)"
            return self.report(f"{head.text} takes one variable and one formula: {advice}", items[2].span)
        body = self.formulas(head, items[1:])
        if body is None:
            return _InvalidList(span)
        return (Exists if head.text == "exists" else Forall)(variable, body[0], span)

    def counted(self, head: _Symbol, items: list[_Item], span: Span) -> Formula | _InvalidList:
        bound: CountBound = next(candidate for candidate in COUNT_BOUNDS if candidate == head.text)
        usage = f"({bound} 3 ?x F)"
        number = items[0] if items else None
        if isinstance(number, _InvalidList):
            return _InvalidList(span)
        if not isinstance(number, _Symbol) or not (number.text.isascii() and number.text.isdigit()):
            problem_span = span if number is None else number.span
            return self.report(f"{bound} needs a whole number before its variable: {usage}", problem_span)
        if len(number.text) > len(str(MAX_COUNT)) or int(number.text) > MAX_COUNT:
            return self.report(f"{bound} counts to {MAX_COUNT:,} at most", number.span)
        inner = self.quantified(_Symbol(f"{bound} {int(number.text)}", head.span), items[1:], span)
        if not isinstance(inner, Exists | Forall):
            return _InvalidList(span)
        return Count(bound, int(number.text), inner.variable, inner.body, span)

    def connected(self, head: _Symbol, items: list[_Item], span: Span) -> Formula | _InvalidList:
        parts = self.formulas(head, items)
        if head.text in ("and", "or"):
            if not items:
                return self.report(f"{head.text} needs at least one formula", span)
            if parts is None:
                return _InvalidList(span)
            return (And if head.text == "and" else Or)(parts, span)
        expected = 1 if head.text == "not" else 2
        if len(items) != expected:
            number = "one formula" if expected == 1 else "two formulas"
            return self.report(f"{head.text} takes exactly {number}, here it has {len(items)}", span)
        if parts is None:
            return _InvalidList(span)
        if head.text == "not":
            return Not(parts[0], span)
        return (Implies if head.text == "implies" else Iff)(parts[0], parts[1], span)

    def formulas(self, head: _Symbol, items: list[_Item]) -> tuple[Formula, ...] | None:
        """Return the items that are formulas, and report those that are not."""
        formulas: list[Formula] = []
        for item in items:
            if type(item) in _FORMULAS:
                formulas.append(item)  # type: ignore[arg-type]
            elif not isinstance(item, _InvalidList):
                self.report(f"{head.text} takes formulas in parentheses, not {item.span.text}", item.span)
        return tuple(formulas) if len(formulas) == len(items) else None

    def atom(self, head: _Symbol, items: list[_Item], span: Span) -> Formula | _InvalidList:
        if head.text.lower() in _OPERATOR_SET:
            return self.report(f"write operators in small letters: {head.text.lower()}", head.span)
        arguments: list[Argument] = []
        for item in items:
            if type(item) is Variable or type(item) is Value:
                arguments.append(item)
            elif isinstance(item, _Symbol):
                self.report(
                    f"put values in quotes ('{item.text}') and a '?' before variables (?{item.text})", item.span
                )
            elif not isinstance(item, _InvalidList):
                near = closest_match(head.text, OPERATORS)
                advice = f"did you mean {near}?" if near else f"the operators are {', '.join(OPERATORS)}"
                return self.report(
                    f"{head.text} is not an operator, so no formula can stand in it: {advice}", head.span
                )
        if head.text == DISTINCT and self.distinct_pairs <= MAX_DISTINCT_PAIRS:
            self.distinct_pairs += len(arguments) * (len(arguments) - 1) // 2
            if self.distinct_pairs > MAX_DISTINCT_PAIRS:
                message = f"more than {MAX_DISTINCT_PAIRS:,} pairs are said to be {DISTINCT}: split the formula"
                self.problems.append(Problem("size", message, span))
        return Atom(head.text, tuple(arguments), span) if len(arguments) == len(items) else _InvalidList(span)
