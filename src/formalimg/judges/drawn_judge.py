"""The judge `builtin/drawn`, which reads the scene stored in a drawing instead of its pixels.

It does not look at the image and cannot err, so it measures image models and all steps from prompt to report, but not
how well any judge sees.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.signed_png import NotDrawnError, read_signed_png
from formalimg.drawing.truth import verify_drawn
from formalimg.judges.base import Grounding, LoadedImage, find_formula
from formalimg.judges.scene_judge import RULES, clause_parts, formula_part, judge_grounding
from formalimg.logic.errors import FormulaError
from formalimg.logic.prenex import to_prenex
from formalimg.logic.soft_score.best_binding import prepare_formula
from formalimg.logic.soft_score.earned_credit import expand_strict_forall
from formalimg.logic.syntax import Formula
from formalimg.logic.verification import Verification
from formalimg.types import Item, Part, Setting, Unscored, Verdict

DRAWN_NOTE = (
    "builtin/drawn goes by the scene that each drawing carries, and looks at no pixel: "
    "it measures the pipeline and the models, not an eye"
)
"""What must be said wherever its verdicts are shown."""

_VERSION = 2
"""The version of the rules by which drawn scenes are judged: raise it whenever a verdict may come out differently."""


class DrawnJudge:
    """A judge for drawings of the built-in models that reads the scene stored in each file.

    Formulas are judged clause by clause, and other items as their benchmark says, with the parts that the judges of
    these suites have. Any other image, and any drawing that was changed, is `Unscored`. Evidence, all plain data:

    - `scene`: the objects of the scene, in the grounding format, with its relations;
    - `style`: the style of the image; None for a plain drawing;
    - `depth`: the numbers of the objects, from back to front;
    - `explanation`, `bindings`: as those of `SceneJudge`; only where a formula decides.
    """

    name = "builtin/drawn"
    settings: Mapping[str, Setting] = {"version": _VERSION, "semantics": "strict", "judging_rules": RULES}
    concurrency = os.cpu_count() or 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        # Decoding the digest and deciding take some milliseconds: other images should not wait for it.
        return await asyncio.to_thread(judge_drawing, item, image)


def judge_drawing(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
    """Judge a drawing by its stored scene, or return `Unscored` if there is none."""
    try:
        drawn = read_signed_png(image.data, image.pil)
    except NotDrawnError as error:
        return Unscored("not understood", f"builtin/drawn judges built-in drawings only, and this is not one: {error}")
    return judge_drawn_scene(item, drawn)


def judge_drawn_scene(item: Item[object], drawn: DrawnScene, profile: str = "official") -> Verdict | Unscored:
    """Judge whether a scene satisfies the item."""
    evidence: dict[str, object] = {"scene": drawn.scene.to_json(), "style": drawn.style, "depth": list(drawn.order)}
    suite = get_suite(item.suite)
    verdict = suite.judge_drawn(item, drawn, profile)
    if verdict is None:
        spec = find_formula(item)
        if isinstance(spec, Unscored):
            verdict = spec
        elif suite.world == "icons":
            verdict = judge_grounding(spec.formula, Grounding(drawn.scene))
        else:
            return _judge_formula(spec.formula, drawn, evidence)
    return replace(verdict, evidence={**verdict.evidence, **evidence})


def _judge_formula(formula: Formula, drawn: DrawnScene, evidence: dict[str, object]) -> Verdict | Unscored:
    try:
        verification = verify_drawn(formula, drawn)
        parts, bindings = _judge_clauses(formula, verification)
    except FormulaError as error:
        return Unscored("not understood", error.problems[0].message, evidence)
    evidence |= {"explanation": verification.explain(), "bindings": bindings}
    return Verdict(verification.passed, parts, evidence)


def _judge_clauses(formula: Formula, verification: Verification) -> tuple[tuple[Part, ...], dict[str, int]]:
    """Return a part per clause with the variable bindings, or a single part if there are too many clauses."""
    try:
        best = prepare_formula(formula).best_binding(verification.scene, verification.style)
        clauses = to_prenex(formula).clauses
    except FormulaError as error:
        if any(problem.kind != "size" for problem in error.problems):
            raise
        return (formula_part(verification),), {}
    parts = {part.name: part for part in clause_parts(best)}
    if not all(clause.text in parts for clause in clauses):  # a `forall` inside a disjunction
        return tuple(parts.values()), dict(best.bindings)
    # That there is one, as a strict `forall` says, is no clause of its own: without one, the clauses about all fail.
    instances = expand_strict_forall(formula).instances
    missing = {name for judged in best.clauses if not judged.holds for name in judged.clause.variables}
    empty = {rule for rule, instance in instances.items() if instance in missing}
    return tuple(
        replace(parts[clause.text], score=0.0, reason="there is none")
        if clause.variables & empty
        else parts[clause.text]
        for clause in clauses
    ), dict(best.bindings)
