"""What scoring leaves behind is freed at once: a server that waits for the garbage collector keeps everyone waiting."""

from __future__ import annotations

import gc
import random

from formalimg.benchmarks.loader import load
from formalimg.rewards.scorer import Scorer
from tests.rewards.test_quick_games import disturbed


def test_a_scored_scene_is_freed_without_the_collector() -> None:
    items = [item for item in load("knolling") if item.level >= 8][::12]
    pairs = [(disturbed(item.spec, random.Random(item.id)), item) for item in items]
    scorer = Scorer()
    scorer.score_all(pairs)  # what is remembered is made now
    gc.collect()
    gc.disable()
    try:
        assert len(scorer.score_all(pairs)) == len(items) > 40
        assert gc.collect() < len(items)
    finally:
        gc.enable()
