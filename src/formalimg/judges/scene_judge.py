"""The scene judge, which verifies a formula in the scene found by a grounder.

The layout judge applies the same logic to planned layouts, without an image to look at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.drawing.icon_scene import FailedLayoutError, read_layout, read_written_layout
from formalimg.judges.base import MAX_OBJECTS, Grounding, LoadedImage, find_formula
from formalimg.logic.errors import FormulaError
from formalimg.logic.soft_score.best_binding import BestBinding, ClauseResult, prepare_formula
from formalimg.logic.syntax import Formula, atoms
from formalimg.logic.verification import Verification
from formalimg.scenes.objects import SceneError
from formalimg.types import Grounder, Item, Part, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.models.pricing import Price

RULES = 1  # The version of the rules by which scenes are judged: raise it whenever a verdict may come out differently


@dataclass(frozen=True)
class SceneJudge:
    """A judge that verifies an item's formula in the scene found by a grounder.

    The verdict passes if the formula holds in the scene, with a strict `forall`. Its parts are the clauses under the
    best binding. Evidence, all plain data:

    - `scene`: what the grounder found, in the grounding format;
    - `confidence`: how sure the grounder is;
    - `explanation`: the proof or refutation as text;
    - `bindings`: the index of the object that each variable stands for;
    - `grounder`: the evidence of the grounder, if any.
    """

    grounder: Grounder  # finds the objects in the images
    # where `On` and `NextTo` come from if the grounder records no relations: `boxes`, by the rules of
    # `spatial_relations`, or nowhere (`recorded`), so that an item that needs them is unscored
    relations: Literal["recorded", "boxes"] = "recorded"

    @property
    def name(self) -> str:
        return self.grounder.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        relations: dict[str, Setting] = {} if self.relations == "recorded" else {"relations": self.relations}
        return {**self.grounder.settings, "semantics": "strict", "judging_rules": RULES, **relations}

    @property
    def price(self) -> Price:
        from formalimg.models.pricing import price_of  # here, because built-in grounders have none

        return price_of(self.grounder)

    @property
    def concurrency(self) -> int:
        return self.grounder.concurrency

    def questions(self, item: Item[object]) -> int:
        count = getattr(self.grounder, "questions", None)
        spec = find_formula(item) if count else None
        return count(spec.object_classes) if count and isinstance(spec, FormulaSpec) else 0

    def unknown_classes(self, item: Item[object]) -> tuple[str, ...]:
        unknown = getattr(self.grounder, "unknown_classes", None)
        spec = find_formula(item) if unknown else None
        return unknown(spec.object_classes) if unknown and isinstance(spec, FormulaSpec) else ()

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = find_formula(item)
        if isinstance(spec, Unscored):
            return spec
        grounding = await self.grounder.ground(image, spec.object_classes)
        if isinstance(grounding, Unscored):
            return grounding
        if self.relations == "boxes":
            from formalimg.scenes.spatial_relations import with_seen_relations  # here, because few grounders need it

            grounding = replace(grounding, scene=with_seen_relations(grounding.scene, spec.formula))
        # Some milliseconds, sometimes more: other images should not wait for it.
        return await asyncio.to_thread(judge_grounding, spec.formula, grounding)


def judge_grounding(formula: Formula, grounding: Grounding) -> Verdict | Unscored:
    """Verify a formula in the scene of a grounding, and return the verdict."""
    evidence: dict[str, object] = {"scene": grounding.scene.to_json(), "confidence": grounding.confidence}
    if grounding.evidence:
        evidence["grounder"] = dict(grounding.evidence)
    if len(grounding.scene) > MAX_OBJECTS:
        detail = f"{len(grounding.scene):,} objects were found, the limit is {MAX_OBJECTS:,}: look at the answers"
        return Unscored("not understood", detail, evidence, grounding.cost)
    prepared = prepare_formula(formula)
    try:
        verification = prepared.verify(grounding.scene)
    except FormulaError as error:
        if any(problem.kind not in ("undecided", "size") for problem in error.problems):
            raise
        detail = error.problems[0].message.partition(": say ")[0]  # nobody can tell a judge what is not in the scene
        return Unscored("not understood", detail, evidence, grounding.cost)
    evidence |= {"explanation": verification.explain(), "bindings": {}}
    try:
        best = prepared.best_binding(verification.scene)
    except FormulaError as error:
        if any(problem.kind != "size" for problem in error.problems):
            raise
        return Verdict(verification.passed, (formula_part(verification),), evidence, grounding.cost)
    evidence["bindings"] = dict(best.bindings)
    return Verdict(verification.passed, clause_parts(best), evidence, grounding.cost)


def clause_parts(best: BestBinding, weights: Mapping[str, float] | None = None) -> tuple[Part, ...]:
    """Convert the clauses of a best binding to parts of a verdict."""
    by_kind = weights or {}
    return tuple([_clause_part(judged, by_kind.get(judged.kind, 1.0)) for judged in best.clauses])


def _clause_part(judged: ClauseResult, weight: float) -> Part:
    clause, kind, _, explanation, bindings, *_ = judged
    objects = ", ".join([f"?{variable} = {description}" for variable, _, description in bindings])
    reason = f"{objects}: {explanation}" if objects and explanation else objects or explanation
    return Part(clause.text, kind, judged.score, weight, clause.predicates, reason)


def formula_part(verification: Verification) -> Part:
    """Return the whole formula as a single part, for formulas with too many clauses."""
    formula = verification.formula
    predicates = tuple(sorted({atom.predicate for atom in atoms(formula)}))
    return Part(str(formula), "formula", float(verification.passed), about=predicates)


@dataclass(frozen=True)
class LayoutJudge:
    """A judge for planned layouts that verifies the formula in the scene stored in each file.

    A layout that is unreadable or leaves the canvas fails, because it is the planner's answer. The evidence has the
    `rule` by which it fails.
    """

    name: str = "builtin/layout"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"semantics": "strict", "judging_rules": RULES})
    concurrency: int = 2

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = find_formula(item)
        if isinstance(spec, Unscored):
            return spec
        try:
            scene = read_layout(image.pil)
        except FailedLayoutError as error:
            # Nothing is missing: the model answered, and this is its answer.
            rule = "layout outside the canvas" if "leaves the canvas" in str(error) else "unreadable layout"
            return Verdict(False, (), {"rule": rule, "explanation": " ".join(str(error).split())})
        except SceneError as error:
            return Unscored("not understood", f"{' '.join(str(error).split())}: use another judge for images")
        return await asyncio.to_thread(judge_grounding, spec.formula, Grounding(scene))


@dataclass(frozen=True)
class PublishedLayoutJudge:
    """A judge for planned layouts that follows the published evaluator.

    An unreadable layout fails, because it is the model's own mistake.
    """

    name: str = LayoutJudge.name
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"protocol": "published", "protocol_rules": 1})
    concurrency: int = 2

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        if not isinstance(item.spec, FormulaSpec):
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula")
        try:
            layout = read_written_layout(image.pil)
        except SceneError as error:
            return Unscored("not understood", f"{' '.join(str(error).split())}: use another judge for images")
        objects = layout.get("objects", []) if isinstance(layout, dict) else None
        return await judge_written_layout(item, objects)


async def judge_written_layout(item: Item[object], objects: object) -> Verdict | Unscored:
    """Apply the published evaluator to the objects of a layout, which are None if unreadable."""
    verdict = await asyncio.to_thread(get_suite(item.suite).judge_layout, item, objects)
    return verdict or Unscored("not understood", f"{item.suite} has no published verdicts on layouts")
