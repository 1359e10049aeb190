"""Judging by logic: a grounder says what is in the image, the formula says whether that is what was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from formalimg.judges.base import Grounder, Grounding, LoadedImage, Part, Unscored, Verdict
from formalimg.logic import BestBinding, Formula, FormulaError, JudgedClause, Prepared, Verification, atoms, prepare
from formalimg.models import Setting
from formalimg.scenes import SceneError, read_layout
from formalimg.suites import FormulaSpec, Item

RULES = 1
"""The version of the rules by which scenes are judged: a new number wherever a verdict may come out differently."""


@dataclass(frozen=True)
class SceneJudge:
    """Judges images of items that have a formula, by what a grounder sees in them.

    The verdict passes if the formula holds in the scene, `forall` read strictly. Its parts are the clauses under the
    best binding. Its evidence, all plain data:

    - `scene`: what the grounder saw, in the grounding format;
    - `confidence`: how sure the grounder is;
    - `explanation`: the proof or refutation in words;
    - `bindings`: the number of the object that each variable stands for;
    - `grounder`: what else the grounder keeps, if anything.

    Attributes:
        grounder: who looks at the images.
    """

    grounder: Grounder

    @property
    def name(self) -> str:
        """The name of the grounder: nobody else looks."""
        return self.grounder.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the grounder, how `forall` is read, and the version of the rules."""
        return {**self.grounder.settings, "semantics": "strict", "judging_rules": RULES}

    @property
    def concurrency(self) -> int:
        """As many images as the grounder takes."""
        return self.grounder.concurrency

    def questions(self, item: Item[object]) -> int:
        """How many questions a chat model would be asked about an image of this item."""
        asked = getattr(self.grounder, "questions", None)
        return asked(item.spec.object_classes) if asked and isinstance(item.spec, FormulaSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Whether the image shows what the formula of the item asks for."""
        spec = item.spec
        if not isinstance(spec, FormulaSpec):
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula to judge by")
        grounding = await self.grounder.ground(image, spec.object_classes)
        if isinstance(grounding, Unscored):
            return grounding
        # Some milliseconds, sometimes more: other images should not wait for it.
        return await asyncio.to_thread(judge_grounding, spec.formula, grounding)


def judge_grounding(formula: Formula, grounding: Grounding) -> Verdict | Unscored:
    """The verdict on a formula, given what was seen in an image.

    Raises:
        FormulaError: if the formula is not one that any scene could be judged by, for instance for a variable that
            nothing binds.
    """
    seen: dict[str, object] = {"scene": grounding.scene.to_json(), "confidence": grounding.confidence}
    if grounding.evidence:
        seen["grounder"] = dict(grounding.evidence)
    asked = prepare(formula)
    try:
        verification = asked.verify(grounding.scene)
    except FormulaError as error:
        if any(problem.kind not in ("undecided", "size") for problem in error.problems):
            raise
        return Unscored("not understood", error.problems[0].message, seen, grounding.cost)
    parts, bindings = _judged_parts(asked, verification)
    evidence = {**seen, "explanation": verification.explain(), "bindings": bindings}
    return Verdict(verification.passed, parts, evidence, grounding.cost)


def clause_parts(best: BestBinding, weights: Mapping[str, float] | None = None) -> tuple[Part, ...]:
    """The clauses of a formula in a scene as parts of a verdict.

    Args:
        best: the clauses, judged under the best binding.
        weights: what a part of each kind counts; 1 if not named.
    """
    counted = weights or {}
    return tuple([_part(judged, counted.get(judged.kind, 1.0)) for judged in best.clauses])


def formula_part(verification: Verification) -> Part:
    """The whole formula as one part, where its clauses are too many."""
    formula = verification.formula
    return Part(str(formula), "formula", float(verification.passed), about=_predicates(formula))


def _judged_parts(asked: Prepared, verification: Verification) -> tuple[tuple[Part, ...], dict[str, int]]:
    """The clauses as parts and what their variables stand for; the formula as one part if its clauses are too many."""
    try:
        best = asked.best_binding(verification.scene)
    except FormulaError as error:
        if any(problem.kind != "size" for problem in error.problems):
            raise
        return (formula_part(verification),), {}
    return clause_parts(best), dict(best.bindings)


def _part(judged: JudgedClause, weight: float) -> Part:
    clause, kind, holds, why, bindings, _ = judged
    objects = ", ".join([f"?{variable} = {description}" for variable, _, description in bindings])
    reason = f"{objects}: {why}" if objects and why else objects or why
    return Part(clause.text, kind, float(holds), weight, clause.predicates, reason)


def _predicates(formula: Formula) -> tuple[str, ...]:
    return tuple(sorted({atom.predicate for atom in atoms(formula)}))


@dataclass(frozen=True)
class LayoutJudge:
    """Judges planned layouts by what is written in their files, with the verdicts of `SceneJudge` on such scenes."""

    name: str = "builtin/layout"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"semantics": "strict", "judging_rules": RULES})
    concurrency: int = 2

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Whether the layout does what the formula of the item asks for."""
        if not isinstance(item.spec, FormulaSpec):
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula to judge by")
        try:
            scene = read_layout(image.pil)
        except SceneError as error:
            return Unscored("not understood", f"{' '.join(str(error).split())}: use another judge for images")
        return await asyncio.to_thread(judge_grounding, item.spec.formula, Grounding(scene))
