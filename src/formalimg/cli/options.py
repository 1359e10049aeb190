"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from formalimg.errors import FormalimgError

SuiteName = Annotated[
    str,
    typer.Argument(
        metavar="SUITE",
        help="The benchmark: knolling, natural, conceptmix, cf-world, or one of its probes cf-world-rules, "
        "cf-world-attributes, cf-world-denominalised.",
        show_default=False,
    ),
]
ModelNames = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="The image model, as in builtin/reader, openai/gpt-image-2, diffusers/PATH, folder/PATH; "
        "`formalimg models` lists the providers. Several make several runs.",
        show_default=False,
    ),
]
ModelOptions = Annotated[
    list[str] | None, typer.Option("-M", metavar="KEY=VALUE", help="An option of the image model.", show_default=False)
]
JudgeNames = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="JUDGE",
        help="Who judges: builtin/icons, detector/MODEL, or a chat model; several look at the same images, one after "
        "the other. Default: the judge that works offline.",
        show_default=False,
    ),
]
JudgeOptions = Annotated[
    list[str] | None,
    typer.Option(
        "-J",
        metavar="[N:]KEY=VALUE",
        help="An option of the judge; of several, of the n-th alone with N: in front.",
        show_default=False,
    ),
]
ItemsPath = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Items from here. Default: the suite that ships with formalimg.")
]
Levels = Annotated[str | None, typer.Option(metavar="LEVELS", help="Which levels, as in 1-10 or 1,2,5. Default: all.")]
PerLevel = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="The first so many items of each level. Default: all.")
]
Samples = Annotated[int, typer.Option(min=1, metavar="N", help="Images per item, each with a seed of its own.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Another seed, other images, from models that can be seeded.")]
Size = Annotated[int, typer.Option(min=64, max=4096, metavar="PIXELS", help="Width and height to ask for, in pixels.")]
Task = Annotated[
    Literal["image", "layout"],
    typer.Option(help="layout: chat models (or builtin/solver) plan a layout in place of an image."),
]
ConditionName = Annotated[
    Literal["plain", "text-layout", "image-layout"],
    typer.Option(help="Give the model a layout beside the words: as text, or as an image."),
]
Words = Annotated[Literal["with", "without"], typer.Option(help="without: the layout alone, the words left out.")]
Style = Annotated[
    Literal["auto", "long", "short", "none"],
    typer.Option(help="The text on the knolling style in front of the words. auto: what the model can take."),
]
Layouts = Annotated[
    str,
    typer.Option(metavar="solver|RUN", help="Where layouts come from: the solver, or a run of the layout task."),
]
Prompts = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="A folder of texts of your own, which replace ours of the same name."),
]
Budget = Annotated[
    float | None,
    typer.Option(min=0, metavar="DOLLARS", help="Stop, resumably, when this run folder has cost so much in all."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be asked, how often, and about what it costs; do nothing.")
]
ConceptsFolder = Annotated[
    Path | None,
    typer.Option(
        "--concepts", metavar="DIR", help="ConceptMix: concepts of your own, as <category>.toml or .json in a folder."
    ),
]
OnlyCategory = Annotated[
    Literal["object", "color", "number", "shape", "size", "texture", "spatial", "style"] | None,
    typer.Option("--only", help="ConceptMix: only concepts of this category, besides objects."),
]
DifficultyName = Annotated[
    Literal["easy", "hard"] | None,
    typer.Option("--difficulty", help="ConceptMix: only concepts known to be easy or hard, where any are."),
]
ProfileName = Annotated[
    Literal["paper", "official-code"],
    typer.Option("--profile", help="Whose rules hold where a paper and its published code differ."),
]
EngineName = Annotated[
    Literal["local", "ray"],
    typer.Option(help="Where the work is done: in this process, or by workers on the machines of a Ray cluster."),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="auto|local|HOST:PORT",
        help="Ray: the cluster. auto: the one this machine is part of; local: one on this machine, for this command.",
        show_default="auto",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Ray: how many workers, each with the model and the judge. Default: as many as fit."
    ),
]
GpusPerWorker = Annotated[
    float | None,
    typer.Option(min=0, metavar="N", help="Ray: GPUs for each worker, or a part of one.", show_default="0"),
]
CpusPerWorker = Annotated[
    float | None,
    typer.Option(
        min=0, metavar="N", help="Ray: CPUs for each worker; 0 if it waits for servers only.", show_default="1"
    ),
]
RunsFolder = Annotated[
    Path, typer.Option("--runs", metavar="DIR", help="The folder that holds the runs, one folder for each.")
]
Images = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Keep images on an object store, as in s3://bucket/place: each run in a folder of its own there. Needs "
        "formalimg[stores]. Default: in the run folder.",
        show_default=False,
    ),
]
RunFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="The run folder. Default: named after suite and model, in --runs."),
]


def read_options(given: Sequence[str] | None) -> dict[str, str]:
    """Options written as `key=value`."""
    found: dict[str, str] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise FormalimgError(f"cannot read the option {text!r}: write key=value")
        found[key] = value
    return found


def options_of(given: Sequence[str] | None, number: int, judges: int) -> dict[str, str]:
    """Those of the options of so many judges that are for the judge of this number, counted from 1."""
    parted = [(found[1], found[2]) for text in given or () if (found := _FOR_ONE.fullmatch(text))]
    strange = next((who for who, _ in parted if who is not None and int(who) > judges), None)
    if strange is not None:
        raise FormalimgError(
            f"-J {strange}:… is for judge number {strange}, but there are {judges}: name it with --judge"
        )
    return read_options([text for who, text in parted if who in (None, str(number))])


_FOR_ONE = re.compile(r"(?:([1-9]):)?(.*)", re.DOTALL)
"""An option, perhaps with the number of the judge it is for."""


def read_levels(text: str) -> tuple[int, ...]:
    """The levels that a text such as `1-3,7` names."""
    if not re.fullmatch(r"[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*", text):
        raise FormalimgError(f"cannot read the levels {text!r}: write them as 1-10 or 1,2,5, none above 9999")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if last and int(last) < int(first):
            raise FormalimgError(f"cannot read the levels {text!r}: {first} is larger than {last}")
        found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))
