"""Verification of bundles: recompute everything that can be derived from other parts of a bundle."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from formalimg._util.aio import run_sync
from formalimg._util.io import atomic_folder
from formalimg._util.strict_json import dumps_storable, loads_strict
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.reports.sharing.bundle import report_files, restored_runs, run_counts
from formalimg.reports.sharing.bundle_checks import (
    BundleCheck,
    count_leaves,
    count_repeated_images,
    image_row_problems,
    is_of_shipped,
    item_problems,
    judge_problems,
    load_shipped_items,
    run_coverage,
    stray_verdicts,
    value_differences,
    value_text,
)
from formalimg.reports.sharing.bundle_format import (
    HEADER,
    REPORT,
    TABLES,
    BundleReader,
    digest_text,
    image_path,
    read_digest,
    read_json,
    run_path,
)
from formalimg.reports.sharing.verdict_replay import ImageCheck, VerdictReplay, image_problems, size_problem
from formalimg.runs.image_store import is_image_name
from formalimg.runs.manifest import RunManifest
from formalimg.runs.reader import StoredRun, open_run
from formalimg.runs.records import JOURNALS, RunRecords, restore_run, table_names
from formalimg.types import Item

_MAX_MORE_BYTES = 1_000_000  # A report that is longer than the one of the verdicts by more than this is not read
MAX_IMAGES_JUDGED = 100  # With more images in a bundle, judges that are computed here look at a sample of them again


def verify_bundle(path: str | Path, digest: str | None = None, *, all_images: bool = False) -> BundleCheck:
    """Verify a bundle by recomputing everything that can be derived from other parts of it.

    These are digests, counts, keys, seeds, verdicts (from raw answers, stored scenes, and images where the judge is
    computed here), and every number of the report. After a wrong digest nothing more is read.

    Args:
        path: the bundle.
        digest: the digest that was cited, if there is one: nothing in the bundle can be changed without changing it.
        all_images: whether judges look at all images again, and not at a sample.
    """
    with closing(BundleReader(Path(path))) as reader:
        made_with = truncate(str(reader.header.get("made_with")), 60, 10)
        check = BundleCheck(reader.digest, digest is not None, made_with, len(reader.declared))
        max_images = None if all_images else MAX_IMAGES_JUDGED
        _Verification(reader, check, max_images).run(None if digest is None else read_digest(digest))
        return check


def unpack_bundle(path: str | Path, folder: str | Path, digest: str | None = None) -> tuple[Path, ...]:
    """Write the runs of a bundle as run folders, including any images in the bundle, and return the folders."""
    with closing(BundleReader(Path(path))) as reader:
        tally = BundleCheck()
        if not check_digests(reader, None if digest is None else read_digest(digest), tally):
            raise FormalimgError(f"{path} is not unpacked, because a digest is wrong: {tally.findings[0]}")
        with atomic_folder(Path(folder)) as new:
            for name in reader.runs:
                restore_run(new / name, _read_records(reader, name))
                for row in reader.records(run_path(name, "pictures.jsonl")):
                    file = row.get("file")
                    if isinstance(file, str) and is_image_name(file) and image_path(name, file) in reader.names:
                        (new / name / "images" / file).write_bytes(reader.read(image_path(name, file)))
        return tuple(Path(folder) / name for name in reader.runs)


def check_digests(reader: BundleReader, cited: str | None, tally: BundleCheck) -> bool:
    """Compare the digest of the bundle with the cited digest, and those of its files with the header."""
    digest = digest_text(reader.digest)
    if cited is not None and cited != reader.digest:
        tally.differs(HEADER, f"the bundle is {digest}, and {digest_text(cited)} was cited")
    elif reader.comment != digest:
        tally.differs(HEADER, f"its digest is {digest}, and the file says {reader.comment[:80]}")
    if tally.findings:
        return False
    declared = reader.declared
    for path in sorted(declared.keys() - reader.names):
        tally.differs(path, f"it is listed in {HEADER}, and missing")
    for path in sorted(reader.names - declared.keys()):
        tally.differs(path, f"it is not listed in {HEADER}")
    for path in sorted(declared.keys() & reader.names):
        try:
            digest_now = reader.file_digest(path)
        except FormalimgError as error:
            tally.differs(path, str(error))
            continue
        if digest_now.bytes != declared[path].bytes:
            had = f"had {declared[path].bytes:,} when the bundle was made"
            tally.differs(path, f"it has {digest_now.bytes:,} bytes, and {had}")
        elif digest_now != declared[path]:
            tally.differs(path, "it was changed after the bundle was made: its digest differs")
    return not tally.findings


def _read_records(reader: BundleReader, run: str) -> RunRecords:
    journals = {name: reader.read(run_path(run, name)) for name in JOURNALS if run_path(run, name) in reader.names}
    return RunRecords(reader.read(run_path(run, "run.toml")), reader.tables(run), journals)


class _Verification:
    """Verifies a bundle, from its digests to its verdicts and report."""

    def __init__(self, reader: BundleReader, tally: BundleCheck, max_images: int | None) -> None:
        self._reader, self.tally, self._max_images = reader, tally, max_images

    def run(self, cited: str | None) -> None:
        """Run all checks, stopping after a wrong digest."""
        if not check_digests(self._reader, cited, self.tally):
            return
        try:
            records = {name: _read_records(self._reader, name) for name in self._reader.runs}
            for name, of_run in records.items():
                stated = self._reader.runs[name]
                for field, value in run_counts(name, of_run, images=bool(stated.get("has_images"))).items():
                    if stated.get(field) != value:
                        text = f"{field} is {dumps_storable(stated.get(field))[:200]}"
                        text = f"{text}, and the records have {dumps_storable(value)}"
                        self.tally.differs(f"{HEADER}, {name}", text)
                self._check_images(name, of_run)
            self._check_run_files(records)
            with restored_runs(records) as folders, ExitStack() as opened:
                images: list[ImageCheck] = []
                for name, folder in folders.items():
                    run = opened.enter_context(closing(open_run(folder)))
                    images += self._check_run(name, run, records[name])
                self._check_sample(images)
                made = report_files(folders)
        except (FormalimgError, KeyError) as error:
            text = f"a record has no field {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
            self.tally.differs("runs", f"they cannot be read: {truncate(text, 300, 100)}")
            return
        self._check_report(made)

    def _check_run_files(self, records: Mapping[str, RunRecords]) -> None:
        """Report files that belong to no run, which would otherwise be included in the digest without being checked."""
        files = ("run.toml", *(f"{table}.jsonl" for table in table_names()), *JOURNALS)
        expected = {REPORT, TABLES, *(run_path(name, file) for name in records for file in files)}
        images = tuple(image_path(name, "") for name in records)  # which are compared with their records
        for path in sorted(self._reader.names - expected):
            if not path.startswith(images):
                self.tally.differs(path, "it belongs to no run of the bundle")

    def _check_images(self, run: str, records: RunRecords) -> None:
        rows = {image_path(run, str(row["file"])): row for row in records.tables["pictures"] if row["file"]}
        folder = image_path(run, "")
        present = {path for path in self._reader.names if path.startswith(folder)}
        has_images = bool(self._reader.runs[run].get("has_images"))
        for path in sorted(rows.keys() - present) if has_images else ():
            self.tally.differs(path, "the records name this image, and it is missing")
        for path in sorted(present - rows.keys()) if has_images else sorted(present):
            self.tally.differs(path, "no record names this image")
        for path in sorted(present & rows.keys()):
            image, row = self._reader.declared[path], rows[path]
            if image.sha256 != row["sha256"]:
                self.tally.differs(path, f"its digest is {image.sha256}, and its record has {str(row['sha256'])[:80]}")
            elif image.bytes != row["bytes"]:
                self.tally.differs(path, f"it has {image.bytes:,} bytes, and its record has {str(row['bytes'])[:20]}")
            elif (problem := size_problem(self._reader.read(path), row["width"], row["height"])) is not None:
                self.tally.differs(path, problem)
        if not has_images:
            self.tally.cannot_prove(len(rows), "images", "they are not in the bundle, only their digests")

    def _check_run(self, name: str, run: StoredRun, records: RunRecords) -> list[ImageCheck]:
        tally = self.tally
        items = {item.id: item for item in run.suite_items()}
        for file, problems in (
            ("items.jsonl", item_problems(run, records, items)),
            ("pictures.jsonl", image_row_problems(run.manifest, records, items)),
            ("judges.jsonl", judge_problems(run, records)),
        ):
            for problem in problems:
                tally.differs(run_path(name, file), problem)
        replay = VerdictReplay(name, run, records, items, self._reader.names, tally)
        run_sync(replay.check)
        planned, never_made, without_image = run_coverage(run.manifest, records)
        tally.planned += planned
        tally.lacks(never_made, "planned images", "nobody has tried to make them")
        for status, count in without_image.items():
            tally.cannot_prove(count, "images that do not exist", f"the run says that they are {status}")
        self._note_unproven(name, run.manifest, records, items)
        return replay.image_checks

    def _note_unproven(
        self, name: str, manifest: RunManifest, records: RunRecords, items: Mapping[str, Item[object]]
    ) -> None:
        tally = self.tally
        rows = records.tables["pictures"]
        made = sum(row["status"] == "made" for row in rows)
        model = truncate(manifest.model.name, 60, 20)
        tally.cannot_prove(made, "images", f"that {model} made them, from these prompts and with these settings")
        shipped = load_shipped_items(manifest)
        if not is_of_shipped(items, shipped):
            reason = f"items of {manifest.suite} from elsewhere: they are compared with no published ones"
            tally.cannot_prove(len(items), "items", reason)
        elif len(items) < len(shipped):
            reason = f"a choice of the {len(shipped):,} of {manifest.suite}: the bundle does not say who chose, and how"
            tally.cannot_prove(len(items), "items", reason)
        tally.cannot_prove(
            count_repeated_images(records), "images", "each is the same file as another image of its run"
        )
        tally.cannot_prove(
            stray_verdicts(records), "verdicts", "on images that the run has no more; no number counts them"
        )
        spent = [row for row in (*rows, *records.tables["verdicts"]) if row["cost"] or row["seconds"]]
        tally.cannot_prove(len(spent), "costs and durations", "they are stored as the run measured them")
        for journal in records.journals:
            if journal != "looks.jsonl":
                tally.cannot_prove(1, "files", f"{run_path(name, journal)} is a journal that no number follows from")

    def _check_sample(self, checks: list[ImageCheck]) -> None:
        """Rerun local judges on all images, or on a sample selected by the digest."""
        tally, max_images = self.tally, self._max_images
        tally.images_to_judge = len(checks)
        if max_images is not None and len(checks) > max_images:
            checks = random.Random(self._reader.digest).sample(checks, max_images)
            unseen = tally.images_to_judge - max_images
            tally.cannot_prove(unseen, "verdicts", "their images are in the bundle, and were not in the sample")

        async def judge_again() -> None:
            for check in checks:
                data = self._reader.read(check.path)
                for problem in await image_problems(check.judge, check.item, check.stored, data):
                    tally.differs(check.place, f"{check.subject}: {problem}")
                tally.by_image += 1

        if checks:
            run_sync(judge_again)

    def _check_report(self, made: Mapping[str, bytes]) -> None:
        """Compare the numbers of the report value by value with those computed from the verdicts."""
        for path, data in made.items():
            stated = self._reader.declared[path].bytes if path in self._reader.declared else 0
            if stated > len(data) + _MAX_MORE_BYTES:
                self.tally.differs(path, f"it has {stated:,} bytes, and the verdicts make {len(data):,}")
                return
        try:
            stored = read_json(self._reader.read(REPORT))
            text = self._reader.read(TABLES).decode("utf-8", "replace")
        except (FormalimgError, ValueError, RecursionError) as error:
            self.tally.differs(REPORT, f"it cannot be read: {error}")
            return
        computed = loads_strict(made[REPORT])
        self.tally.numbers = count_leaves(computed)
        for name, old, new in value_differences(stored, computed):
            self.tally.differs(REPORT, f"{name} is {value_text(old)}, and the verdicts make {value_text(new)}")
        before, after = text.splitlines(), made[TABLES].decode().splitlines()
        if len(before) != len(after):
            self.tally.differs(TABLES, f"it has {len(before):,} lines, and the verdicts make {len(after):,}")
        for number, (line, line_now) in enumerate(zip(before, after, strict=False), 1):
            if line != line_now:
                text = f"line {number:,} is {value_text(line)}, and the verdicts make {value_text(line_now)}"
                self.tally.differs(TABLES, text)
