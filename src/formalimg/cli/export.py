"""`formalimg export`: export a suite, its prompts, training files or a run."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.registry import suite_names
from formalimg.cli.commands import argument, option
from formalimg.cli.options import MAX_COUNT, read_levels
from formalimg.cli.streams import echo, print_data
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.benchmarks.conditions import PromptFormat
    from formalimg.benchmarks.export.splits import SplitBy, Trainer
    from formalimg.types import Item


StyleName: TypeAlias = Literal["auto", "long", "short", "none"]
_FORMATS: Mapping[str, PromptFormat] = {"txt": "txt", "jsonl": "jsonl", "csv": "csv"}


def export_command(
    source: Annotated[str, argument("SUITE|RUN", "A suite, or a run folder.")],
    out: Annotated[
        Path | None,
        option(
            "PATH",
            "The folder to write to; for a run, it may hold other models already. With --prompts-only, a file. "
            "Default then: standard output.",
        ),
    ] = None,
    prompts_only: Annotated[
        bool, option("--prompts-only", "Suite: only the prompts, with a file name for the image of each.")
    ] = False,
    trainer: Annotated[
        Literal["flow_grpo", "flow-factory", "verl-omni", "trl"] | None,
        option("Suite: train and test files in the format of this RL trainer."),
    ] = None,
    split: Annotated[
        Literal["formula", "class-pair", "relation"] | None,
        option("Trainer: what train and test must not have in common. Default: formula."),
    ] = None,
    form: Annotated[
        Literal["txt", "jsonl", "csv"] | None,
        option("--format", "Prompts: form of the file. Default: by its ending, or else jsonl."),
    ] = None,
    style: Annotated[
        StyleName,
        option(
            "Prompts: style text in front. auto: long where the suite has one; none for a trainer, whose text "
            "encoder may read few words."
        ),
    ] = "auto",
    levels: Annotated[str | None, option("LEVELS", "Prompts: only of these levels.")] = None,
    per_level: Annotated[
        int | None, option("N", "Prompts: only the first N of each level.", min=1, max=MAX_COUNT)
    ] = None,
    samples: Annotated[int, option("N", "Prompts: how many images of each.", min=1, max=MAX_COUNT)] = 1,
    items: Annotated[
        Path | None, option("PATH", "Suite: load the items from here. Default: the suite shipped with formalimg.")
    ] = None,
    published: Annotated[
        bool, option("--published", "Suite: also write DIR/published, in the format of the authors' files.")
    ] = False,
    licence: Annotated[
        str, option("--license LICENCE", "Suite: licence of your own items; an SPDX id such as CC-BY-4.0, or a URL.")
    ] = "",
    creator: Annotated[str, option("NAME", "Suite: creator of your own items.")] = "",
    made: Annotated[str, option("SENTENCE", "Suite: how your own items were made, in a sentence.")] = "",
    url: Annotated[str, option("URL", "Suite: where it will be published.")] = "",
    date: Annotated[str, option("DATE", "Suite: date of publication, as in 2026-01-31.")] = "",
    name: Annotated[
        str | None, option("NAME", "Run: name of the model in the export. Default: the name of the run folder.")
    ] = None,
    judge: Annotated[
        str | None,
        option("JUDGE", "Run: the judge whose verdicts are exported, by name or by number. Default: the last."),
    ] = None,
) -> None:
    """Export a suite with metadata, its prompts, files for a trainer, or a run in the layout of its authors.

    --prompts-only is for images that are made elsewhere: put them into a folder under the names in the column file,
    and judge them with `formalimg run SUITE --model folder/DIR`.

    --trainer writes train and test files whose rows say by what an image is rewarded. What cannot go to either side of
    a --split is counted.

    A suite becomes a folder with items.jsonl, DATASHEET.md, croissant.json, LICENSE.md and README.md, which
    datasets.load_dataset reads. A run becomes images with verdicts or scores, in the files and places of the published
    scripts of its benchmark.
    """
    of_suites: dict[str, object] = {
        "--items": items,
        "--published": published,
        "--license": licence,
        "--creator": creator,
        "--made": made,
        "--url": url,
        "--date": date,
    }
    of_prompts: dict[str, object] = {
        "--prompts-only": prompts_only,
        "--format": form,
        "--style": style != "auto",
        "--levels": levels,
        "--per-level": per_level,
        "--samples": samples > 1,
    }
    selection = _ItemSelection(source, items, levels, per_level, samples)
    if source in suite_names() and trainer is not None:
        _refuse(
            "files for a trainer",
            {**of_suites, "--items": None, "--prompts-only": prompts_only, "--format": form, "--name": name}
            | {"--judge": judge, "--samples": samples > 1},
        )
        _export_for_trainer(selection, _require_out(out), trainer, split or "formula", style)
    elif split is not None:
        raise FormalimgError("--split is for train and test files: add --trainer")
    elif source in suite_names() and prompts_only:
        _refuse("prompts", {**of_suites, "--items": None, "--name": name, "--judge": judge})
        _export_prompts(selection, out, form, style)
    elif source in suite_names():
        _refuse("a suite", {"--name": name, "--judge": judge})
        _refuse("a suite without --prompts-only", of_prompts)
        _export_suite(source, _require_out(out), items, published, (licence, creator, made, url, date))
    elif Path(source).is_dir():
        _refuse("a run", of_suites | of_prompts | {"--trainer": trainer})
        _export_run(Path(source), _require_out(out), name, judge)
    else:
        raise FormalimgError(
            f"{source} is neither a suite nor a run folder: check the path, or name one of {', '.join(suite_names())}"
        )


def _require_out(out: Path | None) -> Path:
    if out is None:
        raise FormalimgError("say where to export to: add --out DIR")
    return out


class _ItemSelection(NamedTuple):
    """The images selected from a suite by `--items`, `--levels`, `--per-level` and `--samples`."""

    suite: str
    items: Path | None
    levels: str | None
    per_level: int | None
    samples: int

    def load(self) -> list[Item[Any]]:
        from formalimg.benchmarks.loader import load
        from formalimg.runs.plan import Selection

        levels = None if self.levels is None else read_levels(self.levels)
        return list(Selection(levels, self.per_level).of(load(self.suite, self.items)).values())

    def arguments(self) -> str:
        """Return the selection as arguments of `formalimg run`."""
        arguments = [self.suite]
        arguments += ["--items", str(self.items)] if self.items else []
        arguments += ["--levels", self.levels] if self.levels else []
        arguments += ["--per-level", str(self.per_level)] if self.per_level else []
        arguments += ["--samples", str(self.samples)] if self.samples > 1 else []
        return shlex.join(arguments)


def _write_new(texts: Mapping[Path, str]) -> None:
    """Write files unless one of them exists with different content."""
    from formalimg._util.io import atomic_write_text, read_text

    for path, text in texts.items():
        if path.exists() and read_text(path) != text:
            raise FormalimgError(f"{path} exists with different content: choose another --out")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(path, text)


def _export_prompts(selection: _ItemSelection, out: Path | None, form: PromptFormat | None, style: StyleName) -> None:
    from formalimg.benchmarks.conditions import format_prompts, prompt_rows
    from formalimg.reports.tables.format import count_noun

    rows = list(prompt_rows(selection.load(), style=style, samples=selection.samples))
    suffix = "" if out is None else out.suffix.lower().removeprefix(".")
    text = format_prompts(rows, form or _FORMATS.get(suffix, "jsonl"))
    if out is None:
        print_data(text)
        return
    if out.is_dir():
        raise FormalimgError(f"{out} is a folder: name a file for the prompts, as in {out / 'prompts.jsonl'}")
    _write_new({out: text})
    echo(f"{count_noun(len(rows), 'prompt')} in {out}: put an image for each into one folder, under its name in `file`")
    echo(f"then judge them with: formalimg run {selection.arguments()} --model folder/DIR --judge JUDGE")


def _export_for_trainer(selection: _ItemSelection, out: Path, trainer: Trainer, by: SplitBy, style: StyleName) -> None:
    from formalimg.benchmarks.export.splits import can_be_scored, split_items, trainer_files
    from formalimg.benchmarks.registry import suite
    from formalimg.reports.tables.format import count_noun

    items = selection.load()
    scored = [item for item in items if can_be_scored(item)]
    split = split_items(scored, by)
    texts = trainer_files(split, trainer, "none" if style == "auto" else style)
    _write_new({out / file: text for file, text in texts.items()})
    sides = f"{count_noun(len(split.train), 'item')} to train on and {len(split.test):,} to test with"
    echo(f"{sides} in {out}: {', '.join(texts)}")
    if split.left_out:
        shared = {"class-pair": "pairs of classes", "relation": "relations"}.get(by, "formulas")
        echo(f"{len(split.left_out):,} of {len(scored):,} left out: they have {shared} of both sides")
    if len(scored) < len(items):
        echo(f"{len(items) - len(scored):,} left out: nothing can be scored by them")
    counts = sorted(Counter(item.level for item in split.test).items())
    echo(f"test items by {suite(selection.suite).level}: {', '.join(f'{level}: {n:,}' for level, n in counts)}")


def _export_suite(
    name: str, out: Path, items: Path | None, published: bool, imprint: tuple[str, str, str, str, str]
) -> None:
    from formalimg.benchmarks.export.suite_export import (
        PublisherInfo,  # here, so that other commands start faster
        export_suite,
    )

    done = export_suite(name, out, items=items, published=published, imprint=PublisherInfo(*imprint))
    echo(f"{done.items:,} items of {name} in {done.folder}, licence {done.licence}: {', '.join(done.files)}")
    if done.missing:
        echo(f"before you publish croissant.json, it needs: {', '.join(done.missing)}")


def _export_run(run: Path, out: Path, name: str | None, judge: str | None) -> None:
    from formalimg.cli.output import open_runs
    from formalimg.reports.published import export_run
    from formalimg.reports.tables.format import join_names

    called = name or run.resolve().name
    with open_runs([run], judge) as (opened,):
        done = export_run(opened, out, called)
        chosen, judges = opened.manifest.judge, opened.judges()
    if chosen is not None and len(judges) > 1:
        names = join_names(
            [f"{number} {identity.name}" for number, identity in enumerate(judges, 1) if identity != chosen]
        )
        echo(f"verdicts of {chosen.name}; the run has others, see --judge: {names}")
    echo(f"{done.images:,} images in {done.folder}, {done.scored:,} with scores")
    for reason, count in sorted(done.without.items()):
        echo(f"{count:,} without scores: {reason}")


def _refuse(target: str, options: Mapping[str, object]) -> None:
    """Raise an error if an option of a different kind of export is set."""
    unsupported = [option for option, value in options.items() if value]
    if unsupported:
        raise FormalimgError(f"an export of {target} has no {unsupported[0]}: leave it out")
