"""A cluster that a command starts on this machine: no other machine reaches it, and no other user reads its token."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

_LISTENING = """
import os, stat, sys
from pathlib import Path
from formalimg.runs.ray.worker import connect


def processes(number):
    children = [path.read_text().split() for path in Path(f"/proc/{number}/task").glob("*/children")]
    return [number, *(each for found in children for child in found for each in processes(child))]


def sockets(number):
    for path in Path(f"/proc/{number}/fd").iterdir():
        try:
            yield os.readlink(path)
        except OSError:
            pass


os.umask(0o022)
if sys.argv[1] == "loaded":
    import ray
for _ in range(2):  # the second one has the same token
    with connect("local"):
        import ray

        assert ray.get(ray.remote(num_cpus=1)(lambda: 2).remote()) == 2
        token = Path(os.environ.get("RAY_AUTH_TOKEN_PATH", Path.home() / ".ray" / "auth_token"))
        print(oct(stat.S_IMODE(token.stat().st_mode)), oct(stat.S_IMODE(token.parent.stat().st_mode)))
        ours = {name for number in processes("self") for name in sockets(number)}
        for file in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{file}").read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and f"socket:[{words[9]}]" in ours:
                    print("listens", words[1].partition(":")[0])
assert "RAY_AUTH_TOKEN_PATH" not in os.environ
"""


@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: `make test-ray` installs it")
@pytest.mark.skipif(sys.platform != "linux", reason="sockets are listed in /proc")
@pytest.mark.parametrize("ray", ["loaded", "new"])
def test_a_local_cluster_listens_on_loopback_with_a_private_token(ray: str, root: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _LISTENING, ray],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=root,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("0o")] == ["0o600 0o700"] * 2
    listening = {line.split()[1] for line in lines if line.startswith("listens")}
    assert listening
    assert listening <= {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert (tmp_path / ".ray" / "auth_token").exists() == (ray == "loaded")
