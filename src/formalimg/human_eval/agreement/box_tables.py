"""Tables and CSV rows of a grounder measured against corrected boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.benchmarks.registry import suite
from formalimg.human_eval.agreement.attention import attention_rows, attention_table
from formalimg.human_eval.agreement.boxes import BoxAccuracy, BoxStudy
from formalimg.human_eval.agreement.headline_tables import boxes_headline
from formalimg.human_eval.agreement.study_tables import (
    build_table,
    by_level,
    count_columns,
    estimate_columns,
    interval_note,
    number,
)
from formalimg.reports.tables.format import count_noun, format_value
from formalimg.reports.tables.model import Column, Placement
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.precision_recall import Proportion
from formalimg.types import Table

_MAX_CLASSES = 10


def box_study_tables(found: BoxStudy) -> Iterator[Table]:
    """Yield the detection accuracy overall, by level and run, and by class; and the agreement of raters."""
    level, intervals = suite(found.suite).level, interval_note(found.confidence)
    parts = {
        **dict(by_level(found.by_level, level)),
        **(found.by_run if len(found.by_run) > 1 else {}),
        "all": found.overall,
    }
    yield boxes_headline("Grounder and raters", found)
    yield _table("Boxes: found and corrected", f"{_study_note(found)} In percent, {intervals}.", parts, "result")
    classes = dict(list(found.by_class.items())[:_MAX_CLASSES])
    more = f"The {_MAX_CLASSES} with the lowest F1 of {len(found.by_class)}; the JSON holds all of them. "
    note = f"{more if len(found.by_class) > _MAX_CLASSES else ''}In percent, {intervals}."
    yield _table("Boxes: by class", note, classes)
    if len(found.raters) > 1:
        mean = "No two raters corrected the same."
        if found.between_mean is not None:
            mean = f"Mean: {format_value(found.between_mean, 'percent')}, each pair weighing the same."
        yield build_table(
            "Boxes: pairwise agreement of raters",
            f"F1 in percent, at the same overlap, over the images that both corrected. {mean}",
            ("", *(Column(rater, "percent") for rater in found.raters)),
            (
                (one, *(row[other].f1 if other in row else "" for other in found.raters))
                for one, row in found.between.items()
            ),
        )
    if found.attention is not None:
        yield attention_table(found.attention)


def box_study_rows(found: BoxStudy) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of a study of boxes, with all classes."""
    yield from _accuracy_rows(found.overall, {})
    for level, part in found.by_level.items():
        yield from _accuracy_rows(part, {"level": level})
    for run, part in found.by_run.items():
        yield from _accuracy_rows(part, {"run": run})
    for label, part in found.by_class.items():
        yield from _accuracy_rows(part, {"kind": label})
    for index, one in enumerate(found.raters):
        for other in found.raters[index + 1 :]:
            pair = found.between[one][other]
            who = {"figure": "F1 of two people", "of": "boxes", "first": one, "second": other}
            yield {**who, "value": pair.f1, "n": pair.images}
    yield {"figure": "mean F1 of two people", "of": "boxes", "value": found.between_mean}
    if found.attention is not None:
        yield from attention_rows(found.attention)


def _accuracy_rows(boxes: BoxAccuracy, part: Mapping[str, object]) -> Iterator[dict[str, object]]:
    found: dict[str, Proportion | Estimate] = {"precision": boxes.precision, "recall": boxes.recall, "F1": boxes.f1}
    found |= {f"{kind} accuracy": share for kind, share in boxes.attributes.items()}
    for name, statistic in found.items():
        yield {"figure": name, "of": "boxes", **part, **estimate_columns(statistic)}


def _study_note(found: BoxStudy) -> str:
    judges = ", ".join(sorted(set(found.judges.values()))) or "not known"
    note = (
        f"{count_noun(found.corrections, 'correction')} of {count_noun(found.images, 'image')} by "
        f"{count_noun(len(found.raters), 'rater')}, of which {found.unchanged} change nothing; the grounder is "
        f"{judges}. Right: the same class, and boxes that overlap by {found.iou:g} (IoU)."
    )
    if found.refused:
        note += f" In {found.refused} of them the grounder gave no boxes, so it found none of the objects."
    return note


def _table(title: str, note: str, parts: Mapping[str, BoxAccuracy], placement: Placement = "more") -> Table:
    kinds = list(dict.fromkeys(kind for boxes in parts.values() for kind in boxes.attributes))
    columns = [Column(head, "percent") for head in ("precision", "recall", "F1", *kinds)]
    return build_table(
        title,
        note,
        ("", *columns, *count_columns("objects", "found", "right")),
        (
            (
                name,
                *(number(boxes.precision), number(boxes.recall), number(boxes.f1)),
                *(number(boxes.attributes.get(kind)) for kind in kinds),
                *(boxes.objects, boxes.found, boxes.matched),
            )
            for name, boxes in parts.items()
        ),
        placement,
    )
