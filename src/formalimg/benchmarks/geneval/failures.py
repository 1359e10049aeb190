"""What failed, in English, where a rule for boxes decides: how many objects were found, their colours and places."""

from __future__ import annotations

import re
from collections.abc import Sequence

from formalimg.judges.clause_sentences import SceneSentence
from formalimg.judges.failures import reason_by_count
from formalimg.language.lexicon import plural_of
from formalimg.scenes.objects import SceneError, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Part, Verdict

_WANTED = re.compile(r"(exactly |fewer than )?(\d+) (.+) wanted, (\d+) found(?:: (.+))?")
_PLACED = re.compile(r".+ wanted, found (.+)")


def explain_failure(part: Part, verdict: Verdict) -> list[SceneSentence]:
    """Return what a rule for boxes says of a part; nothing of one that it did not look at."""
    if not part.reason:
        return []
    try:
        objects = Scene.from_json(verdict.evidence["scene"]).objects if "scene" in verdict.evidence else ()
    except SceneError:
        objects = ()
    spoken = frozenset(number for number, obj in enumerate(objects) if obj.label in part.about)
    said = _counted_boxes(part, objects) or _placed_boxes(part, [obj.label for obj in objects])
    return [SceneSentence(said or reason_by_count(part.reason), spoken)]


def _counted_boxes(part: Part, objects: Sequence[SceneObject]) -> str:
    """Return how many objects were found and wanted; empty if that is not the reason, or others may be meant."""
    found = _WANTED.fullmatch(part.reason)
    if found is None or not part.about:
        return ""
    how, wanted, noun, number, listed = found.groups()
    if part.kind == "attribute":  # the rule looks at the most certain boxes only
        color, label = part.about
        colors = [obj.color for obj in objects if obj.label == label]
        if color in colors:
            return ""
        if len(colors) == 1 and listed == f"1 {colors[0]}":
            return f"the {label} is {colors[0]}, not {color}"
    what = noun if number in ("0", "1") else plural_of(noun)
    if how == "fewer than ":
        return f"{number} {what} found, fewer than {wanted} allowed"
    if number == "0" and wanted == "1":
        return f"no {noun} found"
    return f"{'no' if number == '0' else number} {what} found, {how or ''}{wanted} needed"


def _placed_boxes(part: Part, labels: Sequence[str]) -> str:
    """Return where an object is in place of where it should be; empty if that is not the reason, or there are more."""
    found = _PLACED.fullmatch(part.reason)
    if found is None or len(part.about) != 3:
        return ""
    relation, label, target = part.about
    if not labels.count(label) == labels.count(target) == 1:
        return ""
    if found[1] == "in no clear direction":
        return f"the {label} is not {relation} the {target}"
    return f"the {label} is {found[1]} the {target}, not {relation} it"
