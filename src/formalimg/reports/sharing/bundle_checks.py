"""Results of bundle verification, and checks of runs against their own plan."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from formalimg._util.strict_json import dumps_storable
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


class BundleFinding(NamedTuple):
    """A problem found in a bundle."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class Unproven(NamedTuple):
    """A part of a bundle that cannot be derived from the rest of it."""

    what: str  # what it is, in words, such as `images`
    number: int  # how many of it
    reason: str  # why it cannot be computed again

    def __str__(self) -> str:
        return f"{self.what} ({self.number:,}): {self.reason}"


@dataclass
class BundleCheck:
    """The result of verifying a bundle, collected check by check."""

    digest: str = ""  # the digest of the bundle
    is_cited: bool = False  # whether it was compared with a digest that was cited
    made_with: str = ""  # the version of formalimg that made it
    files: int = 0  # how many files were compared with their digests
    verdicts: int = 0  # how many verdicts there are
    by_answers: int = 0  # how many of them were made again from raw answers
    by_scene: int = 0  # how many of them were made again from the stored scene
    by_image: int = 0  # how many of them were made again from the image
    images_to_judge: int = 0  # how many could be made again from an image: `by_image` is a sample of them
    numbers: int = 0  # how many values of the report were computed again
    planned: int = 0  # how many images the runs have planned
    # what differs; none if everything that was computed again is as it is stored
    findings: list[BundleFinding] = field(default_factory=list)
    _missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    _unproven: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def missing(self) -> list[Unproven]:
        """The missing parts of the plan: images that nobody tried to make, and images without a verdict."""
        return [Unproven(subject, count, reason) for (subject, reason), count in self._missing.items() if count]

    @property
    def unproven(self) -> list[Unproven]:
        """The parts that cannot be derived from the rest of the bundle."""
        return [Unproven(subject, count, reason) for (subject, reason), count in self._unproven.items() if count]

    @property
    def is_complete(self) -> bool:
        """Whether the bundle has no differences and no missing parts of its plan."""
        return not self.findings and not self.missing

    def differs(self, path: str, text: str) -> None:
        """Record a difference."""
        self.findings.append(BundleFinding(truncate(path, 200, 60), truncate(text, 400, 100)))

    def lacks(self, count: int, subject: str, reason: str) -> None:
        """Record that a part of the plan is missing."""
        self._missing[subject, reason] += count

    def cannot_prove(self, count: int, subject: str, reason: str) -> None:
        """Record a part that cannot be derived from the rest of the bundle."""
        self._unproven[subject, reason] += count

    def to_json(self) -> dict[str, object]:
        """Return the result as plain data."""
        values = {name: value for name, value in vars(self).items() if isinstance(value, str | int)}
        lists = {
            name: [entry._asdict() for entry in getattr(self, name)] for name in ("findings", "missing", "unproven")
        }
        return {"findings": lists["findings"], **values, **lists, "is_complete": self.is_complete}


TOLERANCE = 1e-9  # Numbers may differ by this share: another processor may round otherwise in the last digits
_ABSENT: Final = object()


