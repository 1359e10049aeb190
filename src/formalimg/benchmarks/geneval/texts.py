"""Text output for GenEval: item details, item statistics, and explanations of failures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, count_rows, read_sheet
from formalimg.benchmarks.geneval.benchmark import BENCHMARKS
from formalimg.benchmarks.object_spec import ObjectSpec, translate
from formalimg.benchmarks.odd_records import odd_meanings
from formalimg.judges.clause_sentences import SceneSentence
from formalimg.judges.failures import reason_by_count
from formalimg.language.lexicon import plural_of
from formalimg.scenes.objects import SceneError, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Part, Verdict


def item_lines(item: Item[ObjectSpec]) -> Iterator[str]:
    """Yield the objects that an item requires, and the equivalent formulas."""
    spec, level_names = item.spec, BENCHMARKS[0].level_names
    yield f"{item.suite}/{item.id}, {level_names.get(item.level, item.level)}\n\n{item.prompt}\n"
    yield from odd_meanings(item.tags)
    yield "objects"
    for included in spec.include:
        position = "" if included.target is None else f", {included.relation} {spec.include[included.target].label}"
        yield f"  {included.count} {' '.join(filter(None, (included.color, included.label)))}{position}"
    for absent in spec.exclude:
        yield f"  fewer than {absent.count} {absent.label}"
    yield "\nformulas"
    for clause in translate(spec):
        yield f"  {clause.kind:<9}  {clause.text}"


def datasheet(suite: str, items: Sequence[Item[Any]]) -> Datasheet:
    """Return the datasheet for an export of items, with requirement counts by class."""
    counts = Counter(included.label for item in items for included in item.spec.include)
    colored = sum(bool(included.color) for item in items for included in item.spec.include)
    placed = sum(included.target is not None for item in items for included in item.spec.include)
    notes = [
        f"{counts.total():,} requirements for objects of {len(counts)} classes.",
        f"{colored:,} name a colour, and {placed:,} a place relative to another object.",
    ]
    contents = MarkdownTable(("class", "requirements"), count_rows(sorted(counts.items())))
    return read_sheet(__package__, "objects", suite, contents, notes)


_WANTED = re.compile(r"(exactly |fewer than )?(\d+) (.+) wanted, (\d+) found(?:: (.+))?")
_PLACED = re.compile(r".+ wanted, found (.+)")


def explain_failure(part: Part, verdict: Verdict) -> list[SceneSentence]:
    """Explain why a part failed, or return an empty list if the part has no reason."""
    if not part.reason:
        return []
    try:
        objects = Scene.from_json(verdict.evidence["scene"]).objects if "scene" in verdict.evidence else ()
    except SceneError:
        objects = ()
    spoken = frozenset(number for number, obj in enumerate(objects) if obj.label in part.about)
    sentence = _explain_count(part, objects) or _explain_position(part, [obj.label for obj in objects])
    return [SceneSentence(sentence or reason_by_count(part.reason), spoken)]


def _explain_count(part: Part, objects: Sequence[SceneObject]) -> str:
    """Return the found and required counts, or an empty string if the reason is not a count."""
    match = _WANTED.fullmatch(part.reason)
    if match is None or not part.about:
        return ""
    qualifier, required, noun, number, listed = match.groups()
    if part.kind == "attribute":  # the rule looks at the most certain boxes only
        color, label = part.about
        colors = [obj.color for obj in objects if obj.label == label]
        if color in colors:
            return ""
        if len(colors) == 1 and listed == f"1 {colors[0]}":
            return f"the {label} is {colors[0]}, not {color}"
    objects_text = noun if number in ("0", "1") else plural_of(noun)
    if qualifier == "fewer than ":
        return f"{number} {objects_text} found, fewer than {required} allowed"
    if number == "0" and required == "1":
        return f"no {noun} found"
    return f"{'no' if number == '0' else number} {objects_text} found, {qualifier or ''}{required} needed"


def _explain_position(part: Part, labels: Sequence[str]) -> str:
    """Return the actual and required positions, or an empty string unless the pair of objects is unique."""
    match = _PLACED.fullmatch(part.reason)
    if match is None or len(part.about) != 3:
        return ""
    relation, label, target = part.about
    if not labels.count(label) == labels.count(target) == 1:
        return ""
    if match[1] == "in no clear direction":
        return f"the {label} is not {relation} the {target}"
    return f"the {label} is {match[1]} the {target}, not {relation} it"
