"""Runs for reports: real items, drawn images, real verdicts, kept in memory instead of a run folder."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, get_args

import formalimg
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.icon_scene import draw
from formalimg.judges.base import Grounding, UnscoredReason
from formalimg.judges.scene_judge import judge_grounding
from formalimg.runs.database import PlannedItem, RunCost
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Part, Unscored, Verdict
from tests.support.values import not_none

Fates: TypeAlias = Mapping[int, Sequence[bool | UnscoredReason]]
"""For each level what became of its items."""

REASONS: tuple[UnscoredReason, ...] = get_args(UnscoredReason)


@dataclass(frozen=True)
class DrawnRun:
    """A run that fulfils the protocol of those read from folders."""

    folder: Path
    manifest: RunManifest
    items: Mapping[str, PlannedItem]
    images: tuple[Judged, ...]

    def suite_items(self) -> Sequence[Item[object]]:
        return [
            Item(self.manifest.suite, each.id, each.level, each.prompt, FormulaSpec.of(formalimg.parse(each.formula)))
            for each in self.items.values()
        ]

    def outcomes(self) -> Sequence[ImageOutcome]:
        return [judged.outcome for judged in self.images]

    def spent(self) -> RunCost:
        return RunCost(0.0, 0)

    def image_seconds(self) -> Sequence[float]:
        return ()

    def judged(self, images: Sequence[tuple[str, int]] | None = None) -> Iterator[Judged]:
        known = {(judged.outcome.item, judged.outcome.sample): judged for judged in self.images}
        return iter(known.values() if images is None else [known[image] for image in images])


@cache
def some_items(per_level: int) -> tuple[Item[FormulaSpec], ...]:
    """The first items of each level of the default suite."""
    found: list[Item[FormulaSpec]] = []
    for item in formalimg.load("knolling"):
        if sum(other.level == item.level for other in found) < per_level:
            found.append(item)
    return tuple(found)


def card_of(
    model: str = "builtin/test", *, suite: str = "knolling", samples: int = 1, digest: str = "d1"
) -> RunManifest:
    return RunManifest(
        suite=suite,
        suite_version="1",
        items_digest=digest,
        model=Identity(model, {"steps": 20}),
        judge=Identity("icons", {"judging_rules": 1}),
        samples=samples,
        seed=7,
        size=256,
        created="2026-01-31T10:00:00Z",
        made_with=f"formalimg {formalimg.__version__}",
    )


def plan_of(items: Sequence[Item[FormulaSpec]]) -> dict[str, PlannedItem]:
    return {item.id: PlannedItem(item.id, item.level, item.prompt, str(item.spec.formula), item.tags) for item in items}


def plain_run(model: str, fates: Fates, **manifest: Any) -> DrawnRun:
    """A run without images whose outcomes are known."""
    items, judged = {}, []
    for level, ends in fates.items():
        for number, end in enumerate(ends):
            name = f"{level}-{number}"
            items[name] = PlannedItem(name, level, f"prompt {name}", "(exists ?c (Is ?c 'cup'))", ())
            verdict: Verdict | Unscored
            if isinstance(end, bool):
                part = Part("(Is ?c 'cup')", "object", float(end), about=("Is",), reason="there is none")
                verdict = Verdict(end, (part,))
            else:
                verdict = Unscored(end, "what happened")
            judged.append(Judged(outcome_of(name, level, verdict), 0, None, {}, verdict))
    return DrawnRun(Path("runs") / model, card_of(model, **manifest), items, tuple(judged))


def drawn_run(
    folder: Path,
    model: str,
    *,
    per_level: int = 2,
    skill: float = 0.5,
    unscored: float = 0.1,
    size: int = 256,
    chance: int = 1,
) -> DrawnRun:
    """A run whose model gets `skill` of the items right, the higher the level the fewer; some images are unscored."""
    folder.mkdir(parents=True, exist_ok=True)
    items = some_items(per_level)
    dice = random.Random(f"{model} {chance}")
    judged = []
    for item in items:
        right = dice.random() < skill ** (item.level / 4)
        reason = dice.choice(REASONS) if dice.random() < unscored else None
        judged.append(_judged(item, folder, right, reason, size, dice))
    digest = hashlib.sha256(repr([item.id for item in items]).encode()).hexdigest()[:12]
    manifest = replace(card_of(model, digest=digest), size=size)
    return DrawnRun(folder, manifest, plan_of(items), tuple(judged))


def outcome_of(item: str, level: int, verdict: Verdict | Unscored, sample: int = 0) -> ImageOutcome:
    if isinstance(verdict, Unscored):
        return ImageOutcome(item, level, sample, None, None, verdict.reason, verdict.detail)
    return ImageOutcome(item, level, sample, verdict.passed, verdict.score, "", "")


def perturbed(scene: Scene, dice: random.Random) -> Scene:
    """The scene with the boxes of two objects exchanged, or one object gone."""
    objects = list(scene.objects)
    if len(objects) > 1 and dice.random() < 0.8:
        first, second = dice.sample(range(len(objects)), 2)
        one, other = objects[first], objects[second]
        objects[first], objects[second] = replace(one, box=other.box), replace(other, box=one.box)
    else:
        objects.pop(dice.randrange(len(objects)))
    return Scene.of(objects)


def _judged(
    item: Item[FormulaSpec],
    folder: Path,
    right: bool,
    reason: UnscoredReason | None,
    size: int,
    dice: random.Random,
) -> Judged:
    scene = not_none(item.spec.witness)
    while not right and formalimg.verify(item.spec.formula, scene):
        scene = perturbed(scene, dice)
    verdict: Verdict | Unscored
    image: Path | None = None
    if reason not in ("no image", "refused", "generation failed"):
        image = folder / f"{item.id}.png"
        draw(scene, size).save(image)
    if reason is not None:
        verdict = Unscored(reason, f"because of {reason}")
    else:
        verdict = judge_grounding(item.spec.formula, Grounding(scene))
    digest = "" if image is None else hashlib.sha256(image.read_bytes()).hexdigest()
    outcome = outcome_of(item.id, item.level, verdict)
    return Judged(outcome, dice.randrange(1000), image, {}, verdict, digest)  # type: ignore[arg-type]  # read alike
