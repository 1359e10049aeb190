"""What a run would do is what it does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from formalimg.judges.base import LoadedImage
from formalimg.runs.execution import execute
from formalimg.runs.prepared_run import estimate
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import order


class Asking:
    """A judge that asks a chat model as many questions as the item has levels."""

    name = "openai/gpt-4o"
    settings: Mapping[str, Setting] = {}
    concurrency = 1

    def questions(self, item: Item[object]) -> int:
        return item.level

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        raise AssertionError("nobody is asked")


def test_everything_is_foreseen_and_then_nothing(tmp_path: Path) -> None:
    asked = order(Speckles(), small_items(8))
    folder = tmp_path / "run"
    before = estimate(asked, folder, NumberJudge())
    assert (before.images, before.verdicts, before.questions) == (8, 8, 0)
    assert before.first == asked.items[0].prompt
    assert not folder.exists()
    execute(asked, folder, NumberJudge())
    after = estimate(asked, folder, NumberJudge())
    assert (after.images, after.verdicts) == (0, 0)


def test_a_judge_that_asks_nobody_costs_nothing(tmp_path: Path) -> None:
    assert estimate(order(), tmp_path / "run", NumberJudge()).judge_cost == 0
    assert estimate(order(), tmp_path / "run", None).judge_cost == 0


def test_images_without_a_verdict_are_only_judged(tmp_path: Path) -> None:
    asked = order(Speckles(), small_items(8))
    execute(asked, tmp_path / "run")
    seen = estimate(asked, tmp_path / "run", NumberJudge())
    assert (seen.images, seen.verdicts) == (0, 8)


def test_questions_are_counted_and_priced(tmp_path: Path) -> None:
    seen = estimate(order(Speckles(), small_items(8)), tmp_path / "run", Asking())
    assert seen.questions == 2 * (1 + 2 + 3 + 4)
    assert seen.image_cost is None
    assert seen.judge_cost is not None
    assert 0.05 < seen.judge_cost < 1


def test_a_judge_whose_price_nobody_knows_has_no_cost(tmp_path: Path) -> None:
    judge = Asking()
    judge.name = "test/unheard-of"
    seen = estimate(order(), tmp_path / "run", judge)
    assert (seen.questions, seen.judge_cost) == (20, None)
