"""Proofs in words, as a tree that a reader can follow from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.logic.proof import Proof
from formalimg.logic.syntax import And, Atom, Exists, Forall, Formula, Value

_WIDTH = 100


def render_proof(proof: Proof) -> str:
    """The proof as indented lines, ✓ for what holds and ✗ for what fails."""
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
    """Lines beside a title that stands on the first of them."""
    for line in lines:
        yield f"{margin}    {title:<6} {line}"
        title = ""


def _visible_parts(proof: Proof) -> Iterator[Proof]:
    """The parts worth a line of their own.

    The parts of an `and` are told in its place. That an object is what its description says it is goes without saying.
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
    """A formula on one line: quantifiers by their variables, anything else as it is written, cropped if long."""
    match formula:
        case Exists():
            variables = []
            while isinstance(formula, Exists):
                variables.append(f"?{formula.variable.name}")
                formula = formula.body
            text = f"exists {' '.join(variables)}"
        case Forall(variable, _):
            text = f"forall ?{variable.name}"
        case _:
            text = str(formula)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _is_word(formula: Formula) -> bool:
    """Does the formula say which word applies to an object, as (Is ?x 'cup') does?"""
    return isinstance(formula, Atom) and isinstance(formula.arguments[-1], Value) and len(formula.arguments) > 1
