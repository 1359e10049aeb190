"""The store of a run: the one writer of its folder. Whatever it has taken in survives the death of the process."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from formalimg._util.strict_json import dumps_storable
from formalimg.errors import FormalimgError
from formalimg.judges import Judge
from formalimg.runs.database import open_for_writing, told
from formalimg.runs.files import (
    METADATA,
    image_name,
    make_folder,
    metadata_lines,
    outdated,
    refuse_strange,
    remove_partial,
)
from formalimg.runs.handing import Judgement, MadeImage, Planned
from formalimg.runs.image_store import ImageStore, images_of
from formalimg.runs.keys import judge_key, plan_digest
from formalimg.runs.lock import FolderLock
from formalimg.runs.manifest import CARD_FILE, judged_by, read_card, require_same, write_card
from formalimg.runs.record import Identity, RunManifest
from formalimg.runs.rows import ImageRow, item_row
from formalimg.suites import Item


class RunStore:
    """A run folder, opened for writing by one process at a time; any of its threads may record results."""

    def __init__(self, folder: Path, manifest: RunManifest) -> None:
        """Open the folder, or make it.

        Raises:
            LockedError: if another process is writing to it.
            FormalimgError: if it holds a run of other settings, or cannot be used.
        """
        refuse_strange(folder)
        make_folder(folder)
        self.folder = folder
        self._judge = ""
        self._writing = threading.Lock()
        self._lock = FolderLock(folder)
        try:
            self.manifest = self._joined_card(manifest)
            self.images: ImageStore = images_of(folder, self.manifest.images)
            remove_partial(folder)
            self._database = open_for_writing(folder)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> RunStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; others may write then."""
        try:
            self._database.close()
        finally:
            self._lock.release()

    # --- the plan

    def plan(self, items: Mapping[int, Item[object]], images: Sequence[Planned], manifest: RunManifest) -> None:
        """Take in what is to be made. What is planned already stays, unless it would be made differently now.

        Args:
            items: the items, by their position in the suite.
            images: their images.
            manifest: the card of the run, but for the digest of its items.
        """
        with told(self.folder):
            questions = dict(self._database.execute("SELECT id, question FROM items"))
            there = set(self._database.execute("SELECT item, sample FROM pictures"))
        if questions and not (self.folder / CARD_FILE).exists():
            raise FormalimgError(
                f"{self.folder} has lost its {CARD_FILE}: restore it, or choose another folder or name"
            )
        changed = [it.item.id for it in images if questions.get(it.item.id, it.question) != it.question]
        if changed and not there <= {(it.item.id, it.sample) for it in images}:
            # Else a part of the run, items or samples, would be of what was asked before, under the same names.
            raise FormalimgError(
                f"item {changed[0]} asks something else than it did when the run in {self.folder} began: "
                "choose another folder or name"
            )
        questions.update((planned.item.id, planned.question) for planned in images)
        self.images.prepare(
            f"{manifest.model.name}, begun {manifest.created}", known=(self.folder / CARD_FILE).exists()
        )
        # The card first: a folder with a plan but without a card could be taken for another run.
        self.manifest = replace(manifest, items_digest=plan_digest(questions.values()))
        write_card(self.manifest, self.folder)
        with told(self.folder), self._database:
            self._database.execute("BEGIN")
            self._database.executemany(
                "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (item_row(position, item, questions[item.id]) for position, item in items.items()),
            )
            self._database.executemany(
                "INSERT INTO pictures (item, sample, key, seed, status) VALUES (?, ?, ?, ?, 'planned') "
                "ON CONFLICT (item, sample) DO UPDATE SET key = excluded.key, seed = excluded.seed, "
                "status = 'planned', detail = '', file = NULL, sha256 = NULL WHERE key != excluded.key",
                ((planned.item.id, planned.sample, planned.key, planned.seed) for planned in images),
            )
        self._forget_lost_files()

    def made(self) -> dict[tuple[str, int], MadeImage]:
        """The images that are there, by item and sample."""
        with told(self.folder):
            rows = self._database.execute("SELECT item, sample, file, sha256 FROM pictures WHERE status = 'made'")
            return {(item, sample): MadeImage(*rest) for item, sample, *rest in rows}

    def scored(self, judge: Judge) -> set[tuple[str, str]]:
        """Question and image of all verdicts of a judge; what is unscored is not among them, so it is tried again."""
        with told(self.folder):
            rows = self._database.execute(
                "SELECT question, picture FROM verdicts WHERE judge = ? AND passed IS NOT NULL", (judge_key(judge),)
            )
            return set(rows)

    def cost(self) -> float:
        """What everything in this folder has cost so far, in US dollars, as far as prices are known."""
        with told(self.folder):
            sums = "SELECT (SELECT total(cost) FROM pictures) + (SELECT total(cost) FROM verdicts)"
            return float(self._database.execute(sums).fetchone()[0])

    # --- results

    def keep_image(self, item: str, sample: int, data: bytes) -> str:
        """Write an image's file; its name is given back. May be called from any thread."""
        name = image_name(item, sample, data)
        self.images.write(name, [data])
        return name

    def record_images(self, results: Iterable[tuple[Planned, ImageRow, float]]) -> None:
        """Record what came of these images, after so many seconds each; all of them or none.

        Those without an image are tried again when the run goes on.
        """
        self._write(
            "UPDATE pictures SET status = ?, detail = ?, file = ?, sha256 = ?, bytes = ?, width = ?, height = ?, "
            "served = ?, cost = cost + ?, unpriced = unpriced + ?, seconds = ?, at = ?, attempts = attempts + 1 "
            "WHERE item = ? AND sample = ? AND key = ?",
            ((*row, seconds, now(), it.item.id, it.sample, it.key) for it, row, seconds in results),
        )

    def record_verdicts(self, judgements: Iterable[Judgement]) -> None:
        """Record what the judge said, or why it said nothing; all of it or none."""
        self._write(
            "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?) "
            "ON CONFLICT (judge, question, picture) DO UPDATE SET passed = excluded.passed, "
            "score = excluded.score, reason = excluded.reason, detail = excluded.detail, parts = excluded.parts, "
            "evidence = excluded.evidence, cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced, "
            "attempts = attempts + 1, seconds = excluded.seconds, at = excluded.at",
            (
                (self._judge, entry.question, entry.made.sha256, entry.item.id, *row, seconds, now())
                for entry, row, seconds in judgements
            ),
        )

    def begin_judging(self, judge: Judge) -> None:
        """Record who judges from now on."""
        self._judge = judge_key(judge)
        with told(self.folder):
            self._database.execute(
                "INSERT OR IGNORE INTO judges VALUES (?, ?, ?)",
                (self._judge, judge.name, dumps_storable(dict(judge.settings))),
            )
        self.manifest = judged_by(self.manifest, Identity(judge.name, judge.settings))
        write_card(self.manifest, self.folder)

    def write_metadata(self) -> None:
        """Write `metadata.jsonl` anew from what is stored, and remove files that it no longer names."""
        with told(self.folder):
            named = {file for (file,) in self._database.execute("SELECT file FROM pictures WHERE status = 'made'")}
            planned = self._database.execute("SELECT item, sample FROM pictures")
            for name in outdated(self.images.sizes(), planned, named):
                with contextlib.suppress(OSError):
                    self.images.remove(name)
            self.images.write(METADATA, metadata_lines(self._metadata()))
            self.images.settle({*named, METADATA})

    # ---

    def _joined_card(self, asked: RunManifest) -> RunManifest:
        if not (self.folder / CARD_FILE).exists():
            return asked
        there = read_card(self.folder)
        require_same(asked, there, self.folder)
        return there

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._writing, told(self.folder), self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(statement, rows)

    def _forget_lost_files(self) -> None:
        """Plan images anew whose files are gone or cut short."""
        with told(self.folder), self._database:
            self._database.execute("BEGIN")
            rows = self._database.execute("SELECT item, sample, file, bytes FROM pictures WHERE status = 'made'")
            sizes = self.images.sizes()
            self._database.executemany(
                "UPDATE pictures SET status = 'planned', detail = 'the file was lost', file = NULL, sha256 = NULL "
                "WHERE item = ? AND sample = ?",
                [(item, sample) for item, sample, file, size in rows if sizes.get(file) != size],
            )

    def _metadata(self) -> Iterator[dict[str, object]]:
        rows = self._database.execute(
            "SELECT file, item, sample, level, prompt, seed, sha256 FROM pictures JOIN items ON items.id = item "
            "WHERE status = 'made' ORDER BY position, sample"
        )
        for file, item, sample, level, prompt, seed, sha256 in rows:
            yield {
                "file_name": file,
                "item": item,
                "sample": sample,
                "level": level,
                "prompt": prompt,
                "seed": seed,
                "sha256": sha256,
            }


def sha256_of(data: bytes) -> str:
    """The digest by which an image's file is known."""
    return hashlib.sha256(data).hexdigest()


def now() -> str:
    """The time, as it is written everywhere in a run."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
