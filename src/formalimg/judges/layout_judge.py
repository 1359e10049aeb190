"""Judging layouts: the same logic as for images, and nobody has to look."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from formalimg.judges.judge import Grounding, LoadedImage
from formalimg.judges.scene_judge import RULES, judge_grounding
from formalimg.judges.verdict import Unscored, Verdict
from formalimg.models import Setting
from formalimg.scenes import SceneError, read_layout
from formalimg.suites import FormulaSpec, Item


@dataclass(frozen=True)
class LayoutJudge:
    """Judges planned layouts by what is written in their files, with the verdicts of `SceneJudge` on such scenes."""

    name: str = "builtin/layout"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"semantics": "strict", "judging_rules": RULES})
    concurrency: int = 2

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Whether the layout does what the formula of the item asks for."""
        if not isinstance(item.spec, FormulaSpec):
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula to judge by")
        try:
            scene = read_layout(image.pil)
        except SceneError as error:
            return Unscored("not understood", f"{' '.join(str(error).split())}: use another judge for images")
        return await asyncio.to_thread(judge_grounding, item.spec.formula, Grounding(scene))
