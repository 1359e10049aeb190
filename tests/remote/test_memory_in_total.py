"""Many large answers and images at the same time: the process stays within one limit, and honest images get through."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.support.loopback.hostile import HostileServer, whole
from tests.support.sizes import only_in_full, tries

MAX_MEMORY = 600
"""Megabytes at the peak, with the libraries."""

CONNECTIONS = 16
ROOT = Path(__file__).parents[2]

_MEASURE = """
import asyncio, re, sys
from pathlib import Path

from formalimg.judges import Verdict
from formalimg.models import open_image_model
from formalimg.runs import execute
from tests.remote.knowing_server import knolling, order


class Slow:
    name, settings, concurrency = "slow", {}, 16

    async def judge(self, item, image):
        await asyncio.sleep(0.1)
        return Verdict(True, ())


url, count, folder = sys.argv[1:]
options = {"base_url": f"{url}/v1", "concurrency": "16", "max_attempts": "1", "timeout": "120"}
model = open_image_model("openai/painter", options)
done = execute(order(knolling(int(count)), model), Path(folder), Slow())
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024
print(peak, done.made, done.passed)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")


def _peak(body: bytes, count: int, folder: Path) -> tuple[int, int, int]:
    with HostileServer(whole(body)) as server:
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE, server.url, str(count), str(folder / "run")],
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=300,
            env={"OPENAI_API_KEY": "sk-loopback", "PATH": "", "PYTHONPATH": ":".join(sys.path)},
        )
    assert done.returncode == 0, done.stderr
    peak, made, passed = map(int, done.stdout.split())
    return peak, made, passed


def _answer(data: str) -> bytes:
    return json.dumps({"data": [{"b64_json": data}]}).encode()


def _png(side: int, mode: str) -> str:
    image = Image.new(mode, (side, side), "red")
    image.putpixel((0, 0), (0, 0, 255, 255)[: len(mode)])
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return base64.b64encode(file.getvalue()).decode()


@only_in_full
def test_answers_of_the_largest_size_at_every_connection(tmp_path: Path) -> None:
    peak, made, _ = _peak(_answer("!" * 99_000_000), CONNECTIONS, tmp_path)
    assert made == 0
    assert peak <= MAX_MEMORY


@only_in_full
def test_large_files_that_are_images(tmp_path: Path) -> None:
    data = base64.b64decode(_png(64, "RGB")) + bytes(60_000_000)
    peak, made, passed = _peak(_answer(base64.b64encode(data).decode()), CONNECTIONS, tmp_path)
    assert made == passed == CONNECTIONS
    assert peak <= MAX_MEMORY


@only_in_full
def test_small_files_of_many_pixels(tmp_path: Path) -> None:
    count = tries(3, CONNECTIONS)
    peak, made, passed = _peak(_answer(_png(tries(4200, 7000), "RGBA")), count, tmp_path)
    assert made == passed == count
    assert peak <= MAX_MEMORY
