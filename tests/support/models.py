"""Image models and judges for tests: they wait, fail, refuse or count, and are otherwise what they claim to be."""

from __future__ import annotations

import asyncio
import hashlib
import io
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from PIL import Image

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.base import LoadedImage
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.types import Item, Part, Setting, Unscored, Verdict

WORDS = ("cup", "pen", "book", "bottle", "keys")


def small_items(count: int, *, levels: int = 4, color: str = "red") -> list[Item[FormulaSpec]]:
    """Items of the Knolling suite that are quickly made: level by level, in the order of their ids."""
    found = []
    for number in range(count):
        level = 1 + number * levels // count
        spec = FormulaSpec.of(_row_of(level, WORDS[number % len(WORDS)], color))
        found.append(Item("knolling", str(number), level, f"A row of {level} objects, number {number}.", spec, (), "1"))
    return found


def _row_of(length: int, word: str, color: str) -> Formula:
    """So many objects in a row, which makes K."""
    names = [f"?x{number}" for number in range(length)]
    atoms = [f"(Is {names[0]} '{word}')", f"(Has {names[0]} '{color}')"]
    atoms += [f"(LeftOf {left} {right})" for left, right in pairwise(names)]
    return parse("".join(f"(exists {name} " for name in names) + f"(and {' '.join(atoms)})" + ")" * length)


@lru_cache(1000)
def speckled(text: str, size: int = 64, form: str = "PNG") -> bytes:
    """An image that follows from a text; as good as incompressible."""
    file = io.BytesIO()
    Image.frombytes("RGB", (size, size), random.Random(text).randbytes(size * size * 3)).save(file, form)
    return file.getvalue()


def speckled_for(request: ImageRequest) -> ImageResult:
    """The image of a request; anything that differs in the request makes another image."""
    text = f"{request.item} {request.sample} {request.prompt} {request.seed} {request.size} {request.spec}"
    return Generated(speckled(text, request.size), {"size": request.size})


def speckled_for_a_dollar(request: ImageRequest) -> Generated:
    """The same image, at a price."""
    answer = speckled_for(request)
    assert isinstance(answer, Generated)
    return replace(answer, cost=1.0)


@dataclass
class Speckles:
    """Paints speckles that follow from the request, and notes each request before it answers.

    Attributes:
        answer: from a request to its answer; may raise.
        seconds: waits so long before each answer.
        log: each request is also added to this file, as `item sample`.
        asked: item and sample of all requests so far.
    """

    name: str = "test/speckles"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    batch: int = 1
    concurrency: int = 4
    sees_spec: bool = False
    answer: Callable[[ImageRequest], ImageResult] = speckled_for
    seconds: float = 0.0
    log: Path | None = None
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        for request in requests:
            self.asked.append((request.item, request.sample))
            if self.log is not None:
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(f"{request.item} {request.sample}\n")
            await asyncio.sleep(self.seconds)
            yield self.answer(request)


def verdict_of(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
    """A verdict that follows from item and image: about one in four passes."""
    number = hashlib.sha256(item.id.encode() + image.data).digest()[0]
    part = Part("shown", "object", (number % 4) / 3, reason=f"number {number}")
    return Verdict(part.score == 1, (part,), {"number": number, "size": list(image.pil.size)})


@dataclass
class NumberJudge:
    """Judges by a number that follows from item and image, and notes what it was given."""

    name: str = "test/number"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"version": 1})
    concurrency: int = 4
    verdict: Callable[[Item[object], LoadedImage], Verdict | Unscored] = verdict_of
    seconds: float = 0.0
    judged: list[str] = field(default_factory=list)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        self.judged.append(item.id)
        await asyncio.sleep(self.seconds)
        return self.verdict(item, image)
