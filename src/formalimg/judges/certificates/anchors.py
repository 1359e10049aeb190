"""Anchor sets: rendered images that a judge answers again later, to detect whether it has changed.

A folder holds the drawings and `anchor.json`, with the judge, its settings, its answers in two passes, and every later
check. An answer covers the flipped part and the whole image. Failed calls are left out; an image that the judge cannot
score has the answer "unscored".
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from PIL import Image
from pydantic import TypeAdapter

from formalimg._util.aio import run_sync
from formalimg._util.images import png_bytes
from formalimg._util.io import atomic_folder, atomic_write, open_plain, read_plain_bytes
from formalimg._util.locks import lock_file
from formalimg._util.strict_json import loads_strict
from formalimg.errors import FormalimgError
from formalimg.judges.base import load_uncached
from formalimg.judges.certificates.flipped_scenes import FlippedScene, drawn_items, flipped_scenes
from formalimg.judges.certificates.measurement import (
    MeteredCalls,
    draw_example,
    map_concurrently,
    read_answer,
    refuse_to_certify,
    utc_now,
)
from formalimg.judges.observations import list_served_models
from formalimg.models.pricing import Spending
from formalimg.stats.judge_error import DRIFT_ALARM, AnchorLook, DriftEvidence, drift_evidence
from formalimg.types import Item, Judge, Setting, Unscored

ANCHOR_FILE = "anchor.json"
_LOCK_FILE = "lock"
_FORMAT, _VERSION = "formalimg anchor", 1
_MAX_BYTES = 50_000_000
_FAILED = "failed"  # The answer of a call that failed: none
_Question = tuple[Item[Any], bytes, str]  # An item, a drawing of it as a file, and the part that was flipped


@dataclass(frozen=True)
class AnchorImage:
    """A rendered image of an anchor set, with the judge's first two answers."""

    file: str  # its file name
    digest: str  # the SHA-256 of the file
    item: str  # the id of the item that is asked about
    prompt: str  # the prompt of the item, by which a changed suite is noticed
    part: str  # the part that was flipped, or that is flipped in the drawing's twin
    first: str  # the answers, such as "yes no": the part holds, the whole does not
    second: str


@dataclass(frozen=True)
class StoredLook:
    """The result of a later check against an anchor set."""

    date: str
    asked: int
    changed: int
    served: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnchorSet:
    """An anchor set with its images, first answers and later checks."""

    judge: str
    suite: str
    protocol: str
    date: str
    settings: Mapping[str, Setting]
    served: tuple[str, ...]
    images: tuple[AnchorImage, ...]
    looks: tuple[StoredLook, ...] = ()

    @property
    def evidence(self) -> DriftEvidence:
        """The statistical evidence that the judge has changed since the anchor set was made."""
        answered = [image for image in self.images if _FAILED not in (image.first, image.second)]
        second = AnchorLook(len(answered), sum(image.first != image.second for image in answered))
        return drift_evidence(second, [AnchorLook(look.asked, look.changed) for look in self.looks])

    def to_json(self) -> dict[str, object]:
        """Convert the anchor set to JSON-compatible data."""
        return {"format": _FORMAT, "version": _VERSION, **asdict(self), "e": self.evidence.e}

    def _encode(self) -> bytes:
        return f"{json.dumps(self.to_json(), indent=1, ensure_ascii=False)}\n".encode()


