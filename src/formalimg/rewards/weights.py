"""Weights of clauses and questions by kind, and weighted rewards of scenes and verdicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from math import gcd
from typing import TYPE_CHECKING, TypeAlias, get_args

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.judges.scene_judge import clause_parts, formula_part
from formalimg.logic.errors import FormulaError
from formalimg.logic.evaluation import TooHardError
from formalimg.logic.parser import try_parse
from formalimg.logic.prenex import ClauseKind, Literal
from formalimg.logic.soft_score.best_binding import PreparedFormula
from formalimg.logic.soft_score.clause_index import NOTHING_ASKED_FOR
from formalimg.logic.soft_score.earned_credit import asks_for_objects
from formalimg.logic.syntax import Count, Not
from formalimg.logic.vocabulary import closest_match
from formalimg.rewards.result import RewardScore
from formalimg.scenes.scene import Scene
from formalimg.types import Part, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.rewards.tasks import RewardTask

Weights: TypeAlias = Mapping[str, float]
"""The weight of a clause or question by its kind, such as {"relation": 2}; other kinds count 1."""

_STEPS = 1000  # weights are whole numbers of thousandths, so that shares are exact and ties are ties
QUESTION = "question"  # The kind of users' own questions that name none


@cache
def _list_kinds() -> tuple[str, ...]:
    """Return the kinds that accept a weight: formula clauses and custom questions."""
    benchmarks = [benchmark for name in suite_names() if (benchmark := suite(name)).question_item_maker()]
    question_kinds = (kind for benchmark in benchmarks for kind in benchmark.part_kinds)
    return tuple(dict.fromkeys((*get_args(ClauseKind), *question_kinds, QUESTION)))


def check_weights(weights: Weights) -> dict[str, float]:
    """Return the weights if they are valid, else raise an error."""
    for kind, weight in weights.items():
        kinds = _list_kinds()
        if kind not in kinds:
            near = closest_match(str(kind), kinds)
            advice = f"did you mean {near}?" if near else ", ".join(kinds)
            raise FormalimgError(f"there is no kind {kind!r} to weigh: {advice}")
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise FormalimgError(f"the weight of {kind} must be a number, not {weight!r}")
        if not 1 / _STEPS <= weight <= _STEPS or abs(weight * _STEPS - round(weight * _STEPS)) > 1e-6:
            # The weight is not quoted: it may have thousands of digits.
            raise FormalimgError(f"the weight of {kind} must be from 0.001 to 1000, in steps of 0.001")
    return {kind: float(weight) for kind, weight in weights.items()}


def integer_weights(weights: Weights) -> dict[ClauseKind, int]:
    """Convert the weights of all clause kinds to the smallest integers with the same ratios."""
    steps = {kind: round(weights.get(kind, 1.0) * _STEPS) for kind in get_args(ClauseKind)}
    common = gcd(*steps.values())
    return {kind: step // common for kind, step in steps.items()}


def reward_of_scene(
    formula: PreparedFormula,
    scene: Scene,
    style: str | None,
    weights: Weights,
    cost: float | None = 0.0,
    *,
    parts: bool = True,
) -> RewardScore:
    """Compute the reward of a scene as the weighted share of clauses satisfied by the best binding."""
    try:
        try:
            if not parts:
                share = formula.share(scene, style)
                return RewardScore(share, share == 1, cost=cost)
            best = formula.best_binding(scene, style)
            return RewardScore.of_parts(best.share == 1, clause_parts(best, weights), cost, score=best.share)
        except FormulaError as error:
            if isinstance(error, TooHardError) or any(problem.kind != "size" for problem in error.problems):
                raise
        verification = formula.verify(scene, style)  # too many clauses for parts: all or nothing
        whole = RewardScore.of_parts(verification.passed, (formula_part(verification),), cost)
        return whole if parts else whole.without_parts()
    except FormulaError as error:
        if not isinstance(error, TooHardError) and any(problem.kind != "undecided" for problem in error.problems):
            raise
        return RewardScore.missing(Unscored("not understood", error.problems[0].message, cost=cost))


def check_surplus(surplus: float) -> float:
    """Return the weight of a surplus object if it is valid, else raise an error."""
    if isinstance(surplus, bool) or not isinstance(surplus, int | float) or not 0 <= surplus <= 1:
        raise FormalimgError("surplus must be a number from 0 (other objects do not matter) to 1")
    return float(surplus)


def discount_surplus(reward: RewardScore, scene: Scene, classes: Collection[str], surplus: float) -> RewardScore:
    """Reduce the reward of a failing scene for objects of classes that were not requested."""
    if not surplus or not reward.score or reward.passed:
        return reward
    requested = sum([obj.label in classes for obj in scene.objects])
    extra = len(scene) - requested
    return replace(reward, score=reward.score * requested / (requested + surplus * extra)) if extra else reward


def reward_of_verdict(task: RewardTask, verdict: Verdict, weights: Weights) -> RewardScore:
    """Compute the reward of a judged image as the weighted share of its verdict's parts.

    Clauses of a formula count once an object that it asks for is there, as in scenes.

    A judge that contradicts itself, so that all parts hold and the image fails or the other way round, gives no
    reward. Only images with scores may pass with less than all.
    """
    task_weights = task.weights or (1.0,) * len(verdict.parts)
    kinds = (QUESTION if part.kind.startswith(QUESTION) else part.kind for part in verdict.parts)
    parts = tuple(
        replace(part, weight=part.weight * weight * weights.get(kind, 1.0))
        for part, weight, kind in zip(verdict.parts, task_weights, kinds, strict=True)
    )
    if isinstance(task.item.spec, FormulaSpec) and not verdict.passed:
        parts = _withdraw_unearned_credit(parts)
    explanation = "" if verdict.passed else str(verdict.evidence.get("explanation") or "")
    reward = RewardScore.of_parts(verdict.passed, parts, verdict.cost, explanation)
    if not suite(task.item.suite).has_scores and (reward.score == 1) is not verdict.passed:
        result = "passes" if verdict.passed else "fails"
        detail = f"the judge contradicts itself: the image {result}, and its parts have {reward.score:.3g}"
        return RewardScore.missing(Unscored("not understood", detail, cost=verdict.cost))
    return reward


def _withdraw_unearned_credit(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Remove credit for style and absence from the parts if none of the requested objects is present."""
    objects = [part for part in parts if part.kind == "object" or (part.kind == "count" and _asks_for_objects(part))]
    if not objects or any(part.score > 0 for part in objects):
        return parts
    return tuple([replace(part, score=0.0, reason=NOTHING_ASKED_FOR) if part.score else part for part in parts])


def _asks_for_objects(part: Part) -> bool:
    clause, _ = try_parse(part.name)
    count = clause.body if isinstance(clause, Not) else clause
    return isinstance(count, Count) and asks_for_objects(Literal(count, count is clause))
