"""From what was seen, or what a judge said, to a reward."""

from __future__ import annotations

from dataclasses import replace

from formalimg.judges import Part, Unscored, Verdict, clause_parts, formula_part
from formalimg.logic import FormulaError, Prepared, TooHardError
from formalimg.rewards.scored import Scored
from formalimg.rewards.tasks import Task
from formalimg.rewards.weights import QUESTION, Weights
from formalimg.scenes import Scene
from formalimg.suites import CounterfactualSpec


def by_logic(
    formula: Prepared,
    scene: Scene,
    style: str | None,
    weights: Weights,
    cost: float | None = 0.0,
    *,
    parts: bool = True,
) -> Scored:
    """The reward of a scene: the weighted share of the formula's clauses under the binding that is best by weight.

    Args:
        formula: the formula, prepared with these weights.
        scene: what is in the image.
        style: the style of the image, if it is known.
        weights: what clauses count, by their kind.
        cost: what looking cost.
        parts: whether to tell the parts and why some fall short.
    """
    try:
        return _by_clauses(formula, scene, style, weights, cost, parts)
    except FormulaError as error:
        if not isinstance(error, TooHardError) and any(problem.kind != "undecided" for problem in error.problems):
            raise
        return Scored.missing(Unscored("not understood", error.problems[0].message, cost=cost))


def _by_clauses(
    formula: Prepared, scene: Scene, style: str | None, weights: Weights, cost: float | None, parts: bool
) -> Scored:
    """The reward of a scene that can decide the formula; all or nothing if its clauses are too many."""
    try:
        if not parts:
            share = formula.share(scene, style)
            return Scored(share, share == 1, cost=cost)
        best = formula.best_binding(scene, style)
    except FormulaError as error:
        if isinstance(error, TooHardError) or any(problem.kind != "size" for problem in error.problems):
            raise
        verification = formula.verify(scene, style)
        whole = Scored.of_parts(verification.passed, (formula_part(verification),), cost)
        return whole if parts else whole.without_parts()
    share = best.share
    return Scored.of_parts(share == 1, clause_parts(best, weights), cost, score=share)


def by_verdict(task: Task, verdict: Verdict, weights: Weights) -> Scored:
    """The reward of an image that a judge has looked at: the weighted share of what it found.

    A judge that contradicts itself, so that all parts hold and the image fails or the other way round, gives no
    reward. Only CF-World's images may pass with less than all.
    """
    own = task.weights or (1.0,) * len(verdict.parts)
    parts = tuple(_weighed(part, weight, weights) for part, weight in zip(verdict.parts, own, strict=True))
    explanation = verdict.evidence.get("explanation")
    found = Scored.of_parts(verdict.passed, parts, verdict.cost, str(explanation or "") if not verdict.passed else "")
    if not isinstance(task.item.spec, CounterfactualSpec) and (found.score == 1) is not verdict.passed:
        told = "passes" if verdict.passed else "fails"
        detail = f"the judge contradicts itself: the image {told}, and its parts have {found.score:.3g}"
        return Scored.missing(Unscored("not understood", detail, cost=verdict.cost))
    return found


def _weighed(part: Part, own: float, weights: Weights) -> Part:
    kind = QUESTION if part.kind.startswith(QUESTION) else part.kind
    return replace(part, weight=part.weight * own * weights.get(kind, 1.0))
