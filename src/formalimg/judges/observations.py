"""Diagnostics of a judge's own behaviour, read from its stored evidence.

These are boxes that were dropped for their labels, and overall verdicts that the clauses contradict. The evidence has
always been stored with the verdicts, so runs of earlier versions have them too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from formalimg._util.text import truncate
from formalimg.types import Unscored, Verdict

_SHOWN_LABELS = 5
_MAX_LABEL = 40


class DroppedBox(NamedTuple):
    """A box whose label was not requested."""

    label: str  # the label as the judge wrote it
    asked_for: tuple[str, ...]  # the classes that it was asked for


class BoxCount(NamedTuple):
    """The number of boxes reported by a chat model for an image, and those with other labels."""

    given: int  # all of them
    dropped: tuple[DroppedBox, ...]  # those whose labels were not asked for
    # whether they were left in nevertheless, as the published protocol does; no class of the formula is theirs
    left_in: bool = False


def count_boxes(verdict: Verdict | Unscored) -> BoxCount | None:
    """Count the boxes reported by a chat model, or return None if no boxes were requested."""
    evidence = verdict.evidence
    grounder = evidence.get("grounder", evidence)  # without a verdict, there is only what the grounder tells
    classes = tuple(
        dict.fromkeys(label for answer in _list_entries(grounder, "answers") for label in _list_classes(answer))
    )
    if not classes:
        return None
    dropped = [DroppedBox(str(box.get("label", "")), _list_classes(box)) for box in _list_entries(grounder, "dropped")]
    scene = evidence.get("scene")
    objects = _list_entries(scene if isinstance(scene, Mapping) else evidence, "objects")
    if grounder is evidence and isinstance(verdict, Verdict):  # the published protocol, which drops nothing
        dropped += [
            DroppedBox(str(box.get("label", "")), classes) for box in objects if box.get("label") not in classes
        ]
        return BoxCount(len(objects), tuple(dropped), left_in=True)
    return BoxCount(len(objects) + len(_list_entries(grounder, "merged")) + len(dropped), tuple(dropped))


def _list_entries(data: Any, name: str) -> Sequence[Mapping[str, Any]]:
    entries = data.get(name) if isinstance(data, Mapping) else None
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


def _list_classes(entry: Mapping[str, Any]) -> tuple[str, ...]:
    classes = entry.get("asked_for")
    return tuple(map(str, classes)) if isinstance(classes, list) else ()


def other_labels_text(labels: Iterable[str] | Mapping[str, int]) -> str:
    """Format labels in descending order of frequency, such as `mug (3), glass`."""
    counts: Counter[str] = Counter()
    for label, count in Counter(labels).items():
        counts[truncate(" ".join(label.split()), _MAX_LABEL, 10) or "no label"] += count
    ordered = counts.most_common()
    listed = [f"{label} ({count:,})" if count > 1 else label for label, count in ordered[:_SHOWN_LABELS]]
    more = len(ordered) - _SHOWN_LABELS
    return ", ".join(listed) + (f" and {more:,} more labels" if more > 0 else "")


def all_dropped_detail(labels: Iterable[str], classes: Sequence[str]) -> str:
    """Return the unscored detail for an image whose boxes all have labels that were not requested."""
    # Short, because tables cut details; commands say what to do about it.
    return f"no box has a label that was asked for: {other_labels_text(labels)} in place of {', '.join(classes)}"


def clause_disagreement(verdict: Verdict | Unscored) -> str:
    """Describe the contradiction between a judge's overall verdict and its clauses, or return an empty string."""
    if not isinstance(verdict, Verdict) or not has_clause_verdicts(verdict):
        return ""
    failing = sum(part.score < 1 for part in verdict.parts)
    if verdict.evidence["fulfilled"] and failing:
        clauses = "a clause does" if failing == 1 else f"{failing:,} clauses do"
        return f"the judge says that the whole is fulfilled, but {clauses} not hold"
    if not verdict.evidence["fulfilled"] and not failing:
        return "the judge says that the whole is not fulfilled, but that every clause holds"
    return ""


def has_clause_verdicts(verdict: Verdict | Unscored) -> bool:
    """Return whether a verdict includes both an overall answer and an answer for each clause."""
    return isinstance(verdict, Verdict) and isinstance(verdict.evidence.get("fulfilled"), bool) and bool(verdict.parts)


def explanation_title(verdict: Verdict | Unscored) -> str:
    """Return the title for the explanation of a verdict."""
    if isinstance(verdict, Verdict):
        if "rule" in verdict.evidence:
            return "Why not"
        if verdict.evidence.keys() & {"scene", "objects", "bindings"}:
            return f"{'Why it holds' if verdict.passed else 'Why not'}, given the judge's observation"
    return "Judge's observation"


def list_served_models(answer: Verdict | Unscored) -> tuple[str, ...]:
    """Return the ids of the models that served an answer, if reported by the provider."""
    grounder = answer.evidence.get("grounder")
    served = answer.evidence.get("served") or (grounder.get("served") if isinstance(grounder, Mapping) else None)
    models = served.get("model") if isinstance(served, Mapping) else None
    return tuple(name for name in (models if isinstance(models, list) else [models]) if isinstance(name, str) and name)
