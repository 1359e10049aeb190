"""From images to a report through people: 400 images, five raters whose error rates are known, and what comes out.

They rate at once and over HTTP, and the server is killed in the middle.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import random
import sqlite3
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image
from tests.human_eval.rated_runs import opened
from tests.support.command import formalimg

from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.human_eval.study_export import export_study
from tests_local.implied_figures import ERRORS, MODELS, NO, YES, LoadedImage, implied_figures
from tests_local.raters import Rater, StudyServer

KILLED_AFTER = 700
"""Of 2,110 ratings: then the server is killed while all are at work."""

DROPPED, REPAINTED = 0.1, 0.2
"""How often who corrects boxes takes one away, and paints one that stays."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs of the embedded models, with more images than are rated: checks need others."""
    home = tmp_path_factory.mktemp("home")
    for name, options in MODELS.items():
        model = f"builtin/{'reader' if name == 'forgetful' else name}"
        how = ("--per-level", "11", "--size", "448", "--runs", str(home))
        done = formalimg("run", "knolling", "--model", model, *options, "--judge", "builtin/icons", *how)
        assert done.code == 0, done.err
        (made,) = (path for path in home.iterdir() if path.name.startswith("knolling-builtin"))
        made.rename(home / name)
    return home


@pytest.fixture(scope="module")
def truth(home: Path) -> Mapping[tuple[bytes, str], LoadedImage]:
    """What the embedded grounder says of each image beside its own words; it reads drawings without mistakes."""
    found = {}
    with opened(*(home / name for name in MODELS)) as runs:
        for run in runs:
            prompts = {item.id: item.prompt for item in run.suite_items()}
            for judged in run.judged():
                assert judged.image is not None
                assert judged.outcome.passed is not None
                about = LoadedImage(run.folder.name, judged.outcome.level, judged.outcome.passed)
                found[_seen(judged.image.read_bytes()), prompts[judged.outcome.item]] = about
    return found


@cache  # all five see the same images
def _seen(image: bytes) -> bytes:
    """What a person sees in an image, whatever its file is like."""
    with Image.open(io.BytesIO(image)) as decoded:
        return hashlib.sha256(decoded.convert("RGB").tobytes()).digest()


class Rated(NamedTuple):
    """A study that people have answered, what they sent, and what the server complained about."""

    folder: Path
    raters: Mapping[str, Rater]
    complaints: str


@pytest.fixture(scope="module")
def rated(home: Path, truth: Mapping[tuple[bytes, str], LoadedImage]) -> Rated:
    """Five people rate 400 images; each errs as often as planned, also in attention checks."""
    folder = home / "study"
    runs = [str(home / name) for name in MODELS]
    how = ("--protocol", "likert", "--raters", "5", "--per-level", "10", "--checks", "0.05", "--seed", "1")
    all_count = ("--no-instructions", "--max-missed", "1")  # who is left out is decided below
    with StudyServer(home / "complaints.txt", *runs, *how, *all_count, "--study", str(folder)) as server:
        raters = {rater: Rater(link, server, random.Random(f"{rater} sends")) for rater, link in server.links.items()}
        assert list(raters) == list(ERRORS)
        _rate_at_once(raters, truth, server)
    return Rated(folder, raters, server.errors.read_text(encoding="utf-8"))


def _rate_at_once(
    raters: Mapping[str, Rater], truth: Mapping[tuple[bytes, str], LoadedImage], server: StudyServer
) -> None:
    done, in_the_middle = itertools.count(1), threading.Event()

    def one_done() -> None:
        if next(done) == KILLED_AFTER:
            in_the_middle.set()

    def rate(rater: str) -> None:
        chance = random.Random(rater)

        def say(image: bytes, words: str) -> int:
            own = truth.get((_seen(image), words))
            fits = own is not None and own.passed
            return YES if fits != (chance.random() < ERRORS[rater]) else NO

        try:
            raters[rater].rate(say, one_done)
        finally:
            in_the_middle.set()  # whoever fails is not waited for

    with ThreadPoolExecutor(len(raters)) as threads:
        rating = [threads.submit(rate, rater) for rater in raters]
        in_the_middle.wait()
        server.kill()
        server.start_again()
        for it in rating:
            it.result()


