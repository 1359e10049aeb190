"""Verdicts that follow from stored evidence: what a judge saw is judged again, without the judge and the image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formalimg.judges.base import Grounding, Unscored, Verdict
from formalimg.judges.scene_judge import RULES, judge_grounding
from formalimg.models import Setting
from formalimg.scenes import Scene
from formalimg.suites import FormulaSpec, Item


def verdict_from_evidence(
    item: Item[object], settings: Mapping[str, Setting], evidence: Mapping[str, object]
) -> Verdict | Unscored | None:
    """Return the verdict that logic makes of the scene that a judge saw; None where no logic of this version decided.

    Args:
        item: the item.
        settings: the settings of the judge, which say by which rules scenes were judged.
        evidence: the evidence of its verdict.

    Raises:
        SceneError: if the scene cannot be read.
        FormulaError: if no scene can be judged by the formula of the item.
    """
    if not follows_by_logic(item, settings, evidence):
        return None
    scene = Scene.from_json(evidence["scene"])
    if "depth" in evidence:  # a drawing, of which the judge knows more than boxes
        return _drawing_verdict(item, scene, evidence)
    assert isinstance(item.spec, FormulaSpec)
    return judge_grounding(item.spec.formula, Grounding(scene))


def follows_by_logic(item: Item[object], settings: Mapping[str, Setting], evidence: Mapping[str, object]) -> bool:
    """Return whether a verdict with this evidence was made of a stored scene, by the rules of this version."""
    by_rules = (settings.get("semantics"), settings.get("judging_rules")) == ("strict", RULES)
    return by_rules and "scene" in evidence and ("depth" in evidence or isinstance(item.spec, FormulaSpec))


def _drawing_verdict(item: Item[object], scene: Scene, evidence: Mapping[str, Any]) -> Verdict | Unscored:
    from formalimg.judges.drawn_judge import judge_drawn_scene  # here, because it comes with what reads drawings
    from formalimg.scenes import DrawnScene, SceneError

    depth, style = evidence["depth"], evidence.get("style")
    if not (isinstance(depth, list) and all(type(number) is int for number in depth)):
        raise SceneError(["the depth is not a list of numbers"])
    if style is not None and not isinstance(style, str):
        raise SceneError(["the style is not a text"])
    return judge_drawn_scene(item, DrawnScene(scene, style, tuple(depth)))
