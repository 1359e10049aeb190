"""Recompute all verdicts of a run from their records, and find those that can be recomputed from images."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import DECLINED
from formalimg.judges.recorded_judge import EvidenceError, RecordedJudge, UnknownJudgeError, open_local_judge
from formalimg.reports.sharing.bundle_checks import (
    BundleCheck,
    count_unjudged,
    is_same,
    look_problems,
    value_differences,
    value_text,
)
from formalimg.reports.sharing.bundle_format import image_path, run_path
from formalimg.runs.inspection import fail_by_rule, image_size, inspect
from formalimg.runs.manifest import Identity
from formalimg.runs.plan import judge_key
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged, StoredRun, open_run
from formalimg.runs.records import RunRecords
from formalimg.types import Item, Judge, Part, Unscored, Verdict


class ImageCheck(NamedTuple):
    """A verdict that can be recomputed from its image, with its location, its item and the image."""

    place: str
    subject: str
    path: str
    judge: Judge | None
    item: Item[object]
    stored: Verdict | Unscored


class VerdictReplay:
    """Recomputes the verdicts of a run, and collects those that can be made again from images (`image_checks`)."""

    def __init__(
        self,
        name: str,
        run: StoredRun,
        records: RunRecords,
        items: Mapping[str, Item[object]],
        paths: Collection[str],
        tally: BundleCheck,
    ) -> None:
        self._name, self._run, self._tally, self._items, self._paths = name, run, tally, items, paths
        self._place = run_path(name, "verdicts.jsonl")
        rows = {(str(row["item"]), row["sample"]): row for row in records.tables["pictures"]}
        self._sizes = {key: (_read_pixels(row["width"]), _read_pixels(row["height"])) for key, row in rows.items()}
        self._files = {key: row["file"] for key, row in rows.items() if row["status"] == "made"}
        self.image_checks: list[ImageCheck] = []

    async def check(self) -> None:
        """Recompute all verdicts from their records."""
        outcomes: dict[str, Sequence[ImageOutcome]] = {}
        for judge in self._run.judges():
            with closing(open_run(self._run.folder, judge)) as by_judge:
                outcomes[judge_key(judge)] = by_judge.outcomes()
                await self._check_judge(judge, by_judge)
            unjudged = count_unjudged(outcomes[judge_key(judge)])
            self._tally.lacks(unjudged, "images", f"{_short_name(judge)} has not judged them")
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
                why_not = f"by {_short_name(judge)}, a judge that is not part of formalimg"
                if error.is_own:
                    tally.differs(run_path(self._name, "judges.jsonl"), f"{_short_name(judge)}: {error}")
                    why_not = f"by {_short_name(judge)}, with settings that this version does not have"
        excuses: Counter[str] = Counter()
        for judged in run.judged():
            outcome = judged.outcome
            if (outcome.item, outcome.sample) not in self._files or outcome.reason == "not judged":
                continue
            verdict, item = judged.verdict, self._items[outcome.item]
            if outcome.reason in _WITHOUT_IMAGE:
                self._note(judged, judge, f"it is unscored ({outcome.reason}), and its image was made")
                continue
            tally.verdicts += isinstance(verdict, Verdict)
            self._note(judged, judge, score_problem(verdict, judged.outcome.score))
            is_looked_at = self._add_image_check(judged, judge, local)
            if isinstance(verdict, Verdict) and RULE in verdict.evidence:
                judges_layouts = recorded is None or manifest.task == "layout"
                self._note(judged, judge, rule_problem(verdict, judges_layouts=judges_layouts))
                excuses["failed by a rule about the file of the image"] += not is_looked_at
            elif recorded is None:
                excuses[why_not] += 1
            else:
                try:
                    await self._replay(recorded, judged, judge, item, is_looked_at=is_looked_at)
                except EvidenceError:
                    reason = f"unscored, because {_short_name(judge)} says so and stored nothing else"
                    excuses[reason] += not is_looked_at
        for reason, count in excuses.items():
            tally.cannot_prove(count, "verdicts", reason)

    async def _replay(
        self, recorded: RecordedJudge, judged: Judged, judge: Identity, item: Item[object], *, is_looked_at: bool
    ) -> None:
        tally, verdict = self._tally, judged.verdict
        size = self._sizes[judged.outcome.item, judged.outcome.sample]
        self._note(judged, judge, *await record_problems(recorded, item, verdict, size))
        by_answers = recorded.source(item) == "answers"
        if by_answers:
            tally.cannot_prove(1, "verdicts", f"that {_short_name(judge)} gave these raw answers, and to these images")
        elif not is_looked_at:
            tally.cannot_prove(1, "verdicts", f"that {_short_name(judge)} found these scenes in the images")
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
        """Record that a verdict can be recomputed from its image, and return whether it can."""
        verdict, key = judged.verdict, (judged.outcome.item, judged.outcome.sample)
        by_rule = isinstance(verdict, Verdict) and verdict.evidence.get(RULE) == FLAT
        path = image_path(self._name, str(self._files[key]))
        if path not in self._paths or (local is None and not by_rule):
            return False
        subject = self._subject(judged, judge)
        self.image_checks.append(ImageCheck(self._place, subject, path, local, self._items[key[0]], verdict))
        return True

    def _note(self, judged: Judged, judge: Identity, *problems: str | None) -> None:
        for problem in filter(None, problems):
            self._tally.differs(self._place, f"{self._subject(judged, judge)}: {problem}")

    def _subject(self, judged: Judged, judge: Identity) -> str:
        return f"item {truncate(judged.outcome.item, 50, 10)}, image {judged.outcome.sample}, by {_short_name(judge)}"


_WITHOUT_IMAGE = {"no image", "refused", "generation failed"}  # Reasons of image models, checked with the images


def _short_name(judge: Identity) -> str:
    return truncate(judge.name, 60, 20)


def _read_pixels(value: object) -> int:
    return value if type(value) is int and value > 0 else 1


_TEXTS = {"explanation", "reasons", "contradiction", "served"}  # Evidence whose wording may differ between versions
_CUT_OFF = "cut off by the limit"
_SEEN = ("scene", "style", "depth", "objects", "profiles")  # Evidence that does not depend on the processor
_DETECTOR_TOLERANCE = 5.0  # How far a box may lie off on another processor, on a canvas of 1000

RULE = "rule"  # In the evidence of a verdict that no judge was needed for
FLAT = "flat colour"  # The rule about all images; those about layouts are of the judges of layouts


def score_problem(verdict: Verdict | Unscored, score: float | None) -> str | None:
    """Return why a stored score differs from that of the verdict's parts, or None if it does not."""
    made = verdict.score if isinstance(verdict, Verdict) else None
    return None if is_same(score, made) else f"its score is {value_text(score)}, and its parts make {value_text(made)}"


