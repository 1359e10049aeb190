"""The tutorial is followed to the letter, by a newcomer with a local server whose model sees drawings."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image
from tests.support.loopback import Asked, Loopback

from formalimg.drawing.icon_scene import drawable_classes
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_grounder
from formalimg.scenes.scene import Scene

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial" / "first-ten-minutes.md").read_text(encoding="utf-8")
INSTALLING, *STEPS = re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE.replace("\n```\n\n```", "\n```\n```"), re.M | re.S)
SERVER = "http://127.0.0.1:8000"


def seen(image: bytes) -> Scene:
    with Image.open(io.BytesIO(image)) as file:
        looking = open_grounder("builtin/icons").ground(LoadedImage(image, file.convert("RGB")), drawable_classes())
    with ThreadPoolExecutor(1) as thread:  # the server has a loop of its own
        grounding = thread.submit(asyncio.run, looking).result()
    return grounding.scene if isinstance(grounding, Grounding) else Scene(())


def reply(asked: Asked) -> str:
    """What a model says that sees drawings well: boxes, which things there are, or whether there is a red cup."""
    [image] = asked.images
    scene, text = seen(image), "\n".join(asked.texts)
    question = text.partition("The question:\n")[2]
    if question:
        there = any(thing.label in question.splitlines()[0] for thing in scene.objects)
        return json.dumps({"observation": "I looked.", "answer": "yes" if there else "no"})
    clauses = re.findall(r"^\(.*\)$", text.partition("one on each line:\n")[2], re.M)
    if not clauses:
        return json.dumps(scene.to_json())
    red_cup = any((thing.label, thing.color) == ("cup", "red") for thing in scene.objects)
    judged = [{"clause": clause, "because": "I looked.", "holds": red_cup} for clause in clauses]
    return json.dumps({"observations": [], "clauses": judged, "fulfilled": red_cup})


def test_the_tutorial_works(tmp_path: Path) -> None:
    assert INSTALLING == ("sh", "make demo\n")
    assert STEPS[0][1].startswith("source .venv/bin/activate\npip install")
    (tmp_path / ".git").mkdir()  # nothing outside is the project's
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "OPENAI_API_KEY": "none"}
    environment = {**os.environ, **home, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("FORMALIMG_PREFLIGHT", None)  # the newcomer's judge is tried first
    printed: list[str] = []
    with Loopback(reply=reply) as server:
        for language, text in STEPS[1:-1]:
            text = text.replace(SERVER, server.url)
            if language == "python":
                (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
                continue
            done = subprocess.run(
                ["bash", "-ec", text], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
            )
            expected = 2 if "folder/images" in text and "--judge" not in text else 0
            assert done.returncode == expected, f"{text}\n{done.stdout}{done.stderr}"
            printed.append(done.stdout + done.stderr)
    _, exported, _, refused, matched, function, judged, configured, scored, reported = printed
    assert "prompts.jsonl" in exported
    assert "--judge" in refused
    assert "6 by id" in matched
    assert "my-model" in function
    assert "no computer mouse found" in function
    assert "openai/Qwen/Qwen3-VL-8B-Instruct" in judged
    assert "formalimg.toml" in configured
    assert "images/0.png" in scored
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "my-model" in page
    assert "openai/Qwen/Qwen3-VL-8B-Instruct" in page
    assert reported
    assert STEPS[-1] == ("sh", "formalimg view runs\n")
    command = [sys.executable, "-m", "formalimg", "view", "runs", "--no-browser", "--port", "0"]
    viewer = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert viewer.stdout is not None
        address = viewer.stdout.readline().split()[0]
        assert "my-model" in urllib.request.urlopen(address, timeout=60).read().decode()
    finally:
        viewer.send_signal(signal.SIGINT)
        viewer.wait(timeout=60)
