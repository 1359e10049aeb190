"""Bundles: what is written can be verified, and whatever is changed in it is found."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import formalimg
from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.reports.sharing.bundle import write_bundle
from formalimg.reports.sharing.bundle_verification import unpack_bundle, verify_bundle
from formalimg.runs.reader import open_run
from tests.reports.planted_changes import changes, read_files, write_changed
from tests.support.command import formalimg as command
from tests.support.sizes import tries

GOLDEN = Path(__file__).parents[1] / "golden" / "runs"
STORED_RUNS = sorted(path.parent.name for path in GOLDEN.glob("*/run.toml"))
KINDS = list(changes("knolling-reader"))
VERSION = "formalimg 1"
HIDDEN = {"a raw answer"}
"""Texts that nothing follows from: once all digests are rewritten, only the one that was cited tells."""


@pytest.fixture(scope="module")
def bundle(reader_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles") / "results.zip"
    write_bundle([reader_run], path, VERSION, images=True)
    return path


def test_nothing_differs_in_a_bundle_as_it_was_written(bundle: Path, reader_run: Path) -> None:
    check = verify_bundle(bundle)
    with closing(open_run(reader_run)) as run:
        scored = sum(outcome.passed is not None for outcome in run.outcomes())
    assert check.findings == []
    assert check.verdicts == check.by_scene == scored
    assert check.numbers > 100
    assert check.made_with == VERSION


def test_the_same_run_gives_the_same_bytes(bundle: Path, reader_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / reader_run.name
    shutil.copytree(reader_run, copy)
    again = write_bundle([copy], tmp_path / "again.zip", VERSION, images=True)
    assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()
    assert again.digest == verify_bundle(bundle).digest


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_change_is_found(bundle: Path, tmp_path: Path, kind: str) -> None:
    changed = write_changed(bundle, tmp_path / "changed.zip", changes("knolling-reader")[kind], covered_up=False)
    findings = verify_bundle(changed).findings
    assert findings


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_that_is_covered_up_is_found_by_what_no_longer_follows(
    bundle: Path, tmp_path: Path, kind: str
) -> None:
    """All digests fit again: what is left are the numbers, keys and verdicts, and the digest that was cited."""
    cited = hashlib.sha256(read_files(bundle)["bundle.json"]).hexdigest()
    changed = write_changed(bundle, tmp_path / "changed.zip", changes("knolling-reader")[kind], covered_up=True)
    (of_digest,) = verify_bundle(changed, cited).findings
    assert "was cited" in of_digest.text
    others = verify_bundle(changed).findings
    assert bool(others) == (kind not in HIDDEN)
    assert all("digest differs" not in finding.text or "items" in finding.place for finding in others)


def test_findings_say_where_and_what(bundle: Path, tmp_path: Path) -> None:
    planted = changes("knolling-reader")
    said = {
        kind: "\n".join(
            map(
                str,
                verify_bundle(write_changed(bundle, tmp_path / f"{n}.zip", planted[kind], covered_up=True)).findings,
            )
        )
        for n, kind in enumerate(("a verdict", "a count", "a table number", "an image", "a version"))
    }
    assert "stored as passed, and its scene makes it failed" in said["a verdict"]
    assert "items is 999, and the records have" in said["a count"]
    assert "overall.value is 0." in said["a table number"]
    assert "and its record has" in said["an image"]
    assert "made_with is" in said["a version"]


@pytest.mark.parametrize("name", STORED_RUNS[:: tries(3, 1)])
def test_runs_of_every_suite_and_condition_can_be_bundled(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(GOLDEN / name, folder)
    written = write_bundle([folder], tmp_path / "one.zip", VERSION)
    check = verify_bundle(tmp_path / "one.zip", written.digest)
    assert check.findings == []
    assert written.runs[0]["items"] > 0


def test_answers_that_were_imported_are_bundled_without_images(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,prompt,question,question_id\ncup,A cup,Is there a cup?,1\n")
    (tmp_path / "eyes.csv").write_text("model,item,sample,question,answer\nlab/a,cup,0,1,yes\n")
    assert command("import", "answers", "eyes.csv", "--items", "items.csv", cwd=tmp_path).code == 0
    write_bundle([tmp_path / "runs" / "questions-lab-a"], tmp_path / "one.zip", VERSION, images=True)
    check = verify_bundle(tmp_path / "one.zip")
    assert check.is_complete
    assert any("their answers were imported" in str(one) for one in check.unproven)


def test_several_runs_and_judges_are_in_one_report(reader_run: Path, tmp_path: Path) -> None:
    second = tmp_path / "again" / reader_run.name
    shutil.copytree(reader_run, second)
    formalimg.judge(second, lambda image, item: item.level == 1, progress=False)
    written = write_bundle([reader_run, second], tmp_path / "two.zip", VERSION)
    assert [run["name"] for run in written.runs] == [reader_run.name, f"{reader_run.name}-2"]
    assert [len(run["judges"]) for run in written.runs] == [1, 2]
    report = json.loads(read_files(tmp_path / "two.zip")["report.json"])
    assert len(report["sections"][0]["runs"]) == 3
    assert str(tmp_path) not in json.dumps(report)
    assert verify_bundle(tmp_path / "two.zip").findings == []


def test_after_a_wrong_digest_nothing_is_read(bundle: Path, tmp_path: Path) -> None:
    def break_everything(files: dict[str, bytes]) -> None:
        files["runs/knolling-reader/items.jsonl"] = b"[" * 100_000
        files["runs/knolling-reader/run.toml"] = b"no manifest"

    changed = write_changed(bundle, tmp_path / "changed.zip", break_everything, covered_up=False)
    check = verify_bundle(changed)
    assert {finding.place for finding in check.findings} == {
        "runs/knolling-reader/items.jsonl",
        "runs/knolling-reader/run.toml",
    }
    assert all("when the bundle was made" in finding.text for finding in check.findings)
    assert (check.verdicts, check.numbers) == (0, 0)
    said = command("share", "verify", str(changed), "--unpack", str(tmp_path / "there"))
    assert said.code == 2
    assert "is not unpacked, because a digest is wrong" in said.err
    cited = command("share", "verify", str(bundle), "--digest", "0" * 64, "--unpack", str(tmp_path / "there"))
    assert cited.code == 2
    assert not (tmp_path / "there").exists()


def test_an_unpacked_bundle_is_a_run_again(bundle: Path, reader_run: Path, tmp_path: Path) -> None:
    (folder,) = unpack_bundle(bundle, tmp_path / "unpacked")
    with closing(open_run(folder)) as there, closing(open_run(reader_run)) as here:
        assert list(there.outcomes()) == list(here.outcomes())
        assert [one.verdict for one in there.judged()] == [one.verdict for one in here.judged()]
        assert all(one.image is not None and one.image.read_bytes() for one in there.judged())
        assert render(compare([there]), "csv") == render(compare([here]), "csv")
    with closing(sqlite3.connect(folder / "results.sqlite")) as one:
        rows = one.execute("SELECT * FROM verdicts ORDER BY item").fetchall()
    with closing(sqlite3.connect(reader_run / "results.sqlite")) as other:
        assert rows == other.execute("SELECT * FROM verdicts ORDER BY item").fetchall()


def test_an_image_that_has_changed_is_not_bundled(reader_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(reader_run, copy)
    image = next((copy / "images").glob("*.png"))
    image.write_bytes(image.read_bytes()[:-1] + b"x")
    with pytest.raises(FormalimgError, match="not the file that was stored"):
        write_bundle([copy], tmp_path / "no.zip", VERSION, images=True)
    assert not (tmp_path / "no.zip").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x05\x06" + bytes(18), b"no zip at all", None],
    ids=["empty", "no members", "text", "another zip"],
)
def test_what_is_no_bundle_is_told_in_one_line(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    if content is None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("bundle.json", '{"kind": "something else"}')
    else:
        path.write_bytes(content)
    said = command("share", "verify", str(path))
    assert said.code == 2
    assert said.err.startswith("error: ")
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    "header",
    [
        {"runs": [{"name": "../../evil"}]},
        {"runs": [{"name": "a"}, {"name": "a"}]},
        {"runs": "none"},
        {"runs": [{"name": "a"}], "files": {"runs/a/run.toml": 7}},
        {"runs": [{"name": "a"}], "files": []},
    ],
)
def test_a_hostile_header_is_told_and_nothing_is_written_outside(header: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bundle.json", json.dumps({"kind": "formalimg bundle", "schema": 1, **header}))
        archive.writestr("../evil.txt", "outside")
    said = command("share", "verify", str(path), "--unpack", str(tmp_path / "there" / "in"))
    assert said.code in (1, 2)
    assert "Traceback" not in said.err
    assert not (tmp_path / "evil.txt").exists()
    assert not (tmp_path / "there" / "evil.txt").exists()


def test_a_file_that_unpacks_to_anything_is_refused(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = max(map(len, read_files(bundle).values()))
    monkeypatch.setattr("formalimg.reports.sharing.bundle_format.MAX_FILE_BYTES", limit)
    assert verify_bundle(bundle).findings == []

    def swell(files: dict[str, bytes]) -> None:
        files["runs/knolling-reader/items.jsonl"] += b"\n" * limit

    changed = write_changed(bundle, tmp_path / "large.zip", swell, covered_up=True)
    assert any(f"more than {limit:,} bytes" in finding.text for finding in verify_bundle(changed).findings)


def test_commands(reader_run: Path, tmp_path: Path) -> None:
    written = command("share", "bundle", str(reader_run), "--out", "results.zip", cwd=tmp_path)
    assert written.code == 0
    first, second = written.out.splitlines()
    assert first.startswith("results.zip: 1 run, ")
    digest = second.removeprefix("cite it as ")
    verified = command("share", "verify", "results.zip", "--digest", digest, cwd=tmp_path)
    assert verified.code == 0
    assert "nothing differs" in verified.out
    assert digest in verified.out
    other = command("share", "verify", "results.zip", "--digest", "sha256:" + "0" * 64, cwd=tmp_path)
    assert other.code == 1
    assert "results.zip: 1 difference" in other.out
    again = command("share", "bundle", str(reader_run), "--out", "results.zip", cwd=tmp_path)
    assert (again.code, again.out) == (2, "")
    assert "already exists" in again.err
    for wrong in (
        ["share", "bundle", str(tmp_path), "--out", "a.zip"],
        ["share", "bundle", str(reader_run), "--out", "a.tar"],
    ):
        assert command(*wrong, cwd=tmp_path).code == 2


HEADER = {"kind": "formalimg bundle", "schema": 1, "runs": [{"name": "a"}], "files": {}}
# Processor time: on a busy machine a refusal takes up to 1.3 seconds, and reading all rows over 20.
MAX_SECONDS, MAX_BYTES = 5.0, 300_000_000

# Started before the clock: what is measured is the refusal, and not the import.
_VERIFY = """
import re, sys, time
from pathlib import Path
import formalimg.reports.sharing.bundle_verification
from formalimg.errors import FormalimgError
from formalimg.reports.sharing import verify_bundle
for path in sys.argv[1:]:
    start = time.process_time()
    try:
        said = str(verify_bundle(Path(path)).findings[0])
    except FormalimgError as error:
        said = str(error)
    seconds, status = time.process_time() - start, Path("/proc/self/status").read_text()
    print(seconds, int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) * 1024, said[:300])
