"""Runs against their own plan: items of the suite, seeds, statuses, coverage, and the looks of adaptive runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from formalimg._util.text import truncate
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.runs.image_store import image_stem
from formalimg.runs.looks import read_looks
from formalimg.runs.manifest import RunManifest
from formalimg.runs.plan import image_seed, judge_key, plan_digest, question_key
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import StoredRun
from formalimg.runs.records import RunRecords
from formalimg.types import Item

_PREMADE = "folder/"
"""Models of this name serve existing files, of which some may be absent; no other model ends so."""


class RunCoverage(NamedTuple):
    """How much of its plan a run has."""

    planned: int  # items by samples, as the manifest says
    never_made: int  # those that nobody has tried to make, or that are not even planned
    without_image: Mapping[str, int]  # those that the model refused or failed to make, by status


def run_coverage(manifest: RunManifest, records: RunRecords) -> RunCoverage:
    """Return how much of its plan a run has."""
    status = Counter(str(row["status"]) for row in records.tables["pictures"])
    planned = max(sum(1 for _ in records.tables["items"]) * manifest.samples, status.total())
    never_made = status["planned"] + planned - status.total()
    status.pop("planned", 0)
    status.pop("made", 0)
    return RunCoverage(planned, never_made, dict(status))


def item_problems(run: StoredRun, records: RunRecords, items: Mapping[str, Item[object]]) -> Iterator[str]:
    """Yield where items differ from their records, their keys, and the items of the suite that ship with formalimg."""
    keys = {str(row["id"]): str(row["question"]) for row in records.tables["items"]}
    for item in items.values():
        planned = run.items[item.id]
        if question_key(item) != keys[item.id]:
            yield f"item {item.id} is not the one that was asked for: its key differs"
        formula = str(getattr(item.spec, "text", ""))
        if (planned.prompt, planned.tags, planned.formula) != (item.prompt, item.tags, formula):
            yield f"item {item.id}: its prompt, tags or formula are not those of its record"
    if plan_digest(keys.values()) != run.manifest.items_digest:
        yield "the items are not those of the manifest: their digest differs"
    shipped = shipped_items(run.manifest)
    if not is_of_shipped(items, shipped):
        return
    for item in items.values():
        if item.id not in shipped or shipped[item.id].question != keys[item.id]:
            yield f"item {item.id} is not the one of {run.manifest.suite} that ships with formalimg, as others are"


class ShippedItem(NamedTuple):
    """An item that ships with formalimg: the key of what it asks for, and its prompt."""

    question: str
    prompt: str


def shipped_items(manifest: RunManifest) -> Mapping[str, ShippedItem]:
    """Return the items of the suite of a run that ship with formalimg, by id; none if no such items do."""
    return _shipped_items(manifest.suite, manifest.suite_version)


@lru_cache(4)
def _shipped_items(suite: str, version: str) -> Mapping[str, ShippedItem]:
    if not version:
        return {}
    try:
        items: Sequence[Item[Any]] = load(suite, f"@{version}")
    except FormalimgError:
        return {}
    return {item.id: ShippedItem(question_key(item), item.prompt) for item in items}


def is_of_shipped(items: Mapping[str, Item[object]], shipped: Mapping[str, ShippedItem]) -> bool:
    """Return whether items are those that ship, or were: those that others synthesize have other prompts."""
    return any(item.id in shipped and item.prompt == shipped[item.id].prompt for item in items.values())


def image_row_problems(manifest: RunManifest, records: RunRecords, items: Mapping[str, Item[object]]) -> Iterator[str]:
    """Yield which rows of images no run has: other seeds, names or statuses, and gaps between samples."""
    samples = defaultdict[str, set[int]](set)
    for row in records.tables["pictures"]:
        item, sample, status = items.get(str(row["item"])), row["sample"], row["status"]
        about = f"item {truncate(str(row['item']), 50, 10)}, image {sample}"
        if item is None or type(sample) is not int or sample < 0:
            yield f"{about}: it is of no item of the run"
            continue
        samples[item.id].add(sample)
        if row["seed"] != image_seed(manifest.seed, item, sample):
            yield f"{about}: its seed does not follow from the seed of the run"
        if status == "absent" and not manifest.model.name.startswith(_PREMADE):
            yield f"{about}: it is absent, and {truncate(manifest.model.name, 60, 20)} leaves no image absent"
        has_file = row["file"] is not None or row["sha256"] is not None
        if status == "made" and str(row["file"]).rpartition(".")[0] != image_stem(item.id, sample):
            yield f"{about}: its file has the name of another image"
        if manifest.imported and has_file and (row["bytes"] or row["sha256"] != row["key"]):
            yield f"{about}: it has an image, and the run says that its answers were imported without images"
        if status != "made" and has_file:
            yield f"{about}: it has a file, and its status is {truncate(str(status), 20, 5)}"
    for id_ in items:
        if samples[id_] != set(range(len(samples[id_]))) or len(samples[id_]) > manifest.samples:
            yield f"item {id_} has the images {sorted(samples[id_])}, and the manifest plans {manifest.samples}"


def judge_problems(run: StoredRun, records: RunRecords) -> Iterator[str]:
    """Yield which judges have other settings than their key, and whether the manifest names one of them."""
    judges = run.judges()
    for judge, row in zip(judges, records.tables["judges"], strict=True):
        if judge_key(judge) != row["key"]:
            yield f"{judge.name} has other settings than its key"
    last = run.manifest.judge
    if last is not None and judge_key(last) not in map(judge_key, judges):
        yield f"the manifest names the judge {last.name} with settings that no judge of the run has"
    listed = {str(row["key"]) for row in records.tables["judges"]}
    strays = Counter(str(row["judge"])[:16] for row in records.tables["verdicts"] if str(row["judge"]) not in listed)
    for key, count in strays.items():
        yield f"{count:,} verdicts are of a judge that is not listed: {key}…"


def look_problems(run: StoredRun, outcomes: Mapping[str, Sequence[ImageOutcome]]) -> Iterator[str]:
    """Yield where the looks of an adaptive run are not those of its verdicts."""
    looks = read_looks(run.folder)
    if bool(run.manifest.adaptive) != (looks is not None):
        yield "the manifest and the looks do not agree on whether the run is adaptive"
    if looks is None:
        return
    if run.manifest.adaptive and str(looks) != run.manifest.adaptive:
        yield "the design is not the one of the manifest"
    passed = {outcome.item: outcome.passed for outcome in outcomes.get(looks.judge, ()) if outcome.sample == 0}
    for number, images in enumerate(looks.seen, 1):
        for counted, ids in images.outcomes.items():
            wrong = [id_ for id_ in ids if id_ not in passed or passed[id_] not in _LOOKED[counted]]
            if wrong:
                yield f"look {number} counts item {truncate(wrong[0], 50, 10)} as {counted}, and its verdict does not"


_LOOKED: Mapping[str, tuple[bool | None, ...]] = {
    "passed": (True,),
    "failed": (False,),
    "unscored": (None,),
    "won": (True,),
    "lost": (False,),
    "tied": (True, False),
}
"""The verdicts that an image may have which a look counts so."""


def count_unjudged(outcomes: Sequence[ImageOutcome]) -> int:
    """Return how many images have been made and not been judged."""
    return sum(outcome.reason == "not judged" for outcome in outcomes)


def repeated_images(records: RunRecords) -> int:
    """Return how many images are the same, byte by byte, as another one of the run."""
    counts = Counter(row["sha256"] for row in records.tables["pictures"] if row["sha256"] is not None)
    return sum(count - 1 for count in counts.values())


def stray_verdicts(records: RunRecords) -> int:
    """Return how many verdicts are about no image of the run, such as of one that was made again since."""
    questions = {str(row["id"]): row["question"] for row in records.tables["items"]}
    present = {(questions.get(str(row["item"])), row["sha256"]) for row in records.tables["pictures"]}
    return sum((row["question"], row["picture"]) not in present for row in records.tables["verdicts"])
