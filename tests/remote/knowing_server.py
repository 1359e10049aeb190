"""A server that paints images of known scenes, and whose chat model knows what is in them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.judges.factory import open_judge
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.types import ImageModel, Item, Judge
from tests.support.loopback import Asked, Fault, Faults, Loopback, Request, Wish
from tests.support.loopback.dialects import image_in
from tests.support.models import speckled
from tests.support.scripted_chat import Asked as Question
from tests.support.scripted_chat import Known, tells_objects

QUICK = {"first_wait": "0.001", "concurrency": "1", "timeout": "10"}
"""Options of a model: waits that tests can bear, and one call at a time, so that requests come in a known order."""


def knolling(count: int, levels: Sequence[int] = tuple(range(1, 11))) -> list[Item[FormulaSpec]]:
    """The first items of these levels, so many in all, in the order in which a run asks for their images."""
    of_level = [[item for item in _suite() if item.level == level] for level in levels]
    return [item for items in zip(*of_level, strict=True) for item in items][:count]


@cache
def _suite() -> Sequence[Item[FormulaSpec]]:
    return load("knolling")


class KnowingServer(Loopback):
    """Paints each of the items as an image of its own, and tells of that image what the item's witness shows.

    Attributes:
        items: those that it can paint.
    """

    def __init__(
        self,
        items: Sequence[Item[FormulaSpec]],
        *,
        faults: Faults = lambda number: None,
        paint: Callable[[Wish], bytes] | None = None,
        reply: Callable[[str], str] = lambda text: text,
        **options: object,
    ) -> None:
        """A server that does not run yet.

        Args:
            items: what it can paint.
            faults: as for every loopback server.
            paint: paints in place of it.
            reply: what becomes of a right answer before it is sent.
            options: as for every loopback server.
        """
        self.items = items
        self._ids = {_digest(_image(item)): item.id for item in items}
        self._witnesses = {_digest(_image(item)): item.spec.witness for item in items}
        self._spoil = reply
        super().__init__(faults=faults, paint=paint or self._painted, reply=self._told, **options)  # type: ignore[arg-type]

    def __enter__(self) -> KnowingServer:
        super().__enter__()
        return self

    def asked_about(self, request: Request) -> str:
        """The id of the item whose image a request to the chat model shows."""
        shown = request.json["messages"][0]["content"][1]["image_url"]["url"]
        return self._ids[_digest(image_in(shown))]

    def _painted(self, wish: Wish) -> bytes:
        (item,) = [item for item in self.items if wish.prompt.endswith(item.prompt)]
        return _image(item)

    def _told(self, asked: Asked) -> str:
        (image,) = asked.images
        witness = self._witnesses[_digest(image)]
        assert witness is not None
        return self._spoil(json.dumps(tells_objects(Question("\n\n".join(asked.texts[:2]), Known(witness), 16, 16))))


def painter(server: Loopback, model: str = "painter", **options: str) -> ImageModel:
    """An image model on a server, through the real library."""
    return open_image_model(f"openai/{model}", {"base_url": f"{server.url}/v1", **QUICK, **options})


def looker(server: Loopback, **options: str) -> Judge:
    """A judge of Knolling whose chat model is on a server, through the real library; it remembers nothing."""
    usual = {"base_url": f"{server.url}/v1", "cache": "off", "reads": "0", "requests": "all-at-once", **QUICK}
    return open_judge("knolling", "openai/looker", {**usual, **options})


def order(items: Sequence[Item[FormulaSpec]], model: ImageModel, **changes: object) -> RunConfig:
    """One image of each item."""
    return RunConfig(items, model, **{"size": 64, **changes})  # type: ignore[arg-type]


def successes(server: Loopback, faults: Faults) -> Mapping[str, Counter[str]]:
    """How often which question was answered well, by the path of the request.

    A question is known by its words and images, so this holds if no two items ask the same.
    """
    found: dict[str, Counter[str]] = {}
    for number, request in enumerate(server.requests):
        if faults(number) is None:
            found.setdefault(request.path, Counter())[_digest(_asked(request))] += 1
    return found


def _asked(request: Request) -> bytes:
    body = request.json
    return json.dumps(body["messages"] if "messages" in body else body["prompt"]).encode()


def one_after_the_other(kinds: Sequence[str | Fault]) -> Faults:
    """Each of these faults in its turn, and then none."""
    faults = [Fault(kind) if isinstance(kind, str) else kind for kind in kinds]
    return lambda number: faults[number] if number < len(faults) else None


def all_bytes_in(folder: Path) -> bytes:
    """Everything that lies in a folder, names included."""
    return b"\n".join(
        [
            str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b"")
            for path in folder.rglob("*")
        ]
    )


def _image(item: Item[FormulaSpec]) -> bytes:
    return speckled(item.id, 16)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
