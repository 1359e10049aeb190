"""Items, images and verdicts as rows of the database."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple, get_args

from formalimg._util.strict_json import dumps_storable
from formalimg.judges import Unscored, UnscoredReason, Verdict
from formalimg.models import Answer, Failed, Generated, Refused
from formalimg.runs.troubles import in_one_line
from formalimg.suites import FormulaSpec, Item, encode_item


class ItemRow(NamedTuple):
    """An item as columns of the table `items`."""

    id: str
    position: int
    level: int
    prompt: str
    formula: str
    tags: str
    question: str
    record: str


def item_row(position: int, item: Item[object], question: str) -> ItemRow:
    """The columns of an item, with its position in the suite and the key of what it asks."""
    formula = str(item.spec.formula) if isinstance(item.spec, FormulaSpec) else ""
    tags = dumps_storable(list(item.tags))
    return ItemRow(item.id, position, item.level, item.prompt, formula, tags, question, encode_item(item))


class ImageRow(NamedTuple):
    """What came of a planned image, as columns of the table `images`."""

    status: str
    detail: str = ""
    file: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    width: int | None = None
    height: int | None = None
    served: str = "{}"
    cost: float = 0.0
    unpriced: int = 0


def no_image_row(answer: Refused | Failed | Unscored) -> ImageRow:
    """The columns of an image that there is none of, with the reason."""
    if isinstance(answer, Unscored):
        return ImageRow("too large" if answer.reason == "too large" else "unreadable", answer.detail)
    if isinstance(answer, Failed) and answer.absent:
        return ImageRow("absent", in_one_line(answer.reason))
    return ImageRow("refused" if isinstance(answer, Refused) else "failed", in_one_line(answer.reason))


def priced(cost: float | None) -> tuple[float, int]:
    """A cost as two columns: what is known of it, and whether that is not all.

    Raises:
        ValueError: if it is no cost: no budget could be kept any more.
    """
    if cost is None:
        return 0.0, 1
    if not (isinstance(cost, int | float) and isfinite(cost) and cost >= 0):
        raise ValueError(f"a cost of {cost!r} US dollars cannot be")
    return cost, 0


def paid(answer: Answer) -> tuple[float, int]:
    """What an answer of an image model has cost, as two columns. Only images are paid for, also broken ones.

    Raises:
        ValueError: if it is no cost.
    """
    return priced(answer.cost) if isinstance(answer, Generated) else priced(0.0)


class VerdictRow(NamedTuple):
    """A verdict, or why there is none, as columns of the table `verdicts`."""

    passed: bool | None
    score: float | None
    reason: str
    detail: str
    parts: str
    evidence: str
    cost: float
    unpriced: int


def verdict_row(verdict: Verdict | Unscored) -> VerdictRow:
    """The columns of a verdict.

    Raises:
        TypeError: if this is no verdict, or one that is not made of plain data.
        ValueError: if it holds numbers that are none, or its cost is none.
    """
    if isinstance(verdict, Unscored):
        if verdict.reason not in get_args(UnscoredReason):
            raise TypeError(f"the judge gave the unknown reason {verdict.reason!r}")
        evidence = dumps_storable(dict(verdict.evidence))
        return VerdictRow(
            None, None, verdict.reason, in_one_line(verdict.detail), "[]", evidence, *priced(verdict.cost)
        )
    if not isinstance(verdict, Verdict):
        raise TypeError(f"the judge gave {type(verdict).__name__} in place of a verdict")
    parts, evidence = dumps_storable([part.to_json() for part in verdict.parts]), dumps_storable(dict(verdict.evidence))
    return VerdictRow(bool(verdict.passed), verdict.score, "", "", parts, evidence, *priced(verdict.cost))
