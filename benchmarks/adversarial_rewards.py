"""Adversarial rewards: what scenes earn that ignore the prompt, against honest scenes that are not finished.

For every Knolling item (or each n-th: `python benchmarks/adversarial_rewards.py 10`) the mean and the maximum reward by
band of K: before, where every clause that holds counts (`credit="held"`), and after, with earned clauses only.
Prints the table that docs/guides/rewards.md shortens as Markdown, and how the reward follows witnesses that are built
object by object.
"""

from __future__ import annotations

import random
import statistics
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from formalimg import load, verify
from formalimg.logic.errors import FormulaError
from formalimg.logic.soft_score.best_binding import Credit, PreparedFormula, prepare_formula
from formalimg.rewards.result import RewardScore
from formalimg.rewards.weights import discount_surplus
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item

KnollingItem: TypeAlias = Item[Any]

BANDS = {"K 1 to 3": range(1, 4), "K 4 to 6": range(4, 7), "K 7 to 10": range(7, 11)}
COLORS = ("black", "blue", "brown", "gray", "green", "pink", "red", "white", "yellow")
MIDDLE = Box(450, 450, 550, 550)
TRIES = 200
CREDITS: tuple[Credit, ...] = ("held", "earned")


def main() -> None:
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    everything = load("knolling")
    items = everything[::every]
    attacks, honest = attack_scenes(everything), honest_scenes()
    print("| scene |" + "".join(f" {band}: before | after | surplus=1 |" for band in BANDS))
    print("| --- |" + " --- | --- | --- |" * len(BANDS))
    for name, build in {**attacks, **honest}.items():
        cells = []
        for levels in BANDS.values():
            chosen = [item for item in items if item.level in levels]
            rewards = [rewards_of(item, build(item, random.Random(f"{name} {item.id}"))) for item in chosen]
            columns = zip(*[pair for pair in rewards if pair is not None], strict=True)
            cells += [f"{statistics.mean(scores):.2f} ({max(scores):.2f})" for scores in columns]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print()
    build_orders(items)


def rewards_of(item: KnollingItem, scene: Scene | None) -> tuple[float, ...] | None:
    """Return the reward before, after, and with surplus=1; None if there is no such scene for the item."""
    if scene is None:
        return None
    before, after = (reward(prepare_formula(item.spec.formula, credit=credit), scene) for credit in CREDITS)
    known = RewardScore(after, after == 1)
    return before, after, discount_surplus(known, scene, item.spec.object_classes, 1).score or 0.0


def reward(prepared: PreparedFormula, scene: Scene) -> float:
    """Return the share of clauses; all or nothing, as in rewards, where the game over the clauses is too large."""
    try:
        return prepared.share(scene)
    except FormulaError:
        return float(prepared.verify(scene).passed)


SceneBuilder: TypeAlias = Callable[[KnollingItem, random.Random], Scene | None]


def attack_scenes(items: Sequence[KnollingItem]) -> dict[str, SceneBuilder]:
    """Return scenes that pay no attention to the relations asked for, most of them none to the prompt at all."""
    classes = sorted({name for item in items for name in item.spec.object_classes})
    by_level = {level: [item for item in items if item.level == level] for level in range(1, 11)}
    once = Scene.of(grid([(label, COLORS[number % 9]) for number, label in enumerate(classes)]))
    four = Scene.of(
        grid([(label, COLORS[(number + 2 * copy) % 9]) for copy in range(4) for number, label in enumerate(classes)])
    )

    def another(item: KnollingItem, chance: random.Random) -> Scene:
        other = item
        while other is item:
            other = chance.choice(by_level[item.level])
        return witness(other)

    return {
        "empty": lambda item, chance: Scene.of([]),
        "a blue cup in the middle": lambda item, chance: Scene.of([SceneObject("cup", MIDDLE, "blue")]),
        "one object of a class asked for, in the middle": lambda item, chance: Scene.of(
            [SceneObject(chance.choice(item.spec.object_classes), MIDDLE, "blue")]
        ),
        "twelve copies of it in a grid": lambda item, chance: Scene.of(
            grid([(chance.choice(item.spec.object_classes), "blue")] * 12)
        ),
        "the witness of another item of the same K": another,
        "every class once, in a grid": lambda item, chance: once,
        "every class four times, in a grid": lambda item, chance: four,
        "all objects of the witness in the middle": lambda item, chance: Scene.of(
            [SceneObject(obj.label, MIDDLE, obj.color) for obj in witness(item).objects]
        ),
    }


