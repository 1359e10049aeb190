"""Large images leave no memory behind, whichever threads have read them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.sizes import only_in_full

READ = """
import io, threading
from PIL import Image
from formalimg.rewards.inputs import load_image
from formalimg.rewards.server.metrics import resident_bytes
from formalimg.rewards.server.http_server import release_large_blocks

release_large_blocks()
file = io.BytesIO()
Image.linear_gradient("L").resize((4000, 4000)).convert("RGB").save(file, "PNG", compress_level=1)
barrier = threading.Barrier(4)

def read():
    load_image(file.getvalue())
    barrier.wait()  # so that no thread ends, and is used again, before all have read

before = resident_bytes()
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print((resident_bytes() - before) // 2**20)
"""


@only_in_full
@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux keeps what others give back")
def test_what_large_images_took_is_given_back() -> None:
    told = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True, timeout=60)
    assert int(told.stdout) < 40  # megabytes; one image has 64 of them, and each thread would keep its own
