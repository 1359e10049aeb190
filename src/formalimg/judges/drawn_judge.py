"""The judge `builtin/drawn`: go by the scene that a drawing carries, which is what it shows.

It does not look at the image. It measures image models, and everything between prompt and report, with a judge that
cannot err; it says nothing about how well any judge sees.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage, Part, Unscored, Verdict, judged_formula
from formalimg.judges.object_judge import RuleProfile, judge_by_profiles
from formalimg.judges.scene_judge import RULES, clause_parts, formula_part, judge_grounding
from formalimg.logic import Formula, FormulaError, Verification, expand_strict_forall, prepare_formula, to_prenex
from formalimg.models import Setting
from formalimg.scenes import DrawnConcept, DrawnScene, NotDrawnError, concept_holds, read_signed_png, verify_drawn
from formalimg.suites import ConceptSpec, Item, ObjectSpec, RequestedConcept
from formalimg.suites import suite as suite_of

DRAWN_NOTE = (
    "builtin/drawn goes by the scene that each drawing carries, and looks at no pixel: "
    "it measures the pipeline and the models, not an eye"
)
"""What must be said wherever its verdicts are shown."""

_VERSION = 1
"""The version of the rules by which drawn scenes are judged: raise it whenever a verdict may come out differently."""


class DrawnJudge:
    """Judge drawings of the built-in models by the scene that each file carries.

    Natural is judged clause by clause, ConceptMix question by question, with the parts that the judges of these suites
    have, and Knolling by its formula. Any other image, and any drawing that was changed, is `Unscored`. Evidence, all
    plain data:

    - `scene`: the objects of the scene, in the grounding format, with its relations;
    - `style`: the style of the image; None for a plain drawing;
    - `depth`: the numbers of the objects, from back to front;
    - `explanation`, `bindings`: as those of `SceneJudge`; only where a formula decides.
    """

    name = "builtin/drawn"
    settings: Mapping[str, Setting] = {"version": _VERSION, "semantics": "strict", "judging_rules": RULES}
    concurrency = os.cpu_count() or 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the scene of the image has what the item asks for."""
        # Decoding the digest and deciding take some milliseconds: other images should not wait for it.
        return await asyncio.to_thread(judge_drawing, item, image)


