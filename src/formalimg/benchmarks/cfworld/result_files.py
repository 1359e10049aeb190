"""Results of the published scripts of CF-World: folders of images and files of scores.

A score file, `<field>_gemini_scores.json` or `<field>_gemini_qwen235b.json`, has a record for each question about each
image. The published scorers write a 0 for everything that they could not score: a missing image, a missing or
unreadable answer, or an image that was not judged because its group failed at L1. Here these are unscored, with the
reason. Images are `<tree>/<id>_<level>.png`, or in the folders of the probes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from formalimg.benchmarks.cfworld.published_records import PUBLISHED_FIELDS, field_tagged, make_slug
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec, WeightedQuestion
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    is_any_image,
    short_name,
)
from formalimg.models.folder.layouts import ImageLayout
from formalimg.types import Item

# What the published scorers say of a score that the gate made 0: for Qwen at the end, for Gemini as a whole.
GATE_NOTE = "[System: Zeroed because L1 image score "
GATE_REASON = "Skipped due to L1 score < 0.5"

_ENDING = re.compile(r"(_gemini|_eval)*(_scores|_qwen235b)?$")
_LEVEL = re.compile(r"l([123])", re.IGNORECASE)

NO_SCORE = {
    "Image missing": "the picture was missing",
    GATE_REASON: "not judged, because L1 of its group scored below 0.5",
    "API Failed": "no answer from the judge",
    "FAILED": "no answer from the judge that could be read",
}
"""What the published scorers write in place of the judge's reasoning, beside a score of 0."""

_NO_REASON = "Parsed"  # In place of missing reasoning; with a score of 0, the answer may have been empty
_LARGEST = 1_000_000  # Upper limit of numbers; whole numbers of JSON can be too large for floats


class ScoredQuestion(NamedTuple):
    """The score of one question about an image."""

    item: str  # the id of the item, as `load` gives it; empty if the record does not say it
    level: int  # 1, 2 or 3
    question: str  # empty if the record does not say it
    weight: float
    score: float | None  # as the judge gave it
    reason: str  # as the judge gave it
    unscored: str  # why there is no score; empty if there is one


def read_cf_scores(path: str | Path) -> list[ScoredQuestion]:
    """Read the records of a score file, distinguishing missing scores from scores of 0."""
    file = Path(path)
    try:
        records = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"{path} is not valid JSON, perhaps because its scorer did not end: {error}") from error
    if not isinstance(records, list):
        raise FormalimgError(f"{path} is not a score file: it must be a list of records")
    name = _ENDING.sub("", file.stem)
    slugs = (field.slug for field in PUBLISHED_FIELDS if field.path.rpartition("/")[2] == name)
    slug = next(slugs, make_slug(name))
    return [_parse_record(record, slug, f"{path}, record {number}") for number, record in enumerate(records, 1)]


def _parse_record(record: Any, slug: str, location: str) -> ScoredQuestion:
    fields: dict[str, Any] = record if isinstance(record, dict) else {}
    level = _LEVEL.fullmatch(str(fields.get("prompt_level")))
    weight, score, reason = (fields.get(name) for name in ("weight", "score", "reasoning"))
    if level is None or not _is_number(weight) or weight <= 0 or "score" not in fields:
        raise FormalimgError(f"{location}: must have prompt_level (l1, l2 or l3), weight, score and reasoning")
    number, named = fields.get("source_id"), fields.get("item")
    item = named if isinstance(named, str) else "" if number is None else f"{slug}-{number}-l{level[1]}"
    reasoning = reason if isinstance(reason, str) else ""
    if "judge_score" in fields:  # what we export behind a closed gate
        judge_reasoning = fields.get("judge_reasoning")
        score, reasoning = fields["judge_score"], judge_reasoning if isinstance(judge_reasoning, str) else ""
    parsed = _score_or_reason(score, reasoning)
    value, unscored = (None, parsed) if isinstance(parsed, str) else (parsed, "")
    return ScoredQuestion(item, int(level[1]), str(fields.get("question", "")), weight, value, reasoning, unscored)