def make_anchor(
    judge: Judge,
    suite: str,
    folder: Path,
    scenes: int = 100,
    seed: int = 7,
    *,
    examples: Sequence[FlippedScene] | None = None,
    protocol: str = "default",
    spending: Spending | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> AnchorSet:
    """Render an anchor set, query the judge twice on each image, and store the answers in a new folder."""
    refuse_to_certify(judge, scenes)
    calls = MeteredCalls(judge, spending or Spending(), on_progress)
    with atomic_folder(folder) as temporary:
        questions = [
            (example.item, png_bytes(draw_example(suite, drawn)), example.part.name)
            for example in (flipped_scenes(suite, scenes, seed, judge) if examples is None else examples)
            for drawn in (example.shown, example.flipped)
        ]
        passes = [run_sync(lambda: _ask_all(judge, calls, questions)) for _ in range(2)]
        images = []
        for number, ((item, data, part), *answers) in enumerate(zip(questions, *(a for a, _ in passes), strict=True)):
            name = f"{number:04d}.png"
            (temporary / name).write_bytes(data)
            images.append(AnchorImage(name, sha256(data).hexdigest(), item.id, item.prompt, part, *answers))
        served = tuple(dict.fromkeys(name for _, names in passes for name in names))
        anchor = AnchorSet(judge.name, suite, protocol, utc_now(), dict(judge.settings), served, tuple(images))
        (temporary / ANCHOR_FILE).write_bytes(anchor._encode())
    return anchor


def look_again(
    judge: Judge,
    folder: Path,
    count: int | None = None,
    *,
    rng: Random | None = None,
    spending: Spending | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> AnchorSet:
    """Query the judge again on a random sample of its anchor set, and store how many answers changed."""
    with _lock_folder(folder):
        anchor = read_anchor(folder)
        if (anchor.judge, dict(anchor.settings)) != (judge.name, dict(judge.settings)):
            names = sorted({*anchor.settings, *judge.settings})
            different = [name for name in names if anchor.settings.get(name) != judge.settings.get(name)]
            raise FormalimgError(
                f"{folder} holds answers of {anchor.judge}, not of {judge.name} with these settings "
                f"({', '.join(different) or 'another name'}): name that judge, or another folder"
            )
        images = [image for image in anchor.images if image.first != _FAILED]
        if count is not None and count < len(images):
            images = (rng or SystemRandom()).sample(images, count)
        items = {item.id: item for item in drawn_items(anchor.suite)}
        questions = [_load_question(folder, image, items) for image in images]
        calls = MeteredCalls(judge, spending or Spending(), on_progress)
        answers, served = run_sync(lambda: _ask_all(judge, calls, questions))
        pairs = [(image.first, now) for image, now in zip(images, answers, strict=True) if now != _FAILED]
        look = StoredLook(utc_now(), len(pairs), sum(before != now for before, now in pairs), tuple(served))
        anchor = replace(anchor, looks=(*anchor.looks, look))
        atomic_write(folder / ANCHOR_FILE, [anchor._encode()], fsync=True)
        return anchor


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    read_anchor(folder)  # nothing is written to a folder that is none
    with ExitStack() as stack:
        try:
            lock_file(stack.enter_context(open(folder / _LOCK_FILE, "a", encoding="utf-8", opener=open_plain)))
        except OSError as error:
            reason = error.strerror or error
            raise FormalimgError(
                f"cannot lock {folder} ({reason}): wait until the other look is done, or check the folder"
            ) from None
        yield


def read_anchor(folder: Path) -> AnchorSet:
    """Read the anchor set stored in a folder."""
    try:
        data = loads_strict(stored := read_plain_bytes(folder / ANCHOR_FILE, _MAX_BYTES))
        if data["format"] != _FORMAT or data["version"] != _VERSION:
            raise ValueError("another format or version")
        return TypeAdapter(AnchorSet).validate_json(stored, strict=True)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
        raise FormalimgError(
            f"cannot read the anchor set {folder} ({reason}): name a folder that `formalimg certify --anchor` made, "
            "or a new one"
        ) from None


def anchor_text(anchor: AnchorSet) -> str:
    """Summarize an anchor set and its latest check in one line."""
    evidence = anchor.evidence
    noise = f"{100 * (evidence.noise or 0.0):.1f} %"
    if not anchor.looks:
        return (
            f"{anchor.judge}: anchor set of {len(anchor.images)} images, {noise} of its answers changed when asked "
            "twice; the same command asks again later"
        )
    last, since = anchor.looks[-1], anchor.date[:10]
    served = f", served by {', '.join(last.served)}" if last.served and last.served != anchor.served else ""
    look = f"look {len(anchor.looks)}: {last.changed} of {last.asked} answers changed{served} (at first {noise})"
    if not evidence.alarm:
        return f"{anchor.judge}: no sign of a change since {since}, {look}, e = {evidence.e:.3g}"
    return (
        f"{anchor.judge} has changed since {since}: {look}, e = {evidence.highest:.3g}, from {DRIFT_ALARM:g} on it is "
        "certain enough: certify it again, and judge again what is compared with earlier verdicts"
    )


def _load_question(folder: Path, image: AnchorImage, items: Mapping[str, Item[Any]]) -> _Question:
    item = items.get(image.item)
    if item is None or item.prompt != image.prompt:
        raise FormalimgError(f"item {image.item} of {folder} is not what the suite has now: make a new anchor set")
    try:
        data = read_plain_bytes(folder / Path(image.file).name, _MAX_BYTES)
    except OSError as error:
        raise FormalimgError(
            f"cannot read {folder / image.file}: {error.strerror or error}: make a new anchor set"
        ) from None
    if sha256(data).hexdigest() != image.digest:
        raise FormalimgError(f"{folder / image.file} was changed: restore it, or make a new anchor set")
    return item, data, image.part


async def _ask_all(
    judge: Judge, calls: MeteredCalls, questions: Sequence[_Question]
) -> tuple[list[str], dict[str, None]]:
    """Query the judge on all images, and return its answers in order with the models that served them."""
    served: dict[str, None] = {}

    async def ask(question: _Question) -> str:
        item, data, part = question
        image = await asyncio.to_thread(lambda: load_uncached(Image.open(io.BytesIO(data))))
        answer = await calls.answer(lambda: judge.judge(item, image))
        served.update(dict.fromkeys(list_served_models(answer)))
        if isinstance(answer, Unscored):
            return _FAILED if answer.reason == "judge failed" else "unscored"
        parts = read_answer(answer, part)
        return f"{_ANSWERS[parts.part]} {_ANSWERS[parts.passed]}"

    return await map_concurrently(ask, questions, max(1, judge.concurrency)), served


_ANSWERS = {None: "none", True: "yes", False: "no"}
