"""Run folders of other people: whatever their database holds, commands and pages end with a result or with one line.

`FORMALIMG_HOSTILE=20` makes twenty times as many damaged folders, and `FORMALIMG_SEED` others.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache, partial
from pathlib import Path

import pytest

from formalimg import load
from formalimg._util import databases
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.database import open_for_reading, open_for_writing
from formalimg.runs.execution import execute
from formalimg.runs.plan import Selection
from formalimg.runs.reader import open_run
from tests.support.command import formalimg
from tests.support.hostile_databases import (
    SCHEMAS,
    HostileEdit,
    apply_edit,
    change_schema,
    corrupt,
    edits_of,
    tables_of,
)
from tests.support.run_contents import rows
from tests.support.sizes import tries
from tests.web.sites import concept_run, visitor

TIMES = int(os.environ.get("FORMALIMG_HOSTILE", "1"))
SEED = int(os.environ.get("FORMALIMG_SEED", "16"))


@pytest.fixture(scope="module")
def knolling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("knolling") / "two"
    _resume(folder)
    return folder


@cache
def _config() -> RunConfig:
    return RunConfig(load("knolling"), open_image_model("builtin/reader"), Selection((1, 2), 1), size=128)


def _resume(folder: Path) -> None:
    execute(_config(), folder, open_judge("knolling"))


def _resume_or_refuse(folder: Path) -> None:
    try:
        _resume(folder)
    except FormalimgError as error:
        assert len(str(error).splitlines()) == 1, error


@pytest.fixture(scope="module")
def concepts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("concepts") / "one"
    concept_run(folder, 4)
    return folder


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    def fail(*_: object) -> None:
        raise AssertionError("it hangs")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(300 * TIMES * len(ACTIONS))
    yield
    signal.alarm(0)


def _command(*arguments: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        given = [argument.format(run=folder, out=folder.parent) for argument in arguments]
        ended = formalimg(*given)
        assert ended.code in (0, 1, 2), ended
        if ended.code == 2:
            assert ended.err.startswith("error: "), ended.err
            if "there is no judge for" not in ended.err:  # which lists the judges that there are
                assert len(ended.err.strip().splitlines()) == 1, ended.err

    act.__name__ = " ".join(arguments)
    return act


def _pages(folder: Path) -> None:
    guest = visitor(folder.parent)
    name = folder.name
    item = "item-1" if name == "one" else _first_item(folder)
    for page in ("/", f"/run?run={name}", f"/gallery?run={name}", f"/gallery?run={name}&word=Is&about=cup"):
        assert guest.get(page).status_code < 500, page
    for page in ("item", "image", "thumbnail", "witness"):
        assert guest.get(f"/{page}?run={name}&item={item}&sample=0").status_code < 500, page


def _first_item(folder: Path) -> str:
    with contextlib.suppress(FormalimgError), closing(open_run(folder)) as run:
        return next(iter(run.items), "0")
    return "0"


ACTIONS: list[Callable[[Path], None]] = [
    _command("report", "{run}", "--format", "json"),
    _command("report", "{run}", "--format", "terminal", "--details"),
    _command("report", "{run}", "--format", "html", "--out", "{out}/report.html", "--gallery", "4"),
    _command("report", "{run}", "--format", "csv", "--judges", "all"),
    _command("export", "{run}", "--out", "{out}/exported"),
    _command("judge", "{run}"),
    _resume_or_refuse,
    _pages,
]


def _attack(source: Path, place: Path, harm: Callable[[Path], object], actions: list[Callable[[Path], None]]) -> None:
    for action in actions:
        shutil.rmtree(place, ignore_errors=True)
        folder = place / source.name
        shutil.copytree(source, folder)
        done = harm(folder / "results.sqlite")
        try:
            action(folder)
        except Exception as error:
            error.add_note(f"after {done}, in {getattr(action, '__name__', action)}")
            raise


def _corrupt(seed: int, file: Path) -> str:
    return corrupt(file, random.Random(seed))


def test_random_damage_is_one_line_or_does_not_matter(knolling: Path, concepts: Path, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    for _ in range(tries(25, 120) * TIMES):
        seed = dice.randrange(2**32)
        source = dice.choice([knolling, knolling, concepts])
        actions = ACTIONS if TIMES > 1 else [dice.choice(ACTIONS)]
        _attack(source, tmp_path / "there", partial(_corrupt, seed), actions)


def test_a_damaged_log_is_one_line_or_does_not_matter(knolling: Path, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    source = tmp_path / "source" / knolling.name
    shutil.copytree(knolling, source)
    kept = tmp_path / "kept" / knolling.name
    with closing(sqlite3.connect(source / "results.sqlite")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("UPDATE pictures SET detail = 'changed'")
        database.commit()
        shutil.copytree(source, kept)  # as a killed process leaves it
    assert (kept / "results.sqlite-wal").stat().st_size
    (kept / "results.sqlite-shm").unlink(missing_ok=True)
    for _ in range(20 * TIMES):
        seed = dice.randrange(2**32)

        def harm(file: Path, seed: int = seed) -> str:
            return corrupt(file.with_name(f"{file.name}-wal"), random.Random(seed))

        _attack(kept, tmp_path / "there", harm, ACTIONS if TIMES > 1 else [dice.choice(ACTIONS)])


def test_values_of_any_kind_are_one_line_or_do_not_matter(knolling: Path, concepts: Path, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    edits = [(source, edit) for source in (knolling, concepts) for edit in edits_of(source / "results.sqlite")]
    for source, edit in dice.sample(edits, min(len(edits), tries(20, 100) * TIMES)):
        all_rows = dice.random() < 0.3

        def harm(file: Path, edit: HostileEdit = edit, all_rows: bool = all_rows) -> HostileEdit:
            apply_edit(file, edit, all_rows=all_rows)
            return edit

        _attack(source, tmp_path / "there", harm, ACTIONS if TIMES > 1 else [dice.choice(ACTIONS)])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_that_is_not_ours_is_refused_before_anything_of_it_runs(
    knolling: Path, tmp_path: Path, name: str
) -> None:
    for table, columns in tables_of(knolling / "results.sqlite").items():
        folder = tmp_path / table
        shutil.copytree(knolling, folder)
        change_schema(folder / "results.sqlite", name, table, columns[0])
        before = (folder / "results.sqlite").read_bytes()
        for opened in (open_for_reading, open_for_writing):
            with pytest.raises(FormalimgError, match=r"results\.sqlite (holds the|lacks the).*restore it, or move"):
                opened(folder)
        assert (folder / "results.sqlite").read_bytes() == before


def test_a_schema_with_other_comments_and_layout_is_ours(knolling: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(knolling, folder)
    with closing(sqlite3.connect(folder / "results.sqlite", isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = replace(sql, '-- JSON list', '/* a list */') || ' -- the end'")
    assert [item for item, _ in rows(folder, "SELECT id, 1 FROM items")]
    with closing(open_run(folder)) as run:
        assert run.items


def test_pages_that_lead_to_each_other_are_no_endless_table(knolling: Path, tmp_path: Path) -> None:
    """A few pages, each of which names the next one many times, make a table of more rows than anyone could read."""
    folder = tmp_path / "run"
    shutil.copytree(knolling, folder)
    file = folder / "results.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("DELETE FROM verdicts")
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'judges'").fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    data = bytearray(file.read_bytes())
    leaf = bytes(data[(root - 1) * size : root * size])
    below = len(data) // size + 1
    data += leaf
    for level in range(8):
        page = bytearray(size)
        count = 200
        page[0:12] = (
            bytes([5, 0, 0])
            + count.to_bytes(2, "big")
            + (size - 5 * count).to_bytes(2, "big")
            + b"\0"
            + (below.to_bytes(4, "big"))
        )
        for cell in range(count):
            place = size - 5 * (cell + 1)
            page[12 + 2 * cell : 14 + 2 * cell] = place.to_bytes(2, "big")
            page[place : place + 5] = below.to_bytes(4, "big") + b"\x01"
        if level < 7:
            below = len(data) // size + 1
            data += page
        else:
            data[(root - 1) * size : root * size] = page
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    file.write_bytes(data)
    with closing(open_run(folder)) as run, pytest.raises(FormalimgError, match=r"interrupted.*the file is damaged"):
        run.judges()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_links_beside_or_in_place_of_a_database_are_refused_and_lead_nowhere(
    knolling: Path, tmp_path: Path, suffix: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(knolling, folder)
    letter = tmp_path / "letter"
    letter.write_text("dear diary")
    link = folder / f"results.sqlite{suffix}"
    link.unlink(missing_ok=True)
    link.symlink_to(letter)
    for opened in (open_for_reading, open_for_writing):
        with pytest.raises(FormalimgError, match="is a symbolic link: replace it by the file itself"):
            opened(folder)
    assert letter.read_text() == "dear diary"


def test_a_journal_that_names_a_further_file_does_not_delete_it(knolling: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(knolling, folder)
    with closing(sqlite3.connect(folder / "results.sqlite")) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    photo = tmp_path / "photo"
    photo.write_text("me at the sea")
    name = str(photo).encode()
    magic = bytes.fromhex("d9d505f920a163d7")
    header = (magic + bytes(12) + (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")).ljust(512, b"\0")
    trailer = (1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + magic
    (folder / "results.sqlite-journal").write_bytes(header + trailer)
    for opened in (open_for_reading, open_for_writing):
        with pytest.raises(FormalimgError, match="is not a journal of formalimg: remove it"):
            opened(folder)
    assert photo.read_text() == "me at the sea"


def test_readers_cannot_write_and_attach_nothing(knolling: Path) -> None:
    with closing(open_for_reading(knolling)) as database:
        assert database.execute("PRAGMA trusted_schema").fetchone() == (0,)
        assert database.execute("PRAGMA query_only").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            database.execute("DELETE FROM items")
        with pytest.raises(sqlite3.OperationalError, match="too many attached"):
            database.execute("ATTACH ':memory:' AS other")
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            database.execute("WITH RECURSIVE e (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e) SELECT max(n) FROM e")


def test_a_name_that_is_not_utf8_in_a_schema_is_one_line(knolling: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(knolling, folder)
    with closing(sqlite3.connect(folder / "results.sqlite", isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET name = CAST(x'ff' AS TEXT), sql = 'CREATE x' WHERE name = 'judges'")
    for opened in (open_for_reading, open_for_writing):
        with pytest.raises(FormalimgError, match=r"malformed.*restore it, or move"):
            opened(folder)


def test_steps_of_a_query_count_also_where_others_come_between(knolling: Path) -> None:
    endless = "WITH RECURSIVE e (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e) SELECT n FROM e WHERE n % 5000 = 0"

    def read_all(database: databases.UntrustedConnection) -> None:
        for number, _ in enumerate(database.rows(endless, {})):
            database.execute("SELECT 1").fetchone()
            assert number < 10_000

    with closing(open_for_reading(knolling)) as database, pytest.raises(sqlite3.OperationalError, match="interrupted"):
        read_all(database)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE pictures SET file = '../../x'", "pictures"),
        ("UPDATE pictures SET sha256 = 'abc'", "pictures"),
        ("UPDATE pictures SET cost = 9e999", "pictures"),
        ("UPDATE pictures SET cost = -5", "pictures"),
        ("UPDATE verdicts SET passed = 7", "verdicts"),
        ("UPDATE verdicts SET cost = 'free'", "verdicts"),
        ("UPDATE items SET level = 'high'", "items"),
    ],
)
def test_writers_check_the_values_before_they_write(knolling: Path, tmp_path: Path, change: str, named: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(knolling, folder)
    with closing(sqlite3.connect(folder / "results.sqlite")) as database:
        database.execute(change)
        database.commit()
    for arguments in (["judge", str(folder)], ["report", str(folder)]):
        ended = formalimg(*arguments)
        assert ended.code == 2 or (arguments[0] == "report" and "file" in change), ended
        assert "Traceback" not in ended.err
    with pytest.raises(FormalimgError, match=f"of the table {named} holds values that formalimg does not write"):
        open_for_writing(folder)