def _score_or_reason(score: Any, reasoning: str) -> float | str:
    """Return the score, or the reason why it is missing."""
    before, note, _ = reasoning.partition(GATE_NOTE)
    raw = before.rstrip() if note else reasoning
    if raw.strip() in NO_SCORE:
        return NO_SCORE[raw.strip()]
    if raw != reasoning:
        return "set to 0 because L1 of its group scored below 0.5; what the judge gave is lost"
    if not _is_number(score) or not 0 <= score <= 1:
        return f"the score is no number from 0 to 1: {str(score)[:40]}"
    if score == 0 and reasoning.strip() in ("", _NO_REASON):
        return "the judge's answer has neither a score above 0 nor a reason: perhaps it left the question out"
    return float(score)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


class CfWorldFile(NamedTuple):
    """The location of an item in the published tree."""

    tree: str  # the path of the files of its field, such as `physics/Classical Mechanics`
    number: str  # the id of its group there
    level: int  # 1, 2 or 3
    item: str = ""  # its id here, if it does not follow from the others, as that of items that were not published


def cf_world_file(item: Item[CounterfactualSpec]) -> CfWorldFile:
    """Return the location of an item in the published tree, by its group's name or its tags."""
    group = item.spec.group
    for field in PUBLISHED_FIELDS:
        number = group.removeprefix(f"{field.slug}-")
        if number != group and number.isdigit():
            is_named_so = item.id == f"{group}-l{item.level}"
            return CfWorldFile(field.path, number, item.level, "" if is_named_so else item.id)
    fitting = [field for field in PUBLISHED_FIELDS if set(field.tags) <= set(item.tags)]
    tree = fitting[0].path if fitting else field_tagged(item.tags[:2] or ("other",)).path
    ending = re.search(r"[0-9]+$", group)
    return CfWorldFile(tree, ending[0] if ending else make_slug(group), item.level, item.id)


def cf_score_record(
    number: int, file: CfWorldFile, question: WeightedQuestion, score: float, reason: str
) -> dict[str, object]:
    """Return the record of a question for a score file, in the format that `read_cf_scores` reads."""
    record: dict[str, object] = {"id": str(number), "source_id": file.number, "prompt_level": f"l{file.level}"}
    if file.item:
        record["item"] = file.item
    if score == 0 and reason.strip() in ("", _NO_REASON):  # else it would be taken for an answer that was left out
        reason = "The judge gave no reason."
    return {
        **record,
        "question": question.question,
        "weight": whole_weight(question.weight),
        "score": score,
        "reasoning": reason,
    }


def whole_weight(weight: float) -> float:
    """Return a weight as in the published files, where whole numbers are integers."""
    return int(weight) if float(weight).is_integer() else weight


_RULE_ITEM = re.compile(r"rule-[0-9]+-([0-9]+)")
_PAIR_ITEM = re.compile(r"pair-([0-9]+)-(common|rare)")


def probe_file(item: Item[CounterfactualSpec]) -> CfWorldFile:
    """Return the location of an item of the rule or attribute probe, by its published number or its id."""
    rule, pair = _RULE_ITEM.fullmatch(item.id), _PAIR_ITEM.fullmatch(item.id)
    if rule:
        return CfWorldFile("", rule[1], item.level)
    if pair:
        return CfWorldFile("", pair[1] if pair[2] == "rare" else f"{pair[1]}_factual", item.level)
    return CfWorldFile("", re.sub(r"[^\w.-]", "-", item.id), item.level, item.id)


def number_of(text: str) -> int | str:
    """Return an id as in the published files of the probes, where numeric ids are integers."""
    return int(text) if re.fullmatch("0|[1-9][0-9]{0,8}", text) else text


# --- images

_NAME = re.compile(
    r"(?P<id>[0-9]{1,9})(?:_(?P<mark>l[123]|factual))?(?:_(?P<sample>[0-9]{1,9}))?\.(?:png|jpe?g|webp)", re.IGNORECASE
)
_DENOMINALISED, _RULES, _ATTRIBUTES = "de-norm", "rule_decouple", "sampled_attribute_decoupling"
_PROBES = (_DENOMINALISED, _RULES, _ATTRIBUTES)
_MAX_TREE_DEPTH = 3
_SHOWN_HOMES = 6


class _ParsedFile(NamedTuple):
    """An image file parsed by its name, and the folder of the model that it belongs to."""

    file: str
    image: FolderImage | None = None
    home: tuple[str, ...] = ()
    probe: str = ""