def judge_drawing(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
    """Return the verdict on a drawing by the scene that it carries, or why there is none."""
    try:
        drawn = read_signed_png(image.data, image.pil)
    except NotDrawnError as error:
        return Unscored("not understood", f"builtin/drawn judges drawings as they were made, and this is none: {error}")
    return judge_drawn_scene(item, drawn)


def judge_drawn_scene(item: Item[object], drawn: DrawnScene, profile: RuleProfile = "official") -> Verdict | Unscored:
    """Return the verdict on what a scene shows.

    Args:
        item: what is asked.
        drawn: the scene.
        profile: of items that ask for objects, whose parts the verdict has.
    """
    evidence: dict[str, object] = {
        "scene": drawn.scene.to_json(),
        "style": drawn.style,
        "depth": list(drawn.order),
    }
    if isinstance(item.spec, ConceptSpec):
        return _judge_concepts(item, item.spec, drawn, evidence)
    if isinstance(item.spec, ObjectSpec):
        return _judge_objects(item.spec, drawn, profile, evidence)
    spec = judged_formula(item)
    if isinstance(spec, Unscored):
        return replace(spec, evidence=evidence)
    if suite_of(item.suite).world == "icons":
        found = judge_grounding(spec.formula, Grounding(drawn.scene))
        return replace(found, evidence={**found.evidence, **evidence})
    return _judge_formula(spec.formula, drawn, evidence)


def _judge_formula(formula: Formula, drawn: DrawnScene, evidence: dict[str, object]) -> Verdict | Unscored:
    try:
        verification = verify_drawn(formula, drawn)
        parts, bindings = _clauses(formula, verification)
    except FormulaError as error:
        return Unscored("not understood", error.problems[0].message, evidence)
    evidence |= {"explanation": verification.explain(), "bindings": bindings}
    return Verdict(verification.passed, parts, evidence)


def _clauses(formula: Formula, verification: Verification) -> tuple[tuple[Part, ...], dict[str, int]]:
    """Return the clauses as the parts that `ClauseJudge` has, with their bindings; one part if they are too many."""
    try:
        best = prepare_formula(formula).best_binding(verification.scene, verification.style)
        asked = to_prenex(formula).clauses
    except FormulaError as error:
        if any(problem.kind != "size" for problem in error.problems):
            raise
        return (formula_part(verification),), {}
    parts = {part.name: part for part in clause_parts(best)}
    if not all(clause.text in parts for clause in asked):  # a `forall` inside a disjunction
        return tuple(parts.values()), dict(best.bindings)
    # That there is one, as a strict `forall` says, is no clause of its own: without one, the clauses about all fail.
    instances = expand_strict_forall(formula).instances
    missing = {name for judged in best.clauses if not judged.holds for name in judged.clause.variables}
    empty = {rule for rule, instance in instances.items() if instance in missing}
    folded = [
        replace(part, score=0.0, reason="there is none") if clause.variables & empty else part
        for clause, part in ((clause, parts[clause.text]) for clause in asked)
    ]
    return tuple(folded), dict(best.bindings)


def _judge_objects(
    spec: ObjectSpec, drawn: DrawnScene, profile: RuleProfile, evidence: dict[str, object]
) -> Verdict | Unscored:
    """Return the verdict on objects, if all profiles agree; without parts that were not looked at for a failed one."""
    try:
        verdicts = judge_by_profiles(spec, drawn.scene.objects)
    except FormulaError as error:
        return Unscored("not understood", error.problems[0].message, evidence)
    if len({found.passed for found in verdicts.values()}) > 1:
        return Unscored("not understood", "by one profile it passes and by another it does not", evidence)
    parts = tuple(part for part in verdicts[profile].parts if part.score == 1 or part.reason)
    return Verdict(verdicts[profile].passed, parts, evidence)


def _judge_concepts(
    item: Item[object], spec: ConceptSpec, drawn: DrawnScene, evidence: dict[str, object]
) -> Verdict | Unscored:
    if not spec.concepts:
        return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by", evidence)
    parts = []
    for concept in spec.concepts:
        asked = _drawn_concept(concept, spec)
        if asked is None:
            detail = f"item {item.id} of {item.suite} does not tell which objects are meant by: {concept.question}"
            return Unscored("not understood", detail, evidence)
        try:
            holds = concept_holds(asked, drawn)
        except FormalimgError as error:  # published data may ask for anything
            return Unscored("not understood", str(error), evidence)
        parts.append(
            Part(concept.question, concept.category, float(holds), about=(concept.value,), reason=_shown(asked, drawn))
        )
    return Verdict(all(part.score == 1 for part in parts), tuple(parts), evidence)


def _drawn_concept(concept: RequestedConcept, spec: ConceptSpec) -> DrawnConcept | None:
    """Return the concept with the classes of its objects; None if the data does not tell them."""
    if concept.category == "style":
        return DrawnConcept("style", concept.value)
    if concept.category == "object":
        return DrawnConcept("object", concept.value, (concept.value,))
    if spec.binding is None or not concept.objects:
        return None
    items = tuple(spec.binding.objects[number - 1].item for number in concept.objects)
    return DrawnConcept(concept.category, concept.value, items)


def _shown(concept: DrawnConcept, drawn: DrawnScene) -> str:
    """Return what the scene has of the classes of a concept, in words."""
    if concept.category == "style":
        return f"the style is {drawn.style}" if drawn.style else "it is a plain drawing"
    found = [f"{obj.describe()} at {obj.box}" for obj in drawn.scene.objects if obj.label in concept.items]
    return ", ".join(found) or f"no {' and no '.join(concept.items)}"