"""


def _directory(entries: list[tuple[bytes, int, int]], local: bytes, way: int = 8) -> bytes:
    """A zip file of one local entry, whose directory says that there are these: name, packed and unpacked size."""
    listed = []
    for name, packed, unpacked in entries:
        extra = b"" if unpacked < 2**32 else struct.pack("<2HQ", 1, 8, unpacked)
        fixed = struct.pack(
            "<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, way, 0, 0, 0, packed, min(unpacked, 2**32 - 1),
            len(name), len(extra), 0, 0, 0, 0, 0,
        )  # fmt: skip
        listed.append(fixed + name + extra)
    directory = b"".join(listed)
    count = min(len(entries), 0xFFFF)
    return local + directory + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(local), 0)


def _zeros(size: int) -> tuple[bytes, int]:
    """A local entry of zeros, and the size of its compressed bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = b"".join([packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]) + packer.flush()
    name = b"runs/a/items.jsonl"
    return struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, len(data), size, len(name), 0) + name + data, len(
        data
    )


def _shared_bytes(path: Path) -> None:
    """131 KB that unpack to 3.1 GB: many entries of different names are the same bytes."""
    local, packed = _zeros(128 << 20)
    path.write_bytes(_directory([(b"runs/a/%d.jsonl" % number, packed, 128 << 20) for number in range(24)], local))


