"""All verdicts of a run, made again from their records, and those that can be made again from images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from formalimg._util.text import truncate
from formalimg.judges.recorded_judge import EvidenceError, RecordedJudge, UnknownJudgeError, open_local_judge
from formalimg.reports.sharing.bundle_checks import CheckTally
from formalimg.reports.sharing.bundle_format import image_path, run_path
from formalimg.reports.sharing.run_checks import count_unjudged, look_problems
from formalimg.reports.sharing.verdict_checks import (
    FLAT,
    RULE,
    image_problems,
    record_problems,
    rule_problem,
    score_problem,
)
from formalimg.runs.manifest import Identity
from formalimg.runs.plan import judge_key
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged, StoredRun, open_run
from formalimg.runs.records import RunRecords
from formalimg.types import Item, Judge, Unscored, Verdict


class ImageCheck(NamedTuple):
    """A verdict that can be made again from its image: where it is stored, what it is about, and the image."""

    place: str
    about: str
    path: str
    judge: Judge | None
    item: Item[object]
    stored: Verdict | Unscored

    async def problems(self, read: Callable[[str], bytes]) -> list[str]:
        """Return what is not as it comes out when the image is looked at again."""
        return await image_problems(self.judge, self.item, self.stored, read(self.path))


class VerdictReplay:
    """Makes the verdicts of a run again.

    Attributes:
        image_checks: the verdicts that can be made again from images of the bundle, once `check` is done.
    """

    def __init__(
        self,
        name: str,
        run: StoredRun,
        records: RunRecords,
        items: Mapping[str, Item[object]],
        paths: Collection[str],
        tally: CheckTally,
    ) -> None:
        """Prepare for a run of a bundle."""
        self._name, self._run, self._tally = name, run, tally
        self._place = run_path(name, "verdicts.jsonl")
        self._items = items
        self._sizes = {
            (str(row["item"]), row["sample"]): (_pixels(row["width"]), _pixels(row["height"]))
            for row in records.tables["pictures"]
        }
        self._files = {
            (str(row["item"]), row["sample"]): row["file"]
            for row in records.tables["pictures"]
            if row["status"] == "made"
        }
        self._paths = paths
        self.image_checks: list[ImageCheck] = []

    async def check(self) -> None:
        """Make all verdicts again from what is on record."""
        outcomes: dict[str, Sequence[ImageOutcome]] = {}
        for judge in self._run.judges():
            with closing(open_run(self._run.folder, judge)) as by_judge:
                outcomes[judge_key(judge)] = by_judge.outcomes()
                await self._check_judge(judge, by_judge)
            unjudged = count_unjudged(outcomes[judge_key(judge)])
            self._tally.lacks(unjudged, "images", f"{_short(judge)} has not judged them")
        if not outcomes:
            self._tally.cannot_prove(count_unjudged(self._run.outcomes()), "images", "no judge has looked at them")
        for problem in look_problems(self._run, outcomes):
            self._tally.differs(run_path(self._name, "looks.jsonl"), problem)

    async def _check_judge(self, judge: Identity, run: StoredRun) -> None:
        tally, manifest = self._tally, run.manifest
        recorded, local, why_not = None, None, "their answers were imported, and not made by formalimg"
        if not manifest.imported:
            try:
                local = open_local_judge(manifest.suite, manifest.task, judge.name, judge.settings)
                recorded = RecordedJudge(manifest.suite, manifest.task, judge.name, judge.settings)
            except UnknownJudgeError as error:
                why_not = f"by {_short(judge)}, a judge that is not part of formalimg"
                if error.is_own:
                    tally.differs(run_path(self._name, "judges.jsonl"), f"{_short(judge)}: {error}")
                    why_not = f"by {_short(judge)}, with settings that this version does not have"
        excuses: Counter[str] = Counter()
        for judged in run.judged():
            outcome = judged.outcome
            if (outcome.item, outcome.sample) not in self._files or outcome.reason == "not judged":
                continue
            verdict, item = judged.verdict, self._items[outcome.item]
            if outcome.reason in _WITHOUT_IMAGE:
                self._note(judged, judge, [f"it is unscored ({outcome.reason}), and its image was made"])
                continue
            tally.verdicts += isinstance(verdict, Verdict)
            problem = score_problem(verdict, judged.outcome.score)
            self._note(judged, judge, [problem] if problem else [])
            is_looked_at = self._add_image_check(judged, judge, local)
            if isinstance(verdict, Verdict) and RULE in verdict.evidence:
                problem = rule_problem(verdict, judges_layouts=recorded is None or manifest.task == "layout")
                self._note(judged, judge, [problem] if problem else [])
                excuses["failed by a rule about the file of the image"] += not is_looked_at
            elif recorded is None:
                excuses[why_not] += 1
            else:
                try:
                    await self._replay(recorded, judged, judge, item, is_looked_at=is_looked_at)
                except EvidenceError:
                    excuses[f"unscored, because {_short(judge)} says so and stored nothing else"] += not is_looked_at
        for reason, count in excuses.items():
            tally.cannot_prove(count, "verdicts", reason)

    async def _replay(
        self, recorded: RecordedJudge, judged: Judged, judge: Identity, item: Item[object], *, is_looked_at: bool
    ) -> None:
        tally, verdict = self._tally, judged.verdict
        size = self._sizes[judged.outcome.item, judged.outcome.sample]
        self._note(judged, judge, await record_problems(recorded, item, verdict, size))
        by_answers = recorded.source(item) == "answers"
        if by_answers:
            tally.cannot_prove(1, "verdicts", f"that {_short(judge)} gave these raw answers, and to these images")
        elif not is_looked_at:
            tally.cannot_prove(1, "verdicts", f"that {_short(judge)} found these scenes in the images")
        if isinstance(verdict, Unscored):
            tally.cannot_prove(1, "verdicts", "unscored, because no complete answer is on record")
            return
        tally.by_answers += by_answers
        tally.by_scene += not by_answers
        soft = sum(part.p_yes is not None for part in verdict.parts)
        tally.cannot_prove(soft, "probabilities of yes", "log-probabilities are not stored")
        tally.cannot_prove("by_boxes" in verdict.evidence, "answers by boxes", "no verdict follows from them")
        has_words = "explanation" in verdict.evidence or any(part.reason for part in verdict.parts)
        tally.cannot_prove(has_words, "explanations", "texts that no number follows from")

    def _add_image_check(self, judged: Judged, judge: Identity, local: Judge | None) -> bool:
        """Note that a verdict can be made again from its image; return whether it can."""
        verdict, key = judged.verdict, (judged.outcome.item, judged.outcome.sample)
        by_rule = isinstance(verdict, Verdict) and verdict.evidence.get(RULE) == FLAT
        path = image_path(self._name, str(self._files[key]))
        if path not in self._paths or (local is None and not by_rule):
            return False
        about = self._about(judged, judge)
        self.image_checks.append(ImageCheck(self._place, about, path, local, self._items[key[0]], verdict))
        return True

    def _note(self, judged: Judged, judge: Identity, problems: Sequence[str]) -> None:
        for problem in problems:
            self._tally.differs(self._place, f"{self._about(judged, judge)}: {problem}")

    def _about(self, judged: Judged, judge: Identity) -> str:
        return f"item {truncate(judged.outcome.item, 50, 10)}, image {judged.outcome.sample}, by {_short(judge)}"


_WITHOUT_IMAGE = {"no image", "refused", "generation failed"}
"""Reasons that no judge gives: they are those of image models, and are checked with the images."""


def _short(judge: Identity) -> str:
    return truncate(judge.name, 60, 20)


def _pixels(value: object) -> int:
    return value if type(value) is int and value > 0 else 1
