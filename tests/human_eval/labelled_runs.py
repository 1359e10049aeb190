"""Runs of Knolling whose truth is known, and a judge that says yes too often."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from formalimg.human_eval.protocol import AnswerValue, RatingStep
from formalimg.human_eval.study import RatingTask, Study
from formalimg.judges.base import LoadedImage
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import open_run
from formalimg.types import Item, Unscored, Verdict
from tests.human_eval.rated_runs import take
from tests.support.models import NumberJudge, Speckles, small_items


def is_right(item: str, sample: int = 0) -> bool:
    return random.Random(f"truth {item} {sample}").random() < 0.9 - 0.6 * (int(item) % 100) / 100


def said_yes(item: str, sample: int = 0, *, chance: str = "judge") -> bool:
    """What the judge says: right images pass in 9 of 10 cases, and so do 5 of 10 wrong ones."""
    return random.Random(f"{chance} {item} {sample}").random() < (0.9 if is_right(item, sample) else 0.5)


def lenient_run(
    folder: Path, count: int = 100, *, levels: int = 4, unread: frozenset[str] = frozenset(), judge: bool = True
) -> Path:
    def verdict(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        return Unscored("not understood", "?") if item.id in unread else Verdict(said_yes(item.id))

    items: Sequence[Item[object]] = small_items(count, levels=levels)
    lenient = NumberJudge(name="test/lenient", verdict=verdict) if judge else None
    execute(RunConfig(items, Speckles(), size=16), folder, lenient)
    return folder


def true_rate(folder: Path) -> float:
    with closing(open_run(folder)) as run:
        seen = [is_right(it.item, it.sample) for it in run.outcomes()]
    return sum(seen) / len(seen)


def rate_truly(study: Study, rater: str, most: int = 1 << 30) -> int:
    """Let a rater say what is right, by the number in the prompt: `…, number 7.`"""

    def say(task: RatingTask, step: RatingStep) -> AnswerValue:
        item = task.words.rpartition(" ")[2].rstrip(".")
        return 5 if is_right(item) else 1

    return take(study, rater, say, most)
