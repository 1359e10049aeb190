"""Judges of FormalImg: Knolling by boxes and logic, Natural clause by clause, and both as in the published code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.factory import ICONS, open_chat, open_grounder, open_published_chat, require_chat
from formalimg.judges.scene_judge import SceneJudge
from formalimg.logic.parser import parse
from formalimg.types import Benchmark, Item, Judge

if TYPE_CHECKING:
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels
_CLAUSE_OPTIONS = ("decide", "answers", "prompts")


def open_scene_judge(suite: str, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
    """Return the judge that detects objects and decides the formula by logic."""
    if protocol == "default":
        return SceneJudge(open_grounder(name or ICONS, options))
    from formalimg.benchmarks.formal.published_judge import PublishedSceneJudge

    chat, _, judge_options = open_published_chat(suite, name, options, protocol, temperature=0.1, max_tokens=2048)
    return PublishedSceneJudge(chat, "published", **judge_options)  # here paper and code do not differ


def open_clause_judge(suite: str, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
    """Return the judge that asks a chat model about each clause."""
    if protocol == "default":
        name = require_chat(suite, name, f"and {suite} asks for more")
        from formalimg.judges.clause_judge import ANSWERS, ClauseJudge

        chat, judge_options = open_chat(name, options, _CLAUSE_OPTIONS, suite, {"answers": ANSWERS})
        return ClauseJudge(chat, **judge_options)
    from formalimg.benchmarks.formal.published_judge import PublishedClauseJudge

    chat, followed, judge_options = open_published_chat(suite, name, options, protocol, temperature=0.1)
    return PublishedClauseJudge(chat, followed, **judge_options)


def reopen_judge(suite: Benchmark, recorded: RecordedModels) -> Judge:
    """Return a judge with recorded settings that replays recorded answers."""
    from formalimg.benchmarks.formal.published_judge import PublishedClauseJudge, PublishedSceneJudge
    from formalimg.judges.clause_judge import ClauseJudge

    settings = recorded.settings
    if "protocol" in settings:
        judge = PublishedSceneJudge if suite.is_grounded else PublishedClauseJudge
        return judge(recorded.chat, settings["protocol"])
    if suite.is_grounded:
        return SceneJudge(recorded.grounder)
    return ClauseJudge(recorded.chat, decide=settings["decide"], answers=settings["answers"])


def preflight_drawings(suite: Benchmark) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two drawings of a bottle and a fork that test a judge before a run."""
    from formalimg.judges import preflight as known

    if suite.is_grounded:
        spec = FormulaSpec.of(parse(f"(exists ?x (and (Is ?x '{known.BOTTLE}') (Has ?x 'red')))"))
        return known.two_places(Item(suite.name, "preflight", 1, known.RED_BOTTLE, spec))
    formula = f"(exists ?x (exists ?y (and (Is ?x '{known.BOTTLE}') (Is ?y '{known.FORK}'))))"
    item = Item(suite.name, "preflight", 1, known.BOTTLE_AND_FORK, FormulaSpec.of(parse(formula)))
    return known.bottle_and_fork(item)