def honest_scenes() -> dict[str, SceneBuilder]:
    """Return witnesses that are not finished."""

    def without(count: Callable[[int], int]) -> SceneBuilder:
        def build(item: KnollingItem, chance: random.Random) -> Scene | None:
            objects = list(witness(item).objects)
            if len(objects) < 2:
                return None
            for _ in range(TRIES):
                left = Scene.of(chance.sample(objects, len(objects) - count(len(objects))))
                if not verify(item.spec.formula, left).passed:
                    return left
            return None

        return build

    return {
        "honest: half of the witness": without(lambda size: size // 2),
        "honest: the witness without one object": without(lambda size: 1),
        "honest: the witness with one object moved": one_moved,
    }


def one_moved(item: KnollingItem, chance: random.Random) -> Scene | None:
    """Return the witness with one object moved so that something no longer holds."""
    objects = list(witness(item).objects)
    for _ in range(TRIES):
        number = chance.randrange(len(objects))
        box = objects[number].box
        width, height = box.xmax - box.xmin, box.ymax - box.ymin
        x, y = chance.uniform(0, 1000 - width), chance.uniform(0, 1000 - height)
        moved = SceneObject(objects[number].label, Box(x, y, x + width, y + height), objects[number].color)
        scene = Scene.of([*objects[:number], moved, *objects[number + 1 :]])
        if not verify(item.spec.formula, scene).passed:
            return scene
    return None


def witness(item: KnollingItem) -> Scene:
    found: Scene = item.spec.witness
    return found


def grid(wanted: Sequence[tuple[str, str]]) -> list[SceneObject]:
    """Return objects of these classes and colours, side by side in rows over the whole canvas."""
    side = 1
    while side * side < len(wanted):
        side += 1
    step = 1000 / side
    return [
        SceneObject(
            label, Box(x := number % side * step, y := number // side * step, x + 0.8 * step, y + 0.8 * step), color
        )
        for number, (label, color) in enumerate(wanted)
    ]


def build_orders(items: Sequence[KnollingItem]) -> None:
    """Print how the reward follows the share of the witness that is there, in random orders of building."""
    for credit in CREDITS:
        shares, rewards, falls, steps = [], [], 0, 0
        for item in items:
            prepared: PreparedFormula = prepare_formula(item.spec.formula, credit=credit)
            objects = list(witness(item).objects)
            random.Random(f"order {item.id}").shuffle(objects)
            course = [prepared.share(Scene.of(objects[:size])) for size in range(len(objects) + 1)]
            shares += [size / len(objects) for size in range(len(objects) + 1)]
            rewards += course
            falls += sum(later < earlier for earlier, later in pairwise(course))
            steps += len(objects)
        linear = statistics.correlation(shares, rewards)
        ranked = statistics.correlation(ranks(shares), ranks(rewards))
        print(
            f"built object by object, {'before' if credit == 'held' else 'after'}: correlation with the share that is"
            f" there {linear:.3f} (ranks {ranked:.3f}), {falls} of {steps} steps lower the reward"
        )


def ranks(numbers: Sequence[float]) -> list[float]:
    """Return the rank of each number, equal ones the mean of theirs."""
    ordered = sorted(numbers)
    rank = {number: (bisect_left(ordered, number) + bisect_right(ordered, number)) / 2 for number in set(numbers)}
    return [rank[number] for number in numbers]


if __name__ == "__main__":
    main()