def has_image_layout(folder: FolderListing) -> bool:
    """Return whether a folder has the layout of CF-World."""
    above = _folder_names(folder)
    for file in folder.files:
        *parents, last = file.split("/")
        name = _NAME.fullmatch(last)
        if name and ((name["mark"] or "").lower().startswith("l") or _probe_at([*above, *parents]) is not None):
            return True
    return False


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of CF-World's layout: `<tree>/<id>_<level>.png`, and its probes.

    `<tree>` is the field, such as `Biology` or `physics/Classical Mechanics`. The probes are in
    `de-norm/<tree>/<id>.png`, `rule_decouple/<id>.png`, and `sampled_Attribute_decoupling/<id>.png` and
    `<id>_factual.png`. Items are named by tree and id: `physics-classical-mechanics-12-l3`, `rule-4-25`,
    `pair-93-rare`, `pair-93-common`.
    """
    above = _folder_names(folder)
    rules = {number[1]: item for item in index.items if (number := _RULE_ITEM.fullmatch(item))}
    if index.suite == "cf-world-denominalised":
        wordings = {_DENOMINALISED}
    elif index.suite or not all(item.endswith("-l2") for item in index.items):
        wordings = {""}
    else:
        wordings = {"", _DENOMINALISED}
    readings = [
        _parse_file(file, (*above, *file.split("/")[:-1]), index, rules, wordings)
        for file in folder.files
        if is_any_image(file)
    ]
    _reject_two_wordings(readings, folder)
    _reject_several_models(readings, folder, len(above))
    yield from (CandidateFile(reading.file, reading.image) for reading in readings)


def _parse_file(
    file: str, parents: tuple[str, ...], index: ItemIndex, rules: Mapping[str, str], wordings: set[str]
) -> _ParsedFile:
    name = _NAME.fullmatch(file.rpartition("/")[2])
    if name is None:
        return _ParsedFile(file)
    number, mark, sample = name["id"], (name["mark"] or "").lower(), int(name["sample"] or 0)
    position = _probe_at(parents)
    probe = "" if position is None else parents[position].lower()
    home = parents[:position]
    item = None
    if probe == _RULES and not mark:
        item = rules.get(number)
    elif probe == _ATTRIBUTES and mark in ("", "factual"):
        item = index.item_called(f"pair-{number}-{'common' if mark else 'rare'}")
    elif probe in wordings and (not mark if probe else mark.startswith("l")):
        for depth in range(_MAX_TREE_DEPTH, 0, -1):
            item = index.item_called(f"{make_slug('/'.join(parents[-depth:]))}-{number}-{mark or 'l2'}")
            if item is not None:
                home = home if probe else parents[:-depth]
                break
    return _ParsedFile(file) if item is None else _ParsedFile(file, FolderImage(item, sample), home, probe)


def _folder_names(folder: FolderListing) -> tuple[str, ...]:
    return Path(folder.path).absolute().parts[-_MAX_TREE_DEPTH:]


def _probe_at(parents: Sequence[str]) -> int | None:
    return next((position for position in reversed(range(len(parents))) if parents[position].lower() in _PROBES), None)


def _reject_two_wordings(readings: Sequence[_ParsedFile], folder: FolderListing) -> None:
    # Both suites call these items the same, and only who knows the suite can tell which of them is wanted.
    explicit = next(
        (reading for reading in readings if reading.image and not reading.probe and reading.image.item[-3:] == "-l2"),
        None,
    )
    reworded = next((reading for reading in readings if reading.image and reading.probe == _DENOMINALISED), None)
    if explicit and reworded:
        raise FormalimgError(
            f"{short_name(folder.path)} holds explicit prompts in both wordings, {short_name(explicit.file)} and "
            f"{short_name(reworded.file)}: give the folder {_DENOMINALISED} itself, or move it away"
        )


def _reject_several_models(readings: Sequence[_ParsedFile], folder: FolderListing, depth: int) -> None:
    homes = list(dict.fromkeys(reading.home for reading in readings if reading.image))
    if len(homes) > 1:
        listed = ", ".join(short_name("/".join(home[depth:]) or ".") for home in homes[:_SHOWN_HOMES])
        more = " …" if len(homes) > _SHOWN_HOMES else ""
        raise FormalimgError(
            f"{short_name(folder.path)} holds the images of {len(homes)} models: give one of {listed}{more}"
        )


LAYOUT = ImageLayout("cf-world", has_image_layout, image_candidates)
