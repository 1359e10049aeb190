"""What docs/guides/cluster.md says about the token works on a machine that has none yet."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("block", ["get-auth-token", "SBATCH"])
def test_the_token_is_made_and_only_its_owner_can_read_it(cluster: Any, root: Path, tmp_path: Path, block: str) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (root / "docs/guides/cluster.md").read_text(encoding="utf-8"), re.DOTALL)
    script = next(text for text in blocks if block in text)
    about_token = [line for line in script.splitlines() if "AUTH" in line or "auth" in line]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    environment |= {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = "umask 022\n" + "\n".join(about_token)
    done = subprocess.run(["bash", "-e", "-c", command], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    token = tmp_path / ".ray" / "auth_token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert len(token.read_text(encoding="ascii").strip()) >= 32
