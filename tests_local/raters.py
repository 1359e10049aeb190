"""Raters as a server meets them: they follow a link, read the page, fetch its image, and send until it is confirmed.

They do what the page's own script does, over HTTP, and note all they sent.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

LOST, TWICE, CORRECTED, RELOADED = 0.05, 0.05, 0.1, 0.05
"""How often a confirmation is lost, something is sent again though it was confirmed, an answer is given that is
corrected at once, and a page is loaded again before its image is finished."""

_TRIES = 20
_PATIENCE = 60
_LIKERT = (1, 2, 3, 4, 5)


class Sent(NamedTuple):
    """An answer that was sent until it was confirmed."""

    task: str
    step: str
    value: int
    seconds: float
    key: str


class StudyServer:
    """`formalimg annotate` as a process of its own, which can be killed and started again at the same address."""

    def __init__(self, errors: Path, *asked: str) -> None:
        self.errors, self._asked, self._port = errors, asked, "0"
        self._is_up = threading.Event()
        self.links = self._start()

    def __enter__(self) -> StudyServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End it as a power failure does."""
        self._is_up.clear()
        self._process.kill()
        self._process.communicate()

    def start_again(self) -> None:
        """Go on with the study; raters have the links they had."""
        assert self._start() == {}

    def wait_until_up(self) -> None:
        """What raters do while it is away."""
        assert self._is_up.wait(_PATIENCE)

    def _start(self) -> dict[str, str]:
        command = [sys.executable, "-m", "formalimg", "annotate", *self._asked, "--port", self._port, "--no-browser"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with self.errors.open("a", encoding="utf-8") as errors:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line.split())
            if line.startswith("progress"):
                break
        assert said[-1][0] == "progress", self.errors.read_text(encoding="utf-8")
        self._port = str(urlsplit(said[-1][1]).port)
        self._is_up.set()
        return {words[0]: words[1] for words in said if re.fullmatch(r"rater-\d+", words[0])}


class RatingPage(HTMLParser):
    """What a browser finds in the page of a rater."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.task = self.image = self.words = self.title = ""
        self.scripts: list[str] = []
        self.steps: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.words = self.words.removeprefix("Prompt")

    @property
    def number(self) -> tuple[int, int]:
        """Which image it is, of how many."""
        _, number, _, of = self.title.split()
        return int(number), int(of)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        sort = values.get("class", "")
        if tag == "form":
            self.task = values["data-task"]
        elif tag == "img" and sort == "rated-image":
            self.image = values["src"]
        elif tag == "fieldset":
            self.steps[values["data-step"]] = values["data-answer"]
        elif tag in ("script", "link"):
            self.scripts.append(values.get("src") or values["href"])
        elif tag in ("h1", "title"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if "h1" in self._open:
            self.words += data
        elif "title" in self._open:
            self.title += data


class Rater:
    """Somebody with a link and a connection that sometimes fails."""

    def __init__(self, link: str, server: StudyServer, chance: random.Random) -> None:
        place = urlsplit(link)
        self._here, self._origin, self._server, self._chance = place.path, f"http://{place.netloc}", server, chance
        self._connection = HTTPConnection(place.netloc, timeout=_PATIENCE)
        self.sent: list[Sent] = []
        self.finished: list[str] = []
        self.lost = self.twice = self.broken = 0

    def rate(self, say: Callable[[bytes, str], int], one_done: Callable[[], None]) -> None:
        """Rate all images; say gives the points for an image beside its words."""
        while (page := self._page()) is not None:
            number, _ = page.number
            assert number == len(self.finished) + 1
            if number == 1:
                for script in page.scripts:
                    assert self._ask("GET", script)[0] == 200
            assert list(page.steps.values()) == [""]
            (step,) = page.steps
            code, image = self._ask("GET", page.image)
            assert code == 200
            points = say(image, page.words)
            if self._chance.random() < CORRECTED:
                self._give(page.task, step, self._chance.choice([it for it in _LIKERT if it != points]))
            self._give(page.task, step, points)
            if self._chance.random() < RELOADED:
                again = self._page()
                assert again is not None
                assert (again.task, again.steps) == (page.task, {step: json.dumps(points)})
            self._finish(page.task, {step: points})
            one_done()

    def _page(self) -> RatingPage | None:
        code, text = self._ask("GET", self._here)
        assert code == 200, text
        page = RatingPage(text.decode())
        if not page.task:
            assert page.words == "Thank you"
            return None
        return page

    def _give(self, task: str, step: str, value: int) -> None:
        """Send an answer until it is confirmed; whatever happens on the way, it has one key."""
        seconds = round(self._chance.uniform(1, 9), 3)
        answer = Sent(task, step, value, seconds, self._chance.randbytes(12).hex())
        self.sent.append(answer)
        for _ in range(self._times()):
            assert self._post("answer", answer._asdict()) == (200, {"kept": answer.key})

    def _finish(self, task: str, answers: dict[str, int]) -> None:
        """Go on to the next image, which one may have been given already if a confirmation was lost."""
        before = self.broken + self.lost
        for time in range(self._times()):
            code, said = self._post("finish", {"task": task, "answers": answers})
            if time == 0 and before == self.broken + self.lost:
                assert code == 200, said
            assert code == 200 or said["moved_on"] is True, said
        self.finished.append(task)

    def _times(self) -> int:
        again = self._chance.random() < TWICE
        self.twice += again
        return 1 + again

    def _post(self, what: str, body: dict[str, object]) -> tuple[int, dict[str, object]]:
        lost = self._chance.random() < LOST
        code, text = self._ask("POST", f"{self._here}/{what}", json.dumps(body).encode(), lost=lost)
        return code, json.loads(text)

    def _ask(self, method: str, path: str, body: bytes | None = None, *, lost: bool = False) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Origin": self._origin} if body else {}
        for _ in range(_TRIES):
            try:
                self._connection.request(method, path, body, headers)
                if lost:
                    lost = False
                    self.lost += 1
                    self._connection.close()  # it may have arrived, or not
                    continue
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (OSError, HTTPException):
                self.broken += 1
                self._connection.close()
                self._server.wait_until_up()
        raise AssertionError(f"{method} {path} was never answered")