def _repeated_names(path: Path) -> None:
    local, packed = _zeros(4 << 20)
    path.write_bytes(_directory([(b"runs/a/items.jsonl", packed, 4 << 20)] * 800, local))


def _one_file(path: Path) -> None:
    _write(path, {"runs/a/items.jsonl": bytes(64 << 20)})


def _declared_size(path: Path) -> None:
    local, packed = _zeros(1 << 20)
    path.write_bytes(_directory([(b"bundle.json", packed, 2**62)], local))


def _many_entries(path: Path) -> None:
    path.write_bytes(_directory([(b"%d" % number, 0, 0) for number in range(300_000)], b""))


def _other_compression(path: Path) -> None:
    local, packed = _zeros(1 << 20)
    path.write_bytes(_directory([(b"bundle.json", packed, 1 << 20)], local, way=14))


def _nested(path: Path) -> None:
    _write(path, {"bundle.json": b"[" * 900_000})


def _wide_header(path: Path) -> None:
    _write(path, {"bundle.json": json.dumps({**HEADER, "x": [[]] * 2_000_000}).encode()})


def _many_rows(path: Path) -> None:
    """Rows of three bytes, each of which becomes an object; digests fit."""
    files = {f"runs/a/{name}.jsonl": b"{}\n" * 1_200_000 for name in ("items", "pictures")} | {"runs/a/run.toml": b""}
    listed = {name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in files.items()}
    header = json.dumps({**HEADER, "files": listed}).encode()
    _write(path, {"bundle.json": header, **files}, b"sha256:" + hashlib.sha256(header).hexdigest().encode())


