"""`formalimg items review open`: a real server over a real file, and user errors in one line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from formalimg.benchmarks.cfworld.authoring.review_desk import GroupDesk
from formalimg.benchmarks.cfworld.authoring.review_queue import read_review
from formalimg.cli.review import review_app
from formalimg.errors import FormalimgError
from tests.web.review_queues import OURS, queue_of


def test_a_decision_is_kept_by_a_server_that_is_then_interrupted(tmp_path: Path) -> None:
    queue = queue_of(OURS[:2], tmp_path)
    command = [sys.executable, "-m", "formalimg", "items", "review", "open", str(queue), "--no-browser", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        seen = GroupDesk(queue).lines()[0]
        body = json.dumps({"group": seen.group.id, "version": seen.version, "choice": "accept"}).encode()
        headers = {"Content-Type": "application/json", "Origin": address.rstrip("/")}
        urllib.request.urlopen(urllib.request.Request(f"{address}decide", body, headers)).read()
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 0
    assert read_review(queue).decisions == {OURS[0].id: "accept", OURS[1].id: ""}


def test_a_queue_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.jsonl").write_text("[]\n")
    for name, words in (("none", "cannot read"), ("empty", "holds no groups"), ("broken", "line 1: not an object")):
        with pytest.raises(FormalimgError, match=words) as caught:
            CliRunner().invoke(review_app, ["open", str(tmp_path / f"{name}.jsonl")], catch_exceptions=False)
        assert "\n" not in str(caught.value)


def test_a_long_queue_is_summed_up_in_few_words(tmp_path: Path) -> None:
    queue = queue_of(OURS[:13], tmp_path)
    done = CliRunner().invoke(review_app, ["import", str(queue), "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    named = ", ".join(group.id for group in OURS[:10])
    assert f"undecided, and left out: {named} and 3 more\n" in done.output
