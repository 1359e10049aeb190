"""From pictures to a report through people: 400 pictures, five raters whose error rates are known, and what comes out.

What the error rates imply is worked out here by drawing the same study ten thousand times, with formulas of our own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rating.rated_runs import opened, take
from tests.support.command import formalimg

from formalimg.rating import Step, Task, Value, export_study, make_study, open_study

ERRORS = {"rater-1": 0.02, "rater-2": 0.05, "rater-3": 0.1, "rater-4": 0.15, "rater-5": 0.25}
MODELS = {"oracle": (), "reader": (), "forgetful": ("-M", "memory=4"), "scatter": ()}
YES, NO = 5, 2
"""The points of whoever finds that a picture does what its words say, or that it does not."""

DRAWS = 10_000
DROPPED, REPAINTED = 0.1, 0.2
"""How often who corrects boxes takes one away, and paints one that stays."""

_Numbers = NDArray[np.float64]


class Picture(NamedTuple):
    """A picture of the study: its run, its level, and whether it does what its words say."""

    run: str
    level: int
    passed: bool


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs of the embedded models, with more pictures than are rated: checks need others."""
    home = tmp_path_factory.mktemp("home")
    for name, options in MODELS.items():
        model = f"builtin/{'reader' if name == 'forgetful' else name}"
        how = ("--per-level", "12", "--size", "512", "--runs", str(home))
        done = formalimg("generate", "knolling", "--model", model, *options, *how)
        assert done.code == 0, done.err
        (made,) = (path for path in home.iterdir() if path.name.startswith("knolling-builtin"))
        made.rename(home / name)
        done = formalimg("judge", str(home / name), "--judge", "builtin/icons")
        assert done.code == 0, done.err
    return home


@pytest.fixture(scope="module")
def truth(home: Path) -> Mapping[tuple[bytes, str], Picture]:
    """What the embedded grounder says of each picture beside its own words; it reads drawings without mistakes."""
    found = {}
    with opened(*(home / name for name in MODELS)) as runs:
        for run in runs:
            prompts = {item.id: item.prompt for item in run.suite_items()}
            for judged in run.judged():
                assert judged.image is not None
                assert judged.outcome.passed is not None
                about = Picture(run.folder.name, judged.outcome.level, judged.outcome.passed)
                found[judged.image.read_bytes(), prompts[judged.outcome.item]] = about
    return found


@pytest.fixture(scope="module")
def study(home: Path, truth: Mapping[tuple[bytes, str], Picture]) -> Path:
    """Five people rate 400 pictures; each errs as often as planned, also in attention checks."""
    with opened(*(home / name for name in MODELS)) as runs:
        made = make_study(home / "study", runs, "likert", raters=5, per_picture=5, per_level=10, checks=0.05, seed=1)
    with open_study(made.folder) as study:
        for rater, error in ERRORS.items():
            chance = random.Random(rater)

            def say(task: Task, step: Step, rater: str = rater, error: float = error) -> Value:
                own = truth.get((study.picture(rater, task.picture), task.words))
                fits = own is not None and own.passed
                return YES if fits != (chance.random() < error) else NO  # noqa: B023  # used before the next rater

            assert take(study, rater, say) == 422
    return made.folder