def _write(path: Path, files: dict[str, bytes], comment: bytes = b"") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"bundle.json": json.dumps(HEADER).encode(), **files}.items():
            archive.writestr(name, data)
        archive.comment = comment


BOMBS: dict[Callable[[Path], None], str] = {
    _shared_bytes: "share the same bytes",
    _repeated_names: "occurs twice",
    _one_file: "it would unpack to",
    _declared_size: "it would unpack to",
    _many_entries: "more than 250,000 files",
    _other_compression: "compressed in the way 14",
    _nested: "is not a bundle, or is damaged",
    _many_rows: "more values so far than a bundle of this size has",
    _wide_header: "bundle.json has more than",
}


def test_bombs_are_refused_at_once(tmp_path: Path) -> None:
    paths = [tmp_path / f"{bomb.__name__}.zip" for bomb in BOMBS]
    for bomb, path in zip(BOMBS, paths, strict=True):
        bomb(path)
    code = [sys.executable, "-c", _VERIFY, *map(str, paths)]
    done = subprocess.run(code, capture_output=True, text=True, check=True, timeout=60)
    for says, line in zip(BOMBS.values(), done.stdout.splitlines(), strict=True):
        seconds, memory, said = line.split(maxsplit=2)
        assert says in said
        assert float(seconds) < MAX_SECONDS, said
        assert int(memory) < MAX_BYTES, said
