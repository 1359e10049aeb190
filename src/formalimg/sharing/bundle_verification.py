"""Verification of bundles: every digest, every key and every number of a bundle is computed again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import atomic_folder
from formalimg._util.strict_json import dumps_storable, loads_strict
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges import Verdict, follows_by_logic
from formalimg.runs import (
    JOURNALS,
    RunRecords,
    StoredRun,
    is_image_name,
    judge_key,
    open_run,
    plan_digest,
    question_key,
    restore_run,
)
from formalimg.sharing.bundle import report_files, restored_runs, run_counts
from formalimg.sharing.bundle_format import (
    HEADER,
    REPORT,
    TABLES,
    BundleReader,
    FileDigest,
    digest_text,
    image_path,
    read_digest,
    run_path,
)
from formalimg.sharing.verdict_checks import verdict_problems

_TOLERANCE = 1e-9
"""Numbers may differ by this share: another processor may round otherwise in the last digits."""


class BundleFinding(NamedTuple):
    """Something in a bundle that is not as it should be: where, and what."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class BundleCheck(NamedTuple):
    """The result of verifying a bundle.

    Attributes:
        findings: what differs; none if everything is as it was written.
        digest: the digest of the bundle.
        made_with: the version of formalimg that made it.
        files: how many files were compared with their digests.
        verdicts: how many verdicts were compared with their parts and answers.
        by_logic: how many of them were decided again from the stored scene.
        numbers: how many values of the report were computed again.
    """

    findings: tuple[BundleFinding, ...]
    digest: str
    made_with: str
    files: int
    verdicts: int
    by_logic: int
    numbers: int


def verify_bundle(path: str | Path, digest: str | None = None) -> BundleCheck:
    """Compute everything in a bundle again: digests, counts, keys, verdicts from stored scenes and answers, numbers.

    Args:
        path: the bundle.
        digest: the digest that was cited, if there is one: nothing in the bundle can be changed without changing it.

    Raises:
        FormalimgError: if it is not a bundle.
    """
    with closing(BundleReader(Path(path))) as reader:
        check = _Verification(reader)
        check.run(None if digest is None else read_digest(digest))
        made_with = reader.header.get("made_with")
        return BundleCheck(
            tuple(check.findings),
            reader.digest,
            truncate(str(made_with), 60, 10),
            len(reader.declared),
            check.verdicts,
            check.by_logic,
            check.numbers,
        )


def unpack_bundle(path: str | Path, folder: str | Path) -> tuple[Path, ...]:
    """Write the runs of a bundle as run folders, with the images that it has; return them.

    Raises:
        FormalimgError: if it is not a bundle, is damaged, or the folder is not empty.
    """
    with closing(BundleReader(Path(path))) as reader, atomic_folder(Path(folder)) as new:
        for name in reader.runs:
            restore_run(new / name, _records(reader, name))
            for row in reader.records(run_path(name, "pictures.jsonl")):
                file = row.get("file")
                if isinstance(file, str) and is_image_name(file) and image_path(name, file) in reader.names:
                    (new / name / "images" / file).write_bytes(reader.read(image_path(name, file)))
        return tuple(Path(folder) / name for name in reader.runs)


def _records(reader: BundleReader, run: str) -> RunRecords:
    journals = {name: reader.read(run_path(run, name)) for name in JOURNALS if run_path(run, name) in reader.names}
    return RunRecords(reader.read(run_path(run, "run.toml")), reader.tables(run), journals)


