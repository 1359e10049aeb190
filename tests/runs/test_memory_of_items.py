"""The memory of a run does not grow by what its items are made of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_FEW, _MANY = 300, 3_000
_MAX_BYTES_PER_ITEM = 5_000

_PROGRAM = """
import sys
from pathlib import Path
from formalimg.models import open_image_model
from formalimg.runs.config import RunOptions
from formalimg.runs.prepared_run import estimate

def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024

model = open_image_model("builtin/reader")
for place in sys.argv[1:]:
    options = RunOptions(suite="knolling", items=Path(place))
    planned = estimate(options.config(model), Path(place) / "run", None)
    print(planned.images, peak())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_items_are_not_held_in_memory(tmp_path: Path) -> None:
    from formalimg.benchmarks.items_file import encode_item
    from formalimg.benchmarks.loader import load

    lines = [encode_item(item) for item in load("knolling")]
    places = []
    for count in (_FEW, _MANY):
        place = tmp_path / str(count)
        place.mkdir()
        numbered = (
            lines[number % len(lines)].replace(f'"id": "{number % len(lines)}"', f'"id": "{number}"', 1)
            for number in range(count)
        )
        (place / "items.jsonl").write_text("".join(f"{line}\n" for line in numbered), encoding="utf-8")
        places.append(str(place))
    environment = {"FORMALIMG_CACHE": str(tmp_path / "cache"), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *places], capture_output=True, text=True, check=True, env=environment
    )
    (few, before), (many, after) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert [few, many] == [_FEW, _MANY]
    assert (after - before) / (_MANY - _FEW) < _MAX_BYTES_PER_ITEM