def _agreed(home: Path, study: Path, *options: str) -> Any:
    runs = [str(home / name) for name in MODELS]
    done = formalimg("agree", *runs, "--ratings", str(study), "--format", "json", *options)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_figures_are_where_the_error_rates_put_them(
    home: Path, study: Path, truth: Mapping[tuple[bytes, str], Picture]
) -> None:
    done = export_study(study, home / "out")
    assert (done.finished, done.unfinished) == (2000, 0)
    (found,) = _agreed(home, study)["people"]
    whole = found["whole"]
    assert (found["votes"], whole["cases"], whole["undecided"]) == (2000, 400, 0)
    rated = [Picture(it["run"], it["level"], it["judge"]) for it in whole["told"]]
    assert sum(it.passed for it in rated) > 100
    judged = whole["classified"]
    figures = {name: judged[name]["value"] for name in ("accuracy", "f1", "recall", "specificity", "precision")}
    figures |= {"cronbach": found["points"]["cronbach"]["value"], "krippendorff": whole["alpha"]["value"]}
    figures |= {f"{one} {other}": whole["matrix"][one][other]["value"] for one, other in combinations(ERRORS, 2)}
    figures |= {"rank": whole["ranks"]["mean"], "people": whole["people"]["value"]}
    for run in MODELS:
        (score,) = (it["people"]["value"] for it in whole["scores"] if (it["run"], it["level"]) == (run, None))
        figures[f"score of {run}"] = score
    expected = dict(_implied(rated))
    assert set(expected) == set(figures)
    for name, draws in expected.items():
        low, high = np.quantile(draws, [0.0005, 0.9995])
        assert low - 1e-9 <= figures[name] <= high + 1e-9, (name, figures[name], low, high)
        assert high - low < 0.5 or name == "rank"  # the intervals would notice something
    for rater, told in zip(ERRORS.items(), found["conduct"]["raters"], strict=True):
        assert told["rater"] == rater[0]
        assert told["checks"] == 22
        _is_near(told["checks"] - told["checks_passed"], 22, rater[1])
    with_intervals = [judged[name] for name in ("accuracy", "f1", "recall", "specificity")]
    assert all(it["interval"]["low"] <= it["value"] <= it["interval"]["high"] for it in with_intervals)


def test_who_misses_too_many_checks_can_be_left_out(home: Path, study: Path) -> None:
    (found,) = _agreed(home, study, "--without-inattentive", "0.1")["people"]
    missed = [it["rater"] for it in found["conduct"]["raters"] if it["checks_passed"] < 0.9 * it["checks"]]
    assert "rater-5" in missed  # 22 checks, and one mistake in four
    assert found["raters"] == [rater for rater in ERRORS if rater not in missed]
    assert [it["rater"] for it in found["conduct"]["raters"] if it["left_out"]] == missed
    assert found["votes"] == 400 * (5 - len(missed))


def test_the_report_tells_the_same(home: Path, study: Path) -> None:
    (found,) = _agreed(home, study)["people"]
    accuracy, alpha = found["whole"]["classified"]["accuracy"], found["points"]["cronbach"]["value"]
    runs = [str(home / name) for name in MODELS]
    for ending in ("html", "md"):
        out = home / f"report.{ending}"
        done = formalimg("report", *runs, "--ratings", str(study), "--out", str(out))
        assert done.code == 0, done.err
        text = out.read_text(encoding="utf-8")
        assert f"{100 * accuracy['value']:.1f}" in text
        assert f"{alpha:.3f}" in text


def test_corrected_boxes_give_back_the_mistakes(home: Path) -> None:
    with opened(*(home / name for name in MODELS)) as runs:
        made = make_study(home / "boxes", runs, "boxes", raters=2, per_picture=2, per_level=1)
    kept = dropped = repainted = 0
    with open_study(made.folder) as study:
        for rater in made.links:
            chance = random.Random(rater)
            while (task := study.next_task(rater)) is not None:
                assert task.grounded is not None
                things: Any = task.grounded["objects"]
                left = []
                for thing in things:
                    if chance.random() < DROPPED:
                        dropped += 1
                        continue
                    kept += 1
                    if chance.random() < REPAINTED:
                        repainted += 1
                        thing["color"] = "red" if thing["color"] != "red" else "blue"
                    left.append(thing)
                study.answer(rater, task.id, "boxes", {"objects": left}, 3.0)
                study.finish(rater, task.id)
    (found,) = _agreed(home, made.folder)["boxes"]
    boxes = found["overall"]
    assert (boxes["things"], boxes["found"], boxes["matched"]) == (kept, kept + dropped, kept)
    assert (boxes["precision"]["value"], boxes["recall"]["value"]) == (kept / (kept + dropped), 1)
    assert boxes["f1"]["value"] == pytest.approx(2 * kept / (2 * kept + dropped))
    assert (boxes["attributes"]["color"]["happened"], boxes["attributes"]["color"]["n"]) == (kept - repainted, kept)
    _is_near(dropped, kept + dropped, DROPPED)
    _is_near(repainted, kept, REPAINTED)
    both = (1 - DROPPED) ** 2  # a thing that both left in place, of twice as many that each left
    assert abs(found["between_mean"] - both / (1 - DROPPED)) < 3.29 * sqrt(both * (1 - both) / (kept / 2)) / (
        1 - DROPPED
    )