class _Verification:
    """Collects what differs in a bundle."""

    def __init__(self, reader: BundleReader) -> None:
        self._reader = reader
        self.findings: list[BundleFinding] = []
        self.verdicts = self.by_logic = self.numbers = 0

    def run(self, cited: str | None) -> None:
        """Check everything, from the outside to the inside."""
        self._check_header(cited)
        self._check_files()
        records = {name: found for name in self._reader.runs if (found := self._read(name)) is not None}
        if len(records) < len(self._reader.runs):
            return
        for name, found in records.items():
            self._check_counts(name, found)
            self._check_images(name, found)
        try:
            with restored_runs(records) as folders:
                for name, folder in folders.items():
                    with closing(open_run(folder)) as run:
                        self._check_items(name, run, found=records[name])
                        self._check_verdicts(name, run, records[name])
                made = report_files(folders)
        except FormalimgError as error:
            self._found("runs", f"they cannot be read: {truncate(' '.join(str(error).split()), 300, 100)}")
            return
        self._check_report(made)

    def _found(self, place: str, text: str) -> None:
        self.findings.append(BundleFinding(place, text))

    def _check_header(self, cited: str | None) -> None:
        reader = self._reader
        if cited is not None and cited != reader.digest:
            self._found(HEADER, f"the bundle is {digest_text(reader.digest)}, and {digest_text(cited)} was cited")
        if reader.comment != digest_text(reader.digest):
            self._found(HEADER, f"its digest is {digest_text(reader.digest)}, and the file says {reader.comment[:80]}")
        for name in reader.repeated:
            self._found(name[:200], "it is there twice")

    def _check_files(self) -> None:
        declared = self._reader.declared
        for path in sorted(declared.keys() - self._reader.names):
            self._found(path, f"it is listed in {HEADER}, and missing")
        for path in sorted(self._reader.names - declared.keys()):
            self._found(path[:200], f"it is not listed in {HEADER}")
        for path in sorted(declared.keys() & self._reader.names):
            try:
                found = self._reader.file_digest(path)
            except FormalimgError as error:
                self._found(path, str(error))
                continue
            if found != declared[path]:
                self._found(path, _digest_difference(declared[path], found))

    def _read(self, run: str) -> RunRecords | None:
        try:
            return _records(self._reader, run)
        except FormalimgError as error:
            self._found(run_path(run, ""), str(error))
            return None

    def _check_counts(self, run: str, records: RunRecords) -> None:
        stated = self._reader.runs[run]
        try:
            counted = run_counts(run, records, images=bool(stated.get("has_images")))
        except KeyError as error:
            self._found(run_path(run, ""), f"a record has no field {error}")
            return
        for field, value in counted.items():
            if stated.get(field) != value:
                shown = dumps_storable(stated.get(field))[:200]
                self._found(f"{HEADER}, {run}", f"{field} is {shown}, and the records have {dumps_storable(value)}")

    def _check_images(self, run: str, records: RunRecords) -> None:
        """Compare the images with the digests of their records, and the records with the images."""
        here = image_path(run, "")
        present = {path for path in self._reader.names if path.startswith(here)}
        if not self._reader.runs[run].get("has_images"):
            expected = set()
        else:
            expected = {image_path(run, str(row.get("file"))) for row in records.tables["pictures"] if row.get("file")}
        digests = {image_path(run, str(row.get("file"))): row.get("sha256") for row in records.tables["pictures"]}
        for path in sorted(expected - present):
            self._found(path, "the records name this image, and it is missing")
        for path in sorted(present - expected):
            self._found(path[:200], "no record names this image")
        for path in sorted(present & expected):
            try:
                found = self._reader.file_digest(path).sha256
            except FormalimgError:  # said already
                continue
            if found != digests[path]:
                self._found(path, f"its digest is {found}, and its record has {str(digests[path])[:80]}")

    def _check_items(self, name: str, run: StoredRun, found: RunRecords) -> None:
        """Compare the columns of items with their records, and the keys with what they are digests of."""
        place = run_path(name, "items.jsonl")
        keys = {str(row["id"]): str(row["question"]) for row in found.tables["items"]}
        for item in run.suite_items():
            planned = run.items[item.id]
            if question_key(item) != keys[item.id]:
                self._found(place, f"item {item.id} is not the one that was asked for: its key differs")
            if (planned.prompt, planned.tags) != (item.prompt, item.tags):
                self._found(place, f"item {item.id}: its prompt or tags are not those of its record")
        if plan_digest(keys.values()) != run.manifest.items_digest:
            self._found(place, "the items are not those of the manifest: their digest differs")

    def _check_verdicts(self, name: str, run: StoredRun, records: RunRecords) -> None:
        place = run_path(name, "verdicts.jsonl")
        items = {item.id: item for item in run.suite_items()}
        stored = [str(row["key"]) for row in records.tables["judges"]]
        for judge, key in zip(run.judges(), stored, strict=True):
            if judge_key(judge) != key:
                self._found(run_path(name, "judges.jsonl"), f"{judge.name} has other settings than its key")
                continue
            with closing(open_run(run.folder, judge)) as by_judge:
                for judged in by_judge.judged():
                    verdict, item = judged.verdict, items[judged.outcome.item]
                    if not isinstance(verdict, Verdict):
                        continue
                    self.verdicts += 1
                    self.by_logic += follows_by_logic(item, judge.settings, verdict.evidence)
                    for problem in verdict_problems(item, judge, verdict, judged.outcome.score):
                        about = f"item {item.id}, image {judged.outcome.sample}, by {judge.name}"
                        self._found(place, truncate(f"{about}: {problem}", 400, 100))

    def _check_report(self, made: Mapping[str, bytes]) -> None:
        """Compare the numbers of the report with those that the verdicts make, value by value."""
        try:
            stored = loads_strict(self._reader.read(REPORT))
            text = self._reader.read(TABLES).decode("utf-8", "replace")
        except (FormalimgError, ValueError, RecursionError) as error:
            self._found(REPORT, f"it cannot be read: {error}")
            return
        computed = loads_strict(made[REPORT])
        self.numbers = sum(1 for _ in _leaves(computed))
        for where, old, new in _differences(stored, computed, ""):
            self._found(REPORT, f"{where} is {_shown(old)}, and the verdicts make {_shown(new)}")
        before, after = text.splitlines(), made[TABLES].decode().splitlines()
        if len(before) != len(after):
            self._found(TABLES, f"it has {len(before):,} lines, and the verdicts make {len(after):,}")
        for number, (old, new) in enumerate(zip(before, after, strict=False), 1):
            if old != new:
                self._found(TABLES, f"line {number:,} is {_shown(old)}, and the verdicts make {_shown(new)}")


def _digest_difference(declared: FileDigest, found: FileDigest) -> str:
    if declared.bytes != found.bytes:
        return f"it has {found.bytes:,} bytes, and had {declared.bytes:,} when the bundle was made"
    return "it was changed after the bundle was made: its digest differs"


_ABSENT = object()


def _differences(old: Any, new: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each value that differs, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*new, *old)):
            yield from _differences(old.get(name, _ABSENT), new.get(name, _ABSENT), f"{where}.{name}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, (one, other) in enumerate(zip(old, new, strict=True)):
            label = next((one[key] for key in ("name", "suite") if isinstance(one, dict) and key in one), n)
            yield from _differences(one, other, f"{where}[{label}]")
    elif not _is_same(old, new):
        yield where, old, new


def _is_same(old: Any, new: Any) -> bool:
    numbers = (int, float)
    if (
        isinstance(old, numbers)
        and isinstance(new, numbers)
        and not isinstance(old, bool)
        and not isinstance(new, bool)
    ):
        return math.isclose(old, new, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(old == new)


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, dict | list):
        for one in data.values() if isinstance(data, dict) else data:
            yield from _leaves(one)
    else:
        yield data


def _shown(value: Any) -> str:
    return "absent" if value is _ABSENT else truncate(dumps_storable(value), 100, 40)
