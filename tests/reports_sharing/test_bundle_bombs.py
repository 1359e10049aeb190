"""Zip files that are out of proportion are refused before they are read, and in little memory."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

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
    _repeated_names: "is in it twice",
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
