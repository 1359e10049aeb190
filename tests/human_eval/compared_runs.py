"""Runs of Knolling on the same items whose truth is known, and a judge that is lenient with some of them."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from formalimg.human_eval.protocol import AnswerValue, RatingStep
from formalimg.human_eval.study import RatingTask, Study
from formalimg.judges.base import LoadedImage
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.types import Item, Unscored, Verdict
from tests.human_eval.rated_runs import take
from tests.support.models import NumberJudge, Speckles, small_items

RATES = {"ada": 0.75, "bea": 0.45, "cat": 0.4, "dot": 0.3}
FALSE_PASSES = {"ada": 0.1, "bea": 0.6, "cat": 0.2, "dot": 0.2}


def is_right(run: str, item: str) -> bool:
    return random.Random(f"truth {run} {item}").random() < RATES[run]


def compared_run(
    folder: Path, count: int = 80, *, levels: int = 4, samples: int = 1, unread: frozenset[str] = frozenset()
) -> Path:
    name = folder.name

    def verdict(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        if item.id in unread:
            return Unscored("not understood", "?")
        said = random.Random(f"judge {name} {item.id}").random() < FALSE_PASSES[name]
        return Verdict(is_right(name, item.id) or said)

    config = RunConfig(small_items(count, levels=levels), Speckles(name=f"secret/{name}"), samples=samples, size=16)
    execute(config, folder, NumberJudge(name="test/partial", verdict=verdict))
    return folder


def images_by_token(folder: Path) -> Mapping[str, tuple[str, str]]:
    with closing(sqlite3.connect(folder / "ratings.sqlite")) as database:
        return {token: (run, item) for token, run, item in database.execute("SELECT token, run, item FROM pictures")}


def rate_truly(study: Study, rater: str, most: int = 1 << 30) -> int:
    images = images_by_token(study.folder)

    def say(task: RatingTask, step: RatingStep) -> AnswerValue:
        run, item = images[task.image]
        is_own = task.words.rpartition(" ")[2].rstrip(".") == item
        return 5 if is_own and is_right(run, item) else 1

    return take(study, rater, say, most)
