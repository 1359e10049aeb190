"""Proofs in words."""

from __future__ import annotations

from formalimg.logic.printer import to_text
from formalimg.logic.proof import Proof
from formalimg.logic.syntax import And, Atom, Exists, Forall

_WIDTH = 100


def tell(proof: Proof) -> str:
    """The proof as indented lines, ✓ for what holds and ✗ for what fails."""
    return "\n".join(_lines(proof, 0))


def _lines(proof: Proof, depth: int) -> list[str]:
    margin = "  " * depth
    mark = "✓" if proof.holds else "✗"
    lines = [f"{margin}{mark} {_headline(proof)}"]
    width = max((len(bound.variable) for bound in proof.bindings), default=0)
    lines += [f"{margin}    ?{bound.variable:<{width}} = {bound.description}" for bound in proof.bindings]
    for part in proof.parts:
        lines += _lines(part, depth + 1)
    return lines


def _headline(proof: Proof) -> str:
    formula = proof.formula
    match formula:
        case Exists():
            quantified = []
            while isinstance(formula, Exists):
                quantified.append(f"?{formula.variable.name}")
                formula = formula.body
            text = f"exists {' '.join(quantified)}"
        case Forall(variable, _):
            text = f"forall ?{variable.name}"
        case And():
            text = "and"
        case _:
            text = to_text(formula)
    if proof.candidate:
        text = f"?{proof.candidate.variable} = {proof.candidate.description}: {text}"
    if len(text) > _WIDTH:
        text = text[: _WIDTH - 1] + "…"
    return f"{text}: {proof.reason}" if proof.reason else text


def _is_plain(proof: Proof) -> bool:
    return isinstance(proof.formula, Atom)