def rule_problem(verdict: Verdict, *, judges_layouts: bool) -> str | None:
    """Return why a verdict cannot have been made by a file rule, or None if it can."""
    rule = verdict.evidence[RULE]
    if rule != FLAT and not judges_layouts:
        return f"it fails by the rule {value_text(rule)}, which its judge does not have"
    is_other = verdict.passed or bool(verdict.parts)
    return "it fails by a rule about its file, and is stored as passed, or with parts" if is_other else None


def size_problem(data: bytes, width: object, height: object) -> str | None:
    """Return why an image does not have the recorded size, on which pixel boxes depend, or None if it does."""
    size = image_size(data)
    if size == (width, height):
        return None
    stated = f"its record has {str(width)[:20]} x {str(height)[:20]} pixels"
    return f"{stated}, and it {'cannot be read' if size is None else f'has {size[0]} x {size[1]}'}"


async def record_problems(
    judge: RecordedJudge, item: Item[object], stored: Verdict | Unscored, size: tuple[int, int]
) -> list[str]:
    """Return the differences between a stored verdict and the one its judge derives from the records."""
    source, verb = ("raw answers", "make") if judge.source(item) == "answers" else ("scene", "makes")
    try:
        made = await judge.judge(item, stored, size)
    except EvidenceError as error:
        if isinstance(stored, Unscored):
            raise
        return [str(error)]
    except FormalimgError as error:
        return [f"its {source} cannot be judged: {' '.join(str(error).split())}"]
    if isinstance(stored, Unscored):
        if isinstance(made, Unscored):
            return []
        if DECLINED in stored.detail or _CUT_OFF in stored.detail:
            raise EvidenceError("the server said that the answer is none")
        return [f"it is stored as unscored, and its {source} {verb} it {_outcome_word(made.passed)}"]
    if isinstance(made, Unscored):
        return [f"its {source} {verb.replace('make', 'give')} no verdict: {made.detail}"]
    return list(_verdict_differences(stored, made, f"its {source} {verb}"))


