"""Adaptive runs with a judge that passes images by the level of their items."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from formalimg.judges.base import LoadedImage
from formalimg.runs.adaptive import execute_adaptive, plan_adaptive
from formalimg.runs.config import RunConfig
from formalimg.runs.progress import Progress
from formalimg.types import Item, Part, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items


def ladder_judge(
    shares: Mapping[int, int], unscored: Callable[[Item[object]], bool] = lambda item: False
) -> NumberJudge:
    """A judge that passes so many percent of the items of each level, chosen by their ids."""

    def verdict(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        if unscored(item):
            return Unscored("not understood", "it is blurred")
        number = int(hashlib.sha256(item.id.encode()).hexdigest(), 16) % 100
        passed = number < shares.get(item.level, 0)
        return Verdict(passed, (Part("shown", "object", float(passed)),))

    return NumberJudge(verdict=verdict)


def ladder(model: Speckles | None = None, count: int = 120, **changes: Any) -> RunConfig:
    """A run of items at three levels, of small images."""
    return RunConfig(small_items(count, levels=3), model or Speckles(), **{"size": 16, **changes})


def climb(config: RunConfig, folder: Path, judge: NumberJudge, against: Path | None = None, **more: Any) -> Progress:
    """Plan and execute an adaptive run."""
    return execute_adaptive(config, folder, judge, plan_adaptive(config, judge, against=against), **more)


def looks_in(folder: Path) -> list[dict[str, Any]]:
    """The design and the looks of a run, without their times."""
    lines = (folder / "looks.jsonl").read_text(encoding="utf-8").splitlines()
    return [{key: value for key, value in json.loads(line).items() if key != "at"} for line in lines]