def value_differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each value that differs, with the old and the new value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*new, *old)):
            inner = f"{path}.{name}".lstrip(".")
            yield from value_differences(old.get(name, _ABSENT), new.get(name, _ABSENT), inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            names = (before[key] for key in ("name", "suite") if isinstance(before, dict) and key in before)
            yield from value_differences(before, after, f"{path}[{next(names, number)}]")
    elif not is_same(old, new):
        yield path, old, new


def is_same(old: Any, new: Any) -> bool:
    """Return whether two values are equal, ignoring the last digits of floating-point numbers."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(old == new)


def count_leaves(data: Any) -> int:
    """Return the number of values in nested plain data."""
    if isinstance(data, dict | list):
        return sum(map(count_leaves, data.values() if isinstance(data, dict) else data))
    return 1


def value_text(value: Any) -> str:
    """Format a value for a message."""
    return "absent" if value is _ABSENT else truncate(dumps_storable(value), 100, 40)


_PREMADE = "folder/"  # Models of this name serve existing files, of which some may be absent; no other model ends so


def run_coverage(manifest: RunManifest, records: RunRecords) -> tuple[int, int, Mapping[str, int]]:
    """Return the numbers of images that are planned, were never attempted, and were refused or failed, by status."""
    status = Counter(str(row["status"]) for row in records.tables["pictures"])
    planned = max(sum(1 for _ in records.tables["items"]) * manifest.samples, status.total())
    never_made = status["planned"] + planned - status.total()
    status.pop("planned", 0)
    status.pop("made", 0)
    return planned, never_made, dict(status)


def item_problems(run: StoredRun, records: RunRecords, items: Mapping[str, Item[object]]) -> Iterator[str]:
    """Yield the differences between items and their records, their keys, and the shipped items of the suite."""
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
    shipped = load_shipped_items(run.manifest)
    if not is_of_shipped(items, shipped):
        return
    for item in items.values():
        if item.id not in shipped or shipped[item.id][0] != keys[item.id]:
            yield f"item {item.id} is not the one of {run.manifest.suite} that ships with formalimg, as others are"


def load_shipped_items(manifest: RunManifest) -> Mapping[str, tuple[str, str]]:
    """Return the question keys and prompts of the shipped items of the suite of a run by ID, if there are any."""
    return _load_suite_items(manifest.suite, manifest.suite_version)


@lru_cache(4)
def _load_suite_items(suite: str, version: str) -> Mapping[str, tuple[str, str]]:
    try:
        items: Sequence[Item[Any]] = load(suite, f"@{version}") if version else ()
    except FormalimgError:
        return {}
    return {item.id: (question_key(item), item.prompt) for item in items}


def is_of_shipped(items: Mapping[str, Item[object]], shipped: Mapping[str, tuple[str, str]]) -> bool:
    """Return whether any item has the ID and prompt of a shipped item, unlike synthesized items."""
    return any(item.id in shipped and item.prompt == shipped[item.id][1] for item in items.values())


def image_row_problems(manifest: RunManifest, records: RunRecords, items: Mapping[str, Item[object]]) -> Iterator[str]:
    """Yield invalid rows in the image table: wrong seeds, names or statuses, and gaps between samples."""
    samples = defaultdict[str, set[int]](set)
    for row in records.tables["pictures"]:
        item, sample, status = items.get(str(row["item"])), row["sample"], row["status"]
        image = f"item {truncate(str(row['item']), 50, 10)}, image {sample}"
        if item is None or type(sample) is not int or sample < 0:
            yield f"{image}: it is of no item of the run"
            continue
        samples[item.id].add(sample)
        if row["seed"] != image_seed(manifest.seed, item, sample):
            yield f"{image}: its seed does not follow from the seed of the run"
        if status == "absent" and not manifest.model.name.startswith(_PREMADE):
            yield f"{image}: it is absent, and {truncate(manifest.model.name, 60, 20)} leaves no image absent"
        has_file = row["file"] is not None or row["sha256"] is not None
        if status == "made" and str(row["file"]).rpartition(".")[0] != image_stem(item.id, sample):
            yield f"{image}: its file has the name of another image"
        if manifest.imported and has_file and (row["bytes"] or row["sha256"] != row["key"]):
            yield f"{image}: it has an image, and the run says that its answers were imported without images"
        if status != "made" and has_file:
            yield f"{image}: it has a file, and its status is {truncate(str(status), 20, 5)}"
    for id_ in items:
        if samples[id_] != set(range(len(samples[id_]))) or len(samples[id_]) > manifest.samples:
            yield f"item {id_} has the images {sorted(samples[id_])}, and the manifest plans {manifest.samples}"


def judge_problems(run: StoredRun, records: RunRecords) -> Iterator[str]:
    """Yield problems with judges: settings that differ from their key, and references to unlisted judges."""
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
    """Yield the differences between the looks of an adaptive run and its verdicts."""
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


_LOOKED: Mapping[str, tuple[bool | None, ...]] = {  # The verdicts that an image may have which a look counts so
    "passed": (True,),
    "failed": (False,),
    "unscored": (None,),
    "won": (True,),
    "lost": (False,),
    "tied": (True, False),
}


def count_unjudged(outcomes: Sequence[ImageOutcome]) -> int:
    """Return the number of images that have been generated but not judged."""
    return sum(outcome.reason == "not judged" for outcome in outcomes)


def count_repeated_images(records: RunRecords) -> int:
    """Return the number of images that duplicate another image of the run byte for byte."""
    counts = Counter(row["sha256"] for row in records.tables["pictures"] if row["sha256"] is not None)
    return sum(count - 1 for count in counts.values())


def stray_verdicts(records: RunRecords) -> int:
    """Return the number of verdicts that belong to no current image of the run, for example after regeneration."""
    questions = {str(row["id"]): row["question"] for row in records.tables["items"]}
    present = {(questions.get(str(row["item"])), row["sha256"]) for row in records.tables["pictures"]}
    return sum((row["question"], row["picture"]) not in present for row in records.tables["verdicts"])
