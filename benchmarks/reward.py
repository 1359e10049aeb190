"""Speed of rewards: scenes by logic and images through the embedded grounder, on one core; images by a served judge.

The baseline scores each formula without a cache: parse the formula, read the
scene, `verify`, `best_binding`. The numbers must be the same.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from best_binding import disturbed

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.loopback import Loopback

from formalimg import Scene, load, parse, verify
from formalimg.drawing.icon_scene import draw
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.rewards.result import RewardScore
from formalimg.rewards.reward_functions import choose_models
from formalimg.rewards.scorer import Scorer

ROUNDS = 5

SIZE = range(16)
"""The scenes of a group."""


def main() -> None:
    for level in (10, 5):
        items = [item for item in load("knolling") if item.level == level]
        scenes = [disturbed(item.spec, random.Random(f"reward {n}"), 0) for n, item in enumerate(items)]
        pairs = [
            (json.dumps(scene.to_json()), str(item.spec.formula)) for scene, item in zip(scenes, items, strict=True)
        ]
        objects = statistics.mean(map(len, scenes))
        print(f"K = {level}: {len(pairs)} formulas, each with a JSON scene of {objects:.0f} objects on average")
        compare(pairs)
    groups(10)
    images()
    served_judge()


def compare(pairs: Sequence[tuple[str, str]]) -> None:
    scorer = Scorer()

    def plain(scene: str, formula: str) -> float:
        parsed, seen = parse(formula), Scene.from_json(json.loads(scene))
        passed = verify(parsed, seen).passed
        share = best_binding(parsed, seen, credit="earned").share
        assert (share == 1) is passed
        return share

    def rewarded(scene: str, formula: str) -> float | None:
        return one(scorer, scene, formula).score

    def with_json(scene: str, formula: str) -> float | None:
        found = one(scorer, scene, formula)
        json.dumps(found.to_json())
        return found.score

    expected = [plain(*pair) for pair in pairs]
    assert [rewarded(*pair) for pair in pairs] == expected, "the numbers differ"
    show("verify + best_binding, nothing kept", plain, pairs)
    show("Scorer.score_all, one by one", rewarded, pairs)
    show("the same, and back to JSON", with_json, pairs)


def groups(level: int) -> None:
    """Scores alone, as trainers ask for them: many images of one prompt at a time."""
    items = [item for item in load("knolling") if item.level == level]
    given = [
        (
            str(item.spec.formula),
            [json.dumps(disturbed(item.spec, random.Random(f"{n} {k}"), 0).to_json()) for k in SIZE],
        )
        for n, item in enumerate(items)
    ]
    scorer = Scorer()

    def alone(formula: str, scenes: Sequence[str]) -> list[float | None]:
        return [scorer.score_all([(json.loads(scene), formula)], parts=False)[0].score for scene in scenes]

    def together(formula: str, scenes: Sequence[str]) -> list[float | None]:
        return [scored.score for scored in scorer.score_all([(json.loads(s), formula) for s in scenes], parts=False)]

    times: dict[str, list[float]] = {"one by one": [], "as a group": []}
    for formula, scenes in given:
        assert alone(formula, scenes) == together(formula, scenes), "the numbers differ"
    for _ in range(ROUNDS):
        for formula, scenes in given:
            for name, function in zip(times, (alone, together), strict=True):
                start = time.process_time()
                function(formula, scenes)
                times[name].append((time.process_time() - start) / len(SIZE))
    print(f"K = {level}: {len(given)} formulas, each with {len(SIZE)} JSON scenes, scores without parts")
    for name, seconds in times.items():
        print(
            f"  {name:36} {1 / statistics.mean(seconds):6.0f} scores/s, "
            f"median {1 / statistics.median(seconds):.0f} scores/s ({1000 * statistics.median(seconds):.2f} ms)"
        )


def one(scorer: Scorer, scene: str, formula: str) -> RewardScore:
    [found] = scorer.score_all([(json.loads(scene), formula)])
    return found


def show(name: str, function: Callable[[str, str], object], pairs: Sequence[tuple[str, str]]) -> None:
    """Print CPU time of the process, so that other programs on the machine matter as little as possible."""
    times = []
    for _ in range(ROUNDS):
        for pair in pairs:
            start = time.process_time()
            function(*pair)
            times.append(1000 * (time.process_time() - start))
    times.sort()
    rate = 1000 / statistics.mean(times)
    middle, high = statistics.median(times), times[int(len(times) * 0.99)]
    print(f"  {name:36} {rate:6.0f} verdicts/s, median {middle:.2f} ms, 99 % {high:.2f} ms, max {times[-1]:.1f} ms")


def images() -> None:
    items = [item for item in load("knolling") if item.level in (5, 10)][::20]
    drawn = [draw(item.spec.witness, 512) for item in items if item.spec.witness is not None]
    scorer = Scorer()
    scorer.score_all([*zip(drawn, items, strict=True)])  # templates of each size are made ready once
    start, used = time.perf_counter(), time.process_time()
    found = [scorer.score_all([(image, item)])[0] for image, item in zip(drawn, items, strict=True)]
    took, used = time.perf_counter() - start, time.process_time() - used
    passed = sum(scored.passed is True for scored in found)
    print(f"images of 512 x 512 through builtin/icons, one by one ({passed} of {len(found)} pass)")
    print(f"  {len(drawn) / took:.1f} images/s, {1000 * used / len(drawn):.0f} ms of the processor each")


def served_judge() -> None:
    """Images of a group judged by a chat model on a server that takes its time: at once, and one after the other."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    witnesses = [item.spec.witness for item in load("knolling") if item.level == 5 and item.spec.witness is not None]
    drawn = [draw(witness, 512) for witness in witnesses[: len(SIZE)]]
    asked = {"words": "a cup", "questions": ["Is there a cup?", "Is it red?"]}
    boxes = "(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"
    print(f"{len(drawn)} images of 512 x 512 by a chat model that is served, which answers after a while")
    for name, task, requests in (("boxes of a formula", boxes, 1), ("two questions", asked, 2)):
        for latency in (0.05, 0.2, 0.5):
            with Loopback(
                reply=lambda _: '{"objects": [], "observation": "", "answer": "yes"}', latency=latency
            ) as vlm:
                options = {"base_url": f"{vlm.url}/v1", "cache": "off"}
                few = choose_models(judge="openai/vlm", judge_options=options).open()
                many = choose_models(judge="openai/vlm", judge_options={**options, "concurrency": 32}).open()
                group = [(image, task) for image in drawn]
                begun = len(vlm.requests)
                expected = [scored.score for scored in few.score_all(group)]  # clients connect at their first call
                assert len(vlm.requests) - begun == requests * len(drawn), "some answers were remembered"
                assert None not in expected, "the judge was not understood"
                start = time.perf_counter()
                assert [few.score_all([pair])[0].score for pair in group] == expected, "the numbers differ"
                rates = [len(drawn) / (time.perf_counter() - start)]
                for scorer in (few, many):
                    scorer.score_all(group)
                    times = []
                    for _ in range(ROUNDS):
                        start = time.perf_counter()
                        assert [scored.score for scored in scorer.score_all(group)] == expected, "the numbers differ"
                        times.append(time.perf_counter() - start)
                    rates.append(len(drawn) / statistics.median(times))
                one, eight, more = rates
                print(
                    f"  {name}, {1000 * latency:.0f} ms: one by one {one:.1f} images/s, as a group {eight:.1f} "
                    f"({eight / one:.1f} times), with concurrency=32 {more:.1f} ({more / one:.1f} times)"
                )


if __name__ == "__main__":
    main()