@pytest.fixture(scope="module")
def study(rated: Rated) -> Path:
    return rated.folder


def test_what_was_sent_is_there_exactly_once(rated: Rated) -> None:
    sent = [(*it[:2], json.dumps(it.value), *it[3:]) for rater in rated.raters.values() for it in rater.sent]
    finished = [task for rater in rated.raters.values() for task in rater.finished]
    with closing(sqlite3.connect(rated.folder / "ratings.sqlite")) as database:
        kept = database.execute("SELECT task, step, value, seconds, key FROM answers").fetchall()
        assert sorted(kept) == sorted(sent)
        done = [task for (task,) in database.execute("SELECT task FROM finished")]
        assert sorted(done) == sorted(finished)
        assert sorted(done) == sorted(task for (task,) in database.execute("SELECT id FROM tasks"))
    assert len(finished) == 5 * 422
    assert len({it[4] for it in sent}) == len(sent) > len(finished)
    assert rated.complaints == ""
    for rater in rated.raters.values():
        assert rater.lost > 5
        assert rater.twice > 5
    assert sum(rater.broken for rater in rated.raters.values()) > 0  # some were on their way when it was killed


def _agreed(home: Path, study: Path, *options: str) -> Any:
    runs = [str(home / name) for name in MODELS]
    done = formalimg("agree", *runs, "--ratings", str(study), "--format", "json", *options)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_figures_are_where_the_error_rates_put_them(
    home: Path, study: Path, truth: Mapping[tuple[bytes, str], LoadedImage]
) -> None:
    done = export_study(study, home / "out")
    assert (done.finished, done.unfinished) == (2000, 0)
    (found,) = _agreed(home, study)["people"]
    whole = found["whole"]
    assert (found["votes"], whole["cases"], whole["undecided"]) == (2000, 400, 0)
    rated = [LoadedImage(it["run"], it["level"], it["judge"]) for it in whole["told"]]
    assert sum(it.passed for it in rated) > 100
    judged = whole["classified"]
    figures = {name: judged[name]["value"] for name in ("accuracy", "f1", "recall", "specificity", "precision")}
    figures |= {"cronbach": found["points"]["cronbach"]["value"], "krippendorff": whole["alpha"]["value"]}
    figures |= {f"{one} {other}": whole["matrix"][one][other]["value"] for one, other in combinations(ERRORS, 2)}
    figures |= {"rank": whole["ranks"]["mean"], "people": whole["people"]["value"]}
    for run in MODELS:
        (score,) = (it["people"]["value"] for it in whole["scores"] if (it["run"], it["level"]) == (run, None))
        figures[f"score of {run}"] = score
    expected = dict(implied_figures(rated))
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
    (found,) = _agreed(home, study, "--exclude-inattentive", "0.1")["people"]
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
        made = create_study(home / "boxes", runs, "boxes", raters=2, per_image=2, per_level=1)
    kept = dropped = repainted = 0
    with open_study(made.folder) as study:
        for rater in made.links:
            chance = random.Random(rater)
            while (task := study.next_task(rater)) is not None:
                assert task.grounded is not None
                objects: Any = task.grounded["objects"]
                left = []
                for obj in objects:
                    if chance.random() < DROPPED:
                        dropped += 1
                        continue
                    kept += 1
                    if chance.random() < REPAINTED:
                        repainted += 1
                        obj["color"] = "red" if obj["color"] != "red" else "blue"
                    left.append(obj)
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
    both = (1 - DROPPED) ** 2  # an object that both left in place, of twice as many that each left
    assert abs(found["between_mean"] - both / (1 - DROPPED)) < 3.29 * sqrt(both * (1 - both) / (kept / 2)) / (
        1 - DROPPED
    )


def _is_near(count: int, n: int, share: float) -> None:
    """Within 99.9 % of what such a share gives."""
    assert abs(count - n * share) <= 3.29 * sqrt(n * share * (1 - share)) + 1
