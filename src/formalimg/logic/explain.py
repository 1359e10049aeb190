"""Explanations: proofs rendered as a text tree that can be read from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.logic.proof import Proof
from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Value

_WIDTH = 100


def render_proof(proof: Proof) -> str:
    """Render the proof as indented lines, ✓ for what holds and ✗ for what fails."""
    return "\n".join(_lines(proof, ""))


def _lines(proof: Proof, margin: str) -> Iterator[str]:
    yield f"{margin}{'✓' if proof.holds else '✗'} {_headline(proof)}"
    if len(proof.conflict) > 1:
        yield from _titled(margin, "wanted", [_short(claim) for claim in proof.conflict])
    width = max((len(bound.variable) for bound in proof.bindings), default=0)
    bindings = [f"?{bound.variable:<{width}} = {bound.description}" for bound in proof.bindings]
    yield from _titled(margin, "e.g." if proof.holds and isinstance(proof.formula, Forall) else "with", bindings)
    for part in _visible_parts(proof):
        yield from _lines(part, margin + "  ")
    for number, claim in proof.others:
        who = f"{number} other object{'s' * (number > 1)}: {_short(claim)}"
        yield f"{margin}  ✗ {who if proof.parts else f'no object satisfies {_short(claim)}'}"


def _titled(margin: str, title: str, lines: list[str]) -> Iterator[str]:
    """Yield lines next to a title on the first of them."""
    for line in lines:
        yield f"{margin}    {title:<6} {line}"
        title = ""


def _visible_parts(proof: Proof) -> Iterator[Proof]:
    """Yield the parts that get a line of their own.

    The parts of an `and` are listed in its place. That an object has the words of its description is left out.
    """
    for part in proof.parts:
        if isinstance(part.formula, And) and part.candidate is None:
            yield from _visible_parts(part)
        elif not (proof.bindings and part.holds and _is_word(part.formula)):
            yield part


def _headline(proof: Proof) -> str:
    text = _short(proof.formula)
    if proof.candidate:
        text = f"?{proof.candidate.variable} = {proof.candidate.description}: {text}"
    return f"{text}: {proof.reason}" if proof.reason else text


def _short(formula: Formula) -> str:
    """Return a formula on one line: quantifiers by their variables, anything else as text, cropped if long."""
    match formula:
        case Exists():
            variables = []
            while isinstance(formula, Exists):
                variables.append(f"?{formula.variable.name}")
                formula = formula.body
            text = f"exists {' '.join(variables)}"
        case Forall(variable, _):
            text = f"forall ?{variable.name}"
        case Count(bound, number, variable, _):
            text = f"{bound} {number} ?{variable.name}"
        case _:
            text = str(formula)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _is_word(formula: Formula) -> bool:
    """Return whether the formula states that a word applies to an object, as (Is ?x 'cup') does."""
    return isinstance(formula, Atom) and isinstance(formula.arguments[-1], Value) and len(formula.arguments) > 1