async def image_problems(judge: Judge | None, item: Item[object], stored: Verdict | Unscored, data: bytes) -> list[str]:
    """Return the differences between a stored verdict and a new verdict on the image."""
    image = inspect(data)
    if isinstance(image, Unscored):
        return [f"its image was made, and cannot be read: {image.detail}"]
    by_rule = fail_by_rule(image)
    if by_rule is None and judge is None:
        return ["it fails by a rule about its file, and the image is not so"]
    made = by_rule or (await judge.judge(item, image) if judge is not None else Unscored("not judged"))
    if isinstance(made, Unscored) or isinstance(stored, Unscored):
        was, now = (
            f"unscored ({verdict.reason})" if isinstance(verdict, Unscored) else _outcome_word(verdict.passed)
            for verdict in (stored, made)
        )
        return [] if was == now else [f"it is stored as {was}, and the image makes it {now}"]
    if judge is not None and judge.name.startswith("detector/"):  # whose last digits hang on the processor
        return _box_differences(stored.evidence.get("scene"), made.evidence.get("scene"))
    evidence = {name: made.evidence[name] for name in _SEEN if name in made.evidence}
    return list(_verdict_differences(stored, replace(made, evidence=evidence), "the image makes"))


def _verdict_differences(stored: Verdict, made: Verdict, makes: str) -> Iterator[str]:
    if made.passed != stored.passed:
        yield f"it is stored as {_outcome_word(stored.passed)}, and {makes} it {_outcome_word(made.passed)}"
    yield from _part_differences(stored.parts, made.parts, makes)
    old_facts, new = (_facts_without_texts(evidence) for evidence in (stored.evidence, made.evidence))
    for where, old, value in value_differences({name: old_facts[name] for name in new if name in old_facts}, new):
        yield f"{where} is {value_text(old)}, and {makes} it {value_text(value)}"


def _part_differences(stored: Sequence[Part], made: Sequence[Part], makes: str) -> Iterator[str]:
    if [part.name for part in stored] != [part.name for part in made]:
        yield f"its {len(stored)} parts are not the {len(made)} that {makes}"
        return
    for old, new in zip(stored, made, strict=True):
        name = truncate(old.name, 80, 20)
        if not is_same(old.score, new.score):
            yield f"the part {name} is stored as {old.score:g}, and {makes} it {new.score:g}"
        elif not is_same(old.weight, new.weight):
            yield f"the part {name} has the weight {old.weight:g}, and {makes} it {new.weight:g}"
        elif (old.kind, old.about) != (new.kind, new.about) or not is_same(old.p_yes, new.p_yes):
            yield f"the part {name} is not the one that {makes}"


def _facts_without_texts(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return evidence as plain data with texts removed."""

    def without_texts(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: without_texts(inner) for name, inner in value.items() if name not in _TEXTS}
        return [without_texts(inner) for inner in value] if isinstance(value, list) else value

    facts: dict[str, Any] = without_texts(json.loads(json.dumps(dict(evidence))))
    return facts


def _box_differences(stored: Any, made: Any) -> list[str]:
    """Return a message if two scenes differ in their objects or box positions."""
    try:
        old, new = (
            sorted((obj["label"], obj.get("color") or "", *obj["box_2d"]) for obj in scene["objects"])
            for scene in (stored, made)
        )
        is_close = [obj[:2] for obj in old] == [obj[:2] for obj in new] and all(
            abs(side - side_now) <= _DETECTOR_TOLERANCE
            for obj, obj_now in zip(old, new, strict=True)
            for side, side_now in zip(obj[2:], obj_now[2:], strict=True)
        )
    except (TypeError, KeyError, AttributeError, ValueError):
        is_close = False
    return [] if is_close else ["its scene is not the one that the judge finds in the image"]


def _outcome_word(passed: bool) -> str:
    return "passed" if passed else "failed"