def _is_near(count: int, n: int, share: float) -> None:
    """Within 99.9 % of what such a share gives."""
    assert abs(count - n * share) <= 3.29 * sqrt(n * share * (1 - share)) + 1


def _implied(rated: list[Picture]) -> Iterator[tuple[str, _Numbers]]:
    """Each figure in each of many studies with the same pictures and error rates, by formulas of our own."""
    truth = np.array([it.passed for it in rated])
    chance = np.random.default_rng(5)
    wrong = chance.random((DRAWS, len(rated), len(ERRORS))) < np.array(list(ERRORS.values()))
    yes = truth[None, :, None] ^ wrong
    raters, count = len(ERRORS), yes.sum(axis=2)
    points = NO * raters + (YES - NO) * count
    people = points >= 4 * raters
    right, agreed = (people & truth).sum(axis=1), (people == truth).sum(axis=1)
    yield "accuracy", agreed / len(rated)
    yield "recall", right / people.sum(axis=1)
    yield "precision", right / truth.sum()
    yield "specificity", (agreed - right) / (~people).sum(axis=1)
    yield "f1", 2 * right / (people.sum(axis=1) + truth.sum())
    shares = yes.mean(axis=1)
    of_raters = (shares * (1 - shares)).sum(axis=1)
    yield "cronbach", raters / (raters - 1) * (1 - of_raters / count.var(axis=1))
    ratings, said = raters * len(rated), count.sum(axis=1)
    seen = (count * (raters - count)).sum(axis=1) / (raters - 1)
    yield "krippendorff", 1 - seen * (ratings - 1) / (said * (ratings - said))
    pairs = []
    for one, other in combinations(range(raters), 2):
        pairs.append((yes[:, :, one] == yes[:, :, other]).mean(axis=1))
        yield f"rater-{one + 1} rater-{other + 1}", pairs[-1]
    yield "people", np.mean(pairs, axis=0)
    for run in MODELS:
        yield f"score of {run}", people[:, [it.run == run for it in rated]].mean(axis=1)
    levels = sorted({it.level for it in rated})
    ranks = np.array([_ranks_alike(rated, people, truth, level) for level in levels])
    yield "rank", np.nanmean(ranks, axis=0)


def _ranks_alike(rated: list[Picture], people: NDArray[np.bool_], truth: NDArray[np.bool_], level: int) -> _Numbers:
    """Spearman's correlation of the runs at a level in each study; nan where one side scores all the same."""
    here = [[it.run == run and it.level == level for it in rated] for run in MODELS]
    by_people = _ranked(np.array([people[:, those].sum(axis=1) for those in here]))
    by_judge = _ranked(np.array([[truth[those].sum()] for those in here]))
    one, other = by_people - by_people.mean(axis=0), by_judge - by_judge.mean(axis=0)
    spread = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
    return np.asarray(np.divide((one * other).sum(axis=0), spread, out=np.full(len(spread), np.nan), where=spread > 0))


def _ranked(scores: NDArray[np.int64]) -> _Numbers:
    """The ranks of the rows in each column; equal scores share the mean of theirs."""
    below = (scores[:, None] > scores[None]).sum(axis=1)
    equal = (scores[:, None] == scores[None]).sum(axis=1)
    return np.asarray(below + (equal + 1) / 2, dtype=np.float64)
