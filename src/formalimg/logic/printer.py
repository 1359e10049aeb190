"""Printer: from the syntax tree back to text, on one line or indented."""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.logic.syntax import (
    And,
    Argument,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    children,
)

_OPERATORS: dict[type, str] = {Not: "not", And: "and", Or: "or", Implies: "implies", Iff: "iff"}


def to_text(node: Formula | Argument) -> str:
    """Return the text of a node on one line; parsing it gives the node back."""
    match node:
        case Variable(name):
            return f"?{name}"
        case Value(text):
            return _quote(text)
        case Atom(predicate, arguments):
            return f"({' '.join([predicate, *map(to_text, arguments)])})"
        case Exists(variable, body):
            return f"(exists ?{variable.name} {to_text(body)})"
        case Forall(variable, body):
            return f"(forall ?{variable.name} {to_text(body)})"
        case Count(bound, number, variable, body):
            return f"({bound} {number} ?{variable.name} {to_text(body)})"
        case _:
            return f"({' '.join([_OPERATORS[type(node)], *map(to_text, children(node))])})"


def to_pretty_text(formula: Formula, width: int = 88) -> str:
    """Return the text of a formula, broken and indented by two wherever a line would exceed `width`."""
    return _break_lines(formula, 0, width)


def _break_lines(formula: Formula, indent: int, width: int) -> str:
    flat = to_text(formula)
    if indent + len(flat) <= width or type(formula) is Atom:
        return flat
    match formula:
        case Exists(variable, _):
            head = f"exists ?{variable.name}"
        case Forall(variable, _):
            head = f"forall ?{variable.name}"
        case Count(bound, number, variable, _):
            head = f"{bound} {number} ?{variable.name}"
        case _:
            head = _OPERATORS[type(formula)]
    margin = " " * (indent + 2)
    parts = [f"\n{margin}{_break_lines(part, indent + 2, width)}" for part in children(formula)]
    return f"({head}{''.join(parts)})"


def _quote(word: str) -> str:
    quote = "'" if "'" not in word else '"'
    if quote in word or "\n" in word:
        raise FormalimgError(f"the value {word!r} cannot be written in a formula: it mixes quotes or lines")
    return f"{quote}{word}{quote}"
