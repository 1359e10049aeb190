"""A grounder measured by corrected boxes, as tables of words and as figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.analysis.attention import figures_of_conduct, table_of_conduct
from formalimg.analysis.boxes import Boxes, BoxesStudied
from formalimg.analysis.study_tables import (
    AgreementTable,
    Place,
    by_level,
    counted,
    intervals_told,
    numbers,
    percent,
    percent_with_interval,
)
from formalimg.stats import Estimate, Share
from formalimg.suites import suite

_WORST = 10


def tables_of_boxes(found: BoxesStudied) -> Iterator[AgreementTable]:
    """How well objects are found: in all, by level and run, class by class; and how far people draw the same."""
    level = suite(found.suite).level
    yield _table(
        "Boxes: found and corrected",
        f"{_told(found)} In percent, {intervals_told(found.confidence)}.",
        {
            **dict(by_level(found.by_level, level)),
            **(found.by_run if len(found.by_run) > 1 else {}),
            "all": found.overall,
        },
        "result",
    )
    classes = dict(list(found.by_class.items())[:_WORST])
    more = f"The {_WORST} with the lowest F1 of {len(found.by_class)}; the JSON holds all of them. "
    yield _table(
        "Boxes: class by class",
        f"{more if len(found.by_class) > _WORST else ''}In percent, {intervals_told(found.confidence)}.",
        classes,
    )
    if len(found.raters) > 1:
        mean = "No two people corrected the same." if found.between_mean is None else f"Mean: {_mean(found)}."
        yield AgreementTable(
            "Boxes: any two people",
            f"F1 in percent, at the same overlap, over the images that both corrected. {mean}",
            ("", *found.raters),
            tuple(
                (one, *(percent(row[other].f1) if other in row else "" for other in found.raters))
                for one, row in found.between.items()
            ),
        )
    if found.conduct is not None:
        yield table_of_conduct(found.conduct)


def figures_of_boxes(found: BoxesStudied) -> Iterator[dict[str, object]]:
    """The same for spreadsheets, with all classes."""
    yield from _figures(found.overall, {})
    for level, part in found.by_level.items():
        yield from _figures(part, {"level": level})
    for run, part in found.by_run.items():
        yield from _figures(part, {"run": run})
    for label, part in found.by_class.items():
        yield from _figures(part, {"kind": label})
    for number, one in enumerate(found.raters):
        for other in found.raters[number + 1 :]:
            pair = found.between[one][other]
            who = {"figure": "F1 of two people", "of": "boxes", "first": one, "second": other}
            yield {**who, "value": pair.f1, "n": pair.images}
    yield {"figure": "mean F1 of two people", "of": "boxes", "value": found.between_mean}
    if found.conduct is not None:
        yield from figures_of_conduct(found.conduct)


def _figures(boxes: Boxes, part: Mapping[str, object]) -> Iterator[dict[str, object]]:
    found: dict[str, Share | Estimate] = {"precision": boxes.precision, "recall": boxes.recall, "F1": boxes.f1}
    found |= {f"{kind} accuracy": share for kind, share in boxes.attributes.items()}
    for name, figure in found.items():
        yield {"figure": name, "of": "boxes", **part, **numbers(figure)}


def _told(found: BoxesStudied) -> str:
    judges = ", ".join(sorted(set(found.judges.values()))) or "not known"
    told = f"{counted(found.corrections, 'correction')} of {counted(found.images, 'image')} by "
    told += (
        f"{counted(len(found.raters), 'rater')}, of which {found.unchanged} change nothing; the grounder is {judges}. "
    )
    told += f"Right: the same class, and boxes that overlap by {found.iou:g} (IoU)."
    if found.refused:
        told += f" In {found.refused} of them the grounder could not tell what it saw, so it found none of the objects."
    return told


def _mean(found: BoxesStudied) -> str:
    return f"{percent(found.between_mean)}, each pair weighing the same"


def _table(title: str, note: str, parts: Mapping[str, Boxes], place: Place = "more") -> AgreementTable:
    kinds = list(dict.fromkeys(kind for boxes in parts.values() for kind in boxes.attributes))
    return AgreementTable(
        title,
        note,
        ("", "precision", "recall", "F1", *kinds, "things", "found", "right"),
        tuple(
            (
                name,
                *(percent_with_interval(it) for it in (boxes.precision, boxes.recall, boxes.f1)),
                *(percent_with_interval(boxes.attributes.get(kind, Share(0, 0, None, None))) for kind in kinds),
                *(str(count) for count in (boxes.objects, boxes.found, boxes.matched)),
            )
            for name, boxes in parts.items()
        ),
        place,
    )
