"""Run folders to look at, with outcomes that are known, and with texts that try to do harm."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

from PIL import Image
from starlette.testclient import TestClient

from formalimg import load
from formalimg.benchmarks.conceptmix.spec import Category, ConceptSpec, RequestedConcept
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.models.python_function import CallableModel
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.plan import Selection
from formalimg.types import Item, Part, Setting, Unscored, Verdict
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site

HARM = "<script>pwned=1</script><img src=x onerror=pwned=1>'\"&</textarea></title>{{7*7}}"
"""Text that does something wherever it is taken for markup or for a template."""

CONCEPTS: Sequence[tuple[Category, str]] = (("color", "red"), ("number", "3"), ("spatial", "left"), ("style", HARM))


class Eye:
    """A judge that finds what the number of an item has as bits; every seventh item it does not understand."""

    concurrency = 1
    settings: Mapping[str, Setting] = {}

    def __init__(self, name: str = "test/eye", *, turned: bool = False) -> None:
        self.name, self._turned = name, turned

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        assert isinstance(item.spec, ConceptSpec)
        place = int(item.id.rpartition("-")[2])
        if place % 7 == 6:
            return Unscored("not understood", HARM, {"answer": HARM})
        parts = [
            Part(
                concept.question,
                concept.category,
                float(place >> bit & 1 != self._turned),
                about=(concept.value,),
                reason=HARM,
            )
            for bit, concept in enumerate(item.spec.concepts)
        ]
        return Verdict(
            all(part.score for part in parts), tuple(parts), {"explanation": HARM, "answer": f"{HARM}\ud800"}
        )


def concept_items(count: int) -> list[Item[ConceptSpec]]:
    """Items with two to four concepts; their prompts are harmful and tell their concepts."""
    items = []
    for place in range(count):
        asked = CONCEPTS[: place % 3 + 2]
        concepts = tuple(
            RequestedConcept(kind, value, f"{kind} {value}", f"Is it {value}?", ()) for kind, value in asked
        )
        prompt = f"Number {place} with 100%_{place} {HARM}: {', '.join(value for _, value in asked)}"
        items.append(Item("conceptmix", f"item-{place}", len(asked) - 1, prompt, ConceptSpec(concepts)))
    return items


def image(prompt: str, seed: int) -> Image.Image:
    return Image.radial_gradient("L").rotate(seed % 360).resize((48, 32))


def concept_run(
    folder: Path,
    count: int = 30,
    *,
    model: str = "test/painter",
    judge: Eye | None = None,
    shape: tuple[int, int] = (48, 32),
) -> None:
    """A run of ConceptMix whose outcomes are known."""

    def paint(prompt: str, seed: int) -> Image.Image:
        return image(prompt, seed).resize(shape)

    execute(RunConfig(concept_items(count), CallableModel(paint, name=model), size=64), folder, judge or Eye())


def knolling_run(folder: Path) -> None:
    """A run of FormalImg by the embedded model that makes mistakes, and by the embedded judge."""
    order = RunConfig(load("knolling"), open_image_model("builtin/reader"), Selection(None, 2), size=256)
    execute(order, folder, open_judge("knolling"))


def change(folder: Path, query: str, *values: object) -> None:
    """Tamper with the results of a run."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as database:
        database.execute(query, values)
        database.commit()


def visitor(folder: Path, token: str | None = None) -> TestClient:
    """Somebody who looks at the site, at this machine."""
    return TestClient(create_viewer_app(Site(folder), token=token), base_url="http://127.0.0.1:8421")


class Elements(HTMLParser):
    """The elements of a page, and what is written in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data
