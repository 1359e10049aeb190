"""Contracts of judges and grounders: `Judge`, `Grounder`, `LoadedImage`, `Verdict`, `Part`, `Unscored`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from formalimg.errors import FormalimgError
from formalimg.models import Concurrent
from formalimg.scenes import Scene
from formalimg.suites import FormulaSpec, Item

if TYPE_CHECKING:
    from PIL.Image import Image

UnscoredReason: TypeAlias = Literal[
    "no image",  # the image model has not answered yet
    "refused",  # the image model declined
    "generation failed",  # the image model did not answer
    "unreadable image",  # a file that cannot be decoded
    "too large",  # more pixels than anyone should decode
    "not understood",  # the judge looked, and cannot tell
    "judge failed",  # the judge did not answer
    "not judged",  # no judge has looked yet
]

DECLINED = "declined to look"
"""What the detail of a `judge failed` says where the judge's model refused, as by a content filter."""

MAX_OBJECTS = 1000
"""The most objects of a scene that is judged: time grows with their number, and no image of a suite shows so many."""


@dataclass(frozen=True)
class Part:
    """One graded part of a verdict: a clause, a question, a dimension.

    Attributes:
        name: what was checked, such as the text of a clause.
        kind: the kind of check, such as object, attribute, relation, condition, style.
        score: 0 to 1.
        weight: its weight in the score of the verdict.
        about: the words by which failures are grouped, such as the predicates of a clause.
        reason: a short explanation, with numbers where there are any; of a chat model, its observation.
        p_yes: the probability of yes, 0 to 1, where the part is a yes/no question and the server of the judge gives
            log-probabilities; else None. Where another answer is expected (no, a number), the probability of that. It
            decides nothing.
    """

    name: str
    kind: str
    score: float
    weight: float = 1.0
    about: tuple[str, ...] = ()
    reason: str = ""
    p_yes: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return the part as plain data."""
        data: dict[str, object] = {
            "name": self.name,
            "kind": self.kind,
            "score": self.score,
            "weight": self.weight,
            "about": list(self.about),
            "reason": self.reason,
        }
        return data if self.p_yes is None else {**data, "p_yes": self.p_yes}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Part:
        """Return the part that `to_json` wrote."""
        # A report reads tens of thousands: without a loop over the names, and with tuples of types, not unions.
        name, kind, score = data["name"], data["kind"], data["score"]
        weight, about, reason, p_yes = data["weight"], data["about"], data["reason"], data.get("p_yes")
        if not (isinstance(score, (int, float)) and isinstance(weight, (int, float)) and isinstance(about, list)):
            raise FormalimgError(f"not a part of a verdict: {data!r}")
        if p_yes is not None and not (isinstance(p_yes, (int, float)) and 0 <= p_yes <= 1):
            raise FormalimgError(f"not a part of a verdict: {data!r}")
        soft = None if p_yes is None else float(p_yes)
        return cls(str(name), str(kind), float(score), float(weight), tuple(map(str, about)), str(reason), soft)


@dataclass(frozen=True)
class Verdict:
    """The judgement on an image.

    Attributes:
        passed: whether the image shows all that the item asks for.
        parts: what the item asks for, part by part.
        evidence: what the judge saw and why it decided so, as plain data; see each judge for its keys. A text that
            explains the verdict is under `explanation`.
        cost: the cost of judging in US dollars; None if the price is unknown.
    """

    passed: bool
    parts: tuple[Part, ...] = ()
    evidence: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = 0.0

    @property
    def score(self) -> float:
        """The weighted mean of the scores of the parts; 1 if and only if every part is fully shown."""
        weight = sum(part.weight for part in self.parts)
        if not weight:
            return float(self.passed)
        return sum(part.score * part.weight for part in self.parts) / weight

    @property
    def soft_score(self) -> float | None:
        """The weighted mean of P(yes) over the parts; None unless every part has one."""
        weight, total = 0.0, 0.0
        for part in self.parts:
            if part.p_yes is None:
                return None
            weight += part.weight
            total += part.p_yes * part.weight
        return total / weight if weight else None


@dataclass(frozen=True)
class Unscored:
    """No verdict, and why: never a 0, never left out of the count.

    Attributes:
        reason: the kind of reason.
        detail: what happened, in one line.
        evidence: what the judge saw, if it looked.
        cost: the cost nevertheless, in US dollars; None if the price is unknown.
    """

    reason: UnscoredReason
    detail: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = 0.0


@dataclass(frozen=True)
class LoadedImage:
    """An image to be judged.

    Attributes:
        data: the file as the image model returned it: PNG, JPEG or WebP.
        pil: the decoded image, upright, in RGB.
    """

    data: bytes
    pil: Image


class Judge(Concurrent, Protocol):
    """Item and image in, verdict out."""

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows what the item asks for. What cannot be decided is `Unscored`, never a guess."""
        ...


@dataclass(frozen=True)
class Grounding:
    """What a grounder saw in an image.

    Attributes:
        scene: the objects, on a canvas of 1000 by 1000 whatever the size of the image.
        confidence: 0 to 1; how sure the grounder is that this is all of it. Below its threshold it returns `Unscored`.
        evidence: anything else worth keeping, as plain data, such as raw answers.
        cost: the cost of grounding in US dollars; None if the price is unknown.
    """

    scene: Scene
    confidence: float = 1.0
    evidence: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = 0.0


@runtime_checkable
class Grounder(Concurrent, Protocol):
    """Image in, scene out.

    One that knows some classes only may have `unknown_classes(classes)`, which returns those that it cannot look for:
    runs then say beforehand how many items it cannot score.
    """

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """Find the objects in an image.

        Args:
            image: the image; a grounder looks at nothing else.
            classes: the classes that matter to the caller. A grounder may report others too.
        """
        ...


def judged_formula(item: Item[object]) -> FormulaSpec | Unscored:
    """Return the spec of an item that has a formula to judge by, or why nobody can judge it."""
    spec = item.spec
    if not isinstance(spec, FormulaSpec):
        return Unscored("not understood", f"item {item.id} of {item.suite} has no formula to judge by")
    if spec.unreadable is not None:
        return Unscored("not understood", f"item {item.id} of {item.suite}: {spec.unreadable_because}")
    return spec
