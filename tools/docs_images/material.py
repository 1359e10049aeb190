"""What is photographed: runs of the built-in models, studies with simulated raters, a queue, reports, a notebook.

Everything is made by the same commands that users type, in one folder, with fixed seeds. What is there is used again.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from formalimg.human_eval.attention_checks import StudyRules
from formalimg.human_eval.protocol import RatingProtocol
from formalimg.human_eval.study import Study, open_study
from formalimg.human_eval.study_builder import NewStudy, create_study
from formalimg.runs.reader import open_run
from formalimg.runs.tags import read_tags, write_tags
from tools.docs_images.notebook import notebook_page
from tools.docs_images.runs import LEARNED_RUNS, MANY_RUNS, MODELS, RUNS, PlannedRun


class SiteAddress(NamedTuple):
    """Where a site is, and what the paths of its pages may name."""

    address: str
    names: Mapping[str, str] = {}


class JudgedImage(NamedTuple):
    """What an image should show, and whether the judge passed it."""

    prompt: str
    passed: bool


class Material:
    """A folder with everything that is photographed."""

    def __init__(self, folder: Path) -> None:
        """Keep what is made in this folder; what is missing there is made when it is needed."""
        self._folder = folder.absolute()
        self._folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def site(self, name: str) -> Iterator[SiteAddress]:
        """Serve a site for a while."""
        self._make_runs(_VIEWED[name].runs if name in _VIEWED else RUNS)
        with getattr(self, f"_{name.partition('-')[0]}")(name) as address:
            yield address

    @contextmanager
    def _viewer(self, name: str) -> Iterator[SiteAddress]:
        image = self._folder / "runs" / "knolling-builtin-reader" / "images" / "408.png"
        with self._serving("view", _VIEWED[name].folder) as printed:
            yield SiteAddress(_address(next(printed)), {"image": str(image)})

    @contextmanager
    def _export(self, name: str) -> Iterator[SiteAddress]:
        self._make(name, "view", "runs", "--export", name, "--export-size", "thumbnail")
        yield SiteAddress((self._folder / name).as_uri())

    @contextmanager
    def _report(self, name: str) -> Iterator[SiteAddress]:
        suite = "conceptmix" if name == "report-conceptmix" else "knolling"
        out, runs = f"{name}.html", [f"runs/{suite}-builtin-{model}" for model in MODELS]
        human = ["--human", str(self._rated_study())] if name == "report-people" else ["--reference"]
        self._make(out, "report", *runs, *human, "--out", out)
        yield SiteAddress(f"{(self._folder / out).as_uri()}#")

    @contextmanager
    def _figures(self, name: str) -> Iterator[SiteAddress]:
        runs = [f"runs/knolling-builtin-{model}" for model in MODELS]
        human = ["--human", str(self._rated_study())]
        self._make(f"{name}/svg", "report", *runs, *human, "--figures", f"{name}/svg", "--figures-as", "svg")
        self._make(f"{name}/census", "census", "natural", "--figures", f"{name}/census", "--figures-as", "svg")
        figures = [path for path in sorted((self._folder / name).rglob("*.svg")) if "classes" not in path.name]
        images = "".join(f'<img src="{path.as_uri()}">' for path in figures)
        style = "body{columns:3;column-gap:12px;margin:12px;background:#e9e6df}img{width:100%;background:#fff}"
        page = self._folder / name / "index.html"
        page.write_text(f"<!doctype html><style>{style}</style>{images}", encoding="utf-8")
        yield SiteAddress(f"{page.as_uri()}#")

    @contextmanager
    def _notebook(self, name: str) -> Iterator[SiteAddress]:
        page = self._folder / f"{name}.html"
        page.write_text(notebook_page(self._folder / name), encoding="utf-8")
        yield SiteAddress(f"{page.as_uri()}#")

    @contextmanager
    def _review(self, name: str) -> Iterator[SiteAddress]:
        queue = f"{name}.jsonl"
        self._make(queue, "review", "export", "cf-world", "--out", queue)
        first = json.loads((self._folder / queue).read_text(encoding="utf-8").partition("\n")[0])
        with self._serving("items", "review", "open", queue) as printed:
            yield SiteAddress(_address(next(printed)), {"group": first["id"]})

    @contextmanager
    def _rating(self, name: str) -> Iterator[SiteAddress]:
        protocol, suite, models = _STUDIES[name]
        with ExitStack() as stack:
            scratch = stack.enter_context(_new_folder(self._folder / "studies", name))
            made = self._create_study(
                scratch, protocol, [f"{suite}-builtin-{model}" for model in models], name == "rating-instructions"
            )
            if name == "rating-progress":
                with open_study(made.folder) as study:
                    for rater, share in zip(made.links, (1.0, 0.7, 0.4), strict=False):
                        self._answer(study, rater, share)
            printed = stack.enter_context(self._serving("annotate", str(made.folder)))
            link = next(iter(made.links.values()))
            progress = next(line for line in printed if line.startswith("progress"))
            address = _address(progress.removeprefix("progress"))
            base = re.match(r"https?://[^/]+", address)
            assert base is not None
            yield SiteAddress(base[0], {"link": link, "progress": address.removeprefix(base[0])})

    def _rated_study(self) -> Path:
        """Return a study of all runs of Knolling that five raters have finished."""
        folder = self._folder / "studies" / "rated"
        if not folder.exists():
            with _new_folder(self._folder / "studies", "rated") as scratch:
                made = self._create_study(scratch, "likert", [f"knolling-builtin-{model}" for model in MODELS], False)
                with open_study(made.folder) as study:
                    for rater in made.links:
                        self._answer(study, rater, 1.0)
        return folder

    def _create_study(self, folder: Path, protocol: RatingProtocol, runs: list[str], instructions: bool) -> NewStudy:
        with ExitStack() as stack:
            opened = [stack.enter_context(closing(open_run(self._folder / "runs" / run))) for run in runs]
            return create_study(
                folder,
                opened,
                protocol,
                raters=5 if folder.name == "rated" else 3,
                per_image=3,
                per_level=4 if folder.name == "rated" else 1,
                checks=None if folder.name in ("rated", "rating-progress") else 0,
                rules=StudyRules(),
                instructions=instructions,
            )

    def _answer(self, study: Study, rater: str, share: float) -> None:
        """Let a simulated rater answer a share of the tasks: mostly as the judge did, and now and then not.

        An image beside the prompt of another item is an attention check, and gets one point.
        """
        images = self._judged_images()
        rng = random.Random(rater)
        while (task := study.next_task(rater)) is not None and task.number <= share * task.of:
            image = images[hashlib.sha256(study.image(rater, task.image)).hexdigest()]
            for step in task.steps:
                if step.kind != "likert":
                    raise ValueError(f"simulated raters give points, not {step.kind}")
                usual = (4, 5, 5, 5) if image.passed else (1, 2, 2, 3, 3, 4)
                points = rng.choice(usual) if image.prompt in task.words else 1
                study.answer(rater, task.id, step.name, points, rng.uniform(4, 20))
            study.finish(rater, task.id)

    def _judged_images(self) -> dict[str, JudgedImage]:
        """Return the images of all runs, by their digests."""
        found: dict[str, JudgedImage] = {}
        for planned in RUNS:
            folder = self._folder / planned.folder
            lines = (folder / "images" / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
            with closing(open_run(folder)) as run:
                passed = {it.item for it in run.outcomes() if it.passed}
            for row in map(json.loads, lines):
                found[row["sha256"]] = JudgedImage(row["prompt"], row["item"] in passed)
        return found

    def _make_runs(self, runs: Iterable[PlannedRun]) -> None:
        for planned in runs:
            self._make(planned.folder, "run", *planned.arguments, "--out", planned.folder)
            folder = self._folder / planned.folder
            manifest = folder / "run.toml"
            text = re.sub(r'(?<=created = ")[^"]+', planned.made_at, manifest.read_text(encoding="utf-8"))
            manifest.write_text(text, encoding="utf-8")
            write_tags(folder, planned.tags, planned.note, version=read_tags(folder).version)

    def _make(self, made: str, *arguments: str) -> None:
        """Run a command, unless what it makes is there."""
        if not (self._folder / made).exists():
            subprocess.run([sys.executable, "-m", "formalimg", *arguments], cwd=self._folder, check=True)

    @contextmanager
    def _serving(self, *arguments: str) -> Iterator[Iterator[str]]:
        """Run a command that serves a site on a free port, and give the lines that it prints."""
        command = [sys.executable, "-m", "formalimg", *arguments, "--no-browser", "--port", "0"]
        server = subprocess.Popen(command, cwd=self._folder, stdout=subprocess.PIPE, text=True)
        try:
            yield _lines(server.stdout)
        finally:
            server.terminate()
            server.wait()


class _ViewedRuns(NamedTuple):
    """The folder that a viewer shows, and the runs in it."""

    folder: str
    runs: tuple[PlannedRun, ...]


_VIEWED: Mapping[str, _ViewedRuns] = {
    "viewer": _ViewedRuns("runs", RUNS),
    "viewer-many": _ViewedRuns("many", MANY_RUNS),
    "viewer-learned": _ViewedRuns("learned", LEARNED_RUNS),
}

_STUDIES: Mapping[str, tuple[RatingProtocol, str, tuple[str, ...]]] = {
    "rating-points": ("likert", "knolling", ("reader",)),
    "rating-pairs": ("ab", "knolling", ("reader", "oracle")),
    "rating-questions": ("questions", "conceptmix", ("reader",)),
    "rating-boxes": ("boxes", "knolling", ("reader",)),
    "rating-instructions": ("likert", "knolling", ("reader",)),
    "rating-progress": ("likert", "knolling", ("reader",)),
}
"""The protocol of each study, and the runs whose images are rated."""


@contextmanager
def _new_folder(parent: Path, name: str) -> Iterator[Path]:
    """Give the path of a study that is made anew each time: its links are stored nowhere."""
    folder = parent / name
    if folder.exists():
        subprocess.run(["rm", "-r", str(folder)], check=True)
    parent.mkdir(exist_ok=True)
    yield folder


def _lines(stream: IO[str] | None) -> Iterator[str]:
    assert stream is not None
    for line in stream:
        yield line.strip()


def _address(line: str) -> str:
    return line.split()[0].rstrip("/")
