"""What is run for the golden files: command lines, and who answers the chat models' questions in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.golden.capture import RUNS, SERVER, Author, judge, write_concepts, write_formulas, write_worlds

_PAINTER = ("-m", "openai/painter", "-M", SERVER, "--size", "64")
_ITEMS = RUNS / "written-cf-world" / "items.jsonl"
_PLANNED = ("--task", "layout", "--levels", "1-2", "--per-level", "2")
_WRITER = ("-m", "openai/writer", "-M", SERVER, "-M", "concurrency=1")


@dataclass(frozen=True)
class Scenario:
    """A command that fills a folder of its own name.

    Attributes:
        name: the folder.
        command: without `--out`.
        author: who answers when golden files are made.
        files: what lies beside the folder.
        is_run: is it a run folder, so that it can be reported?
    """

    name: str
    command: tuple[str, ...]
    author: Author = judge
    files: Mapping[str, str] = field(default_factory=dict)
    is_run: bool = True

    @property
    def arguments(self) -> tuple[str, ...]:
        """The whole command line."""
        return (*self.command, "--out", self.name)


def _judged(suite: str, *more: str, second: tuple[str, ...] = ()) -> tuple[str, ...]:
    judges = ["-j", "openai/looker", "-J", SERVER]
    if second:
        judges += ["-j", "openai/watcher"]
        for option in second:
            judges += ["-J", f"2:{option}"]
    return ("run", suite, *_PAINTER, *judges, *more)


SCENARIOS = (
    Scenario(
        "knolling",
        (
            "run",
            "knolling",
            "--items",
            "@1",
            "-m",
            "builtin/reader",
            "--levels",
            "1-3",
            "--per-level",
            "3",
            "--size",
            "256",
        ),
    ),
    Scenario(
        "knolling-grounded",
        _judged(
            "knolling",
            "--items",
            "@1",
            "--levels",
            "1,4",
            "--per-level",
            "3",
            second=("requests=all-at-once", "boxes=pixels"),
        ),
    ),
    Scenario(
        "knolling-text-layout",
        _judged("knolling", "--items", "@1", "--levels", "2", "--per-level", "2", "--condition", "text-layout"),
    ),
    Scenario(
        "knolling-image-layout",
        _judged(
            "knolling",
            "--items",
            "@1",
            "--levels",
            "2",
            "--per-level",
            "2",
            "--condition",
            "image-layout",
            "--words",
            "without",
        ),
    ),
    Scenario(
        "knolling-planned",
        (
            *[
                "run",
                "knolling",
                "--items",
                "@1",
                "--task",
                "layout",
                "--levels",
                "1-2",
                "--per-level",
                "2",
                "-m",
                "openai/planner",
                "-M",
            ],
            SERVER,
        ),
    ),
    Scenario(
        "natural",
        _judged("natural", "--items", "@1", "--levels", "1,5", "--per-level", "3", second=("answers=published",)),
    ),
    Scenario(
        "conceptmix",
        _judged(
            "conceptmix",
            *["--items", "@1", "--levels", "1-3", "--per-level", "4", "--samples", "2"],
            second=("requests=all-at-once",),
        ),
    ),
    Scenario(
        "cf-world",
        _judged("cf-world", "--items", "@1", "--per-level", "4", second=("answers=published", "persona=strict")),
    ),
    Scenario("cf-world-rules", _judged("cf-world-rules", "--per-level", "2")),
    Scenario("cf-world-attributes", _judged("cf-world-attributes", "--per-level", "2")),
    Scenario("cf-world-denominalised", _judged("cf-world-denominalised", "--items", "@1", "--per-level", "2")),
    Scenario(
        "written-knolling",
        ("items", "write", "knolling", *_WRITER, "--levels", "1-2", "--per-level", "1"),
        write_formulas,
        is_run=False,
    ),
    Scenario(
        "written-natural",
        ("items", "write", "natural", *_WRITER, "--levels", "1-2", "--per-level", "1"),
        write_formulas,
        is_run=False,
    ),
    Scenario(
        "written-conceptmix",
        ("items", "write", "conceptmix", *_WRITER, "--levels", "1,3", "--per-level", "1"),
        write_concepts,
        is_run=False,
    ),
    Scenario(
        "written-conceptmix-official",
        (
            "items",
            "write",
            "conceptmix",
            *_WRITER,
            *["--levels", "2", "--per-level", "1", "--profile", "official-code", "--questions", "template"],
        ),
        write_concepts,
        is_run=False,
    ),
    Scenario(
        "written-cf-world",
        ("items", "write", "cf-world", *_WRITER, "--laws", "laws.txt", "--questions", "model", "--attempts", "2"),
        write_worlds,
        {
            "laws.txt": "On a seesaw, a rider counts for more the farther out the rider sits. | physics | mechanics\n",
        },
        is_run=False,
    ),
    Scenario(
        "written-pairs",
        ("items", "write", "cf-world", *_WRITER, "--task", "pairs", "--per-level", "1"),
        write_worlds,
        is_run=False,
    ),
    Scenario(
        "written-denominalised",
        ("items", "write", "cf-world", *_WRITER, "--task", "denominalise", "--items", "items.jsonl"),
        write_worlds,
        {"items.jsonl": _ITEMS.read_text(encoding="utf-8") if _ITEMS.is_file() else ""},
        is_run=False,
    ),
    Scenario(
        "captions-in-words",
        ("items", "captions", "captions.txt", "-m", "openai/reader", "-M", SERVER, "-M", "schema=none"),
        files={"captions.txt": "a red cat\n\ntwo dogs\nhello\n"},
        is_run=False,
    ),
    Scenario(
        "captions",
        ("items", "captions", "captions.txt", "-m", "openai/reader", "-M", SERVER),
        files={"captions.txt": "a red cat\n\ntwo dogs\nhello\n"},
        is_run=False,
    ),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
RUN_NAMES = tuple(scenario.name for scenario in SCENARIOS if scenario.is_run)

_LONG = ("conceptmix", "--items", "@1", *_PAINTER, "-M", "concurrency=1", "--levels", "1-2", "--per-level", "4")
_PAID = ("-j", "openai/gpt-4o", "-J", SERVER, "-J", "concurrency=1")
INTERRUPTED = (
    ("run", "--no-judge", *_LONG, "--out", "interrupted", "--budget", "0.0045"),
    ("judge", "interrupted", *_PAID, "--budget", "0.0065"),
)
"""Commands whose budget ends before they are done."""

GOES_ON = ("run", *_LONG, *_PAID, "--out", "interrupted", "--budget", "9")
"""What brings it to its end."""

PRICES = '[prices]\n"openai/painter" = { image = 0.001 }\n'
"""Nobody knows what the painter costs unless a file says so."""
