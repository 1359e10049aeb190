"""`formalimg gate`: fail a pipeline unless a model is no worse than a baseline."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formalimg.cli.commands import argument, option
from formalimg.cli.comparisons import ExcludeInattentive, HumanRatingFiles, LabelFiles, read_human_ratings
from formalimg.cli.streams import echo, print_data
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.reports.gate import Gate


def gate_command(
    new: Annotated[Path, argument("NEW", "The run folder of the new model.")],
    against: Annotated[Path, option("BASE", "The run folder of the baseline.")],
    margin: Annotated[float, option("POINTS", "The loss that is tolerated, in points of 100.", min=0.1, max=50)] = 2.0,
    looks: Annotated[
        int | None,
        option(
            "N",
            "Decide after each of N batches: each call with more items is one look, stored in NEW. Default: look once.",
            min=1,
            max=40,
        ),
    ] = None,
    human: HumanRatingFiles = None,
    labels: LabelFiles = None,
    exclude_inattentive: ExcludeInattentive = None,
    json_file: Annotated[
        Path | None, option("--json FILE", "Write the decision, or why there is none, as JSON; - for standard output.")
    ] = None,
) -> None:
    """Test that a new run is no worse than a baseline by more than a margin, for continuous integration.

    Exit codes: 0 passes, 1 is worse by more than the margin, 2 cannot tell yet. Wrong usage is 2 as well: it prints
    an error, and no line that begins with `gate:`.
    """
    try:
        if not human and exclude_inattentive is not None:
            raise FormalimgError("--exclude-inattentive applies to a rating study: give it with --human")
        gate = _decide(new, against, margin / 100, looks, human or [], labels or [], exclude_inattentive)
    except FormalimgError as error:
        if json_file is not None:
            from formalimg.cli.application import error_text

            _write(json_file, {"schema": 1, "gate": "error", "exit_code": 2, "error": error_text(error)})
        raise
    for note in gate.notes:
        echo(f"note: {note}", err=True)
    echo(gate.line(), err=json_file == Path("-"))
    if json_file is not None:
        _write(json_file, gate.record())
    raise typer.Exit(gate.exit_code)


def _decide(
    new: Path,
    against: Path,
    margin: float,
    looks: int | None,
    human: list[Path],
    labels: list[Path],
    exclude_inattentive: float | None,
) -> Gate:
    from formalimg.reports.gate import decide_runs
    from formalimg.runs.reader import open_run

    with ExitStack() as opened:
        first, second = (opened.enter_context(closing(open_run(folder))) for folder in (new, against))
        judge = first.manifest.judge
        if judge is not None and judge in second.judges():  # another one may have judged the baseline since
            second = opened.enter_context(closing(open_run(against, judge)))
        read = read_human_ratings([new, against], human, labels, exclude_inattentive, "paper")
        names = (str(new), str(against))
        return decide_runs(first, second, margin, names=names, labels=read.labels, looks=looks)


def _write(path: Path, record: dict[str, Any]) -> None:
    from formalimg._util.io import atomic_write_text

    text = f"{json.dumps(record, indent=2, ensure_ascii=False)}\n"
    if path == Path("-"):
        print_data(text)
    else:
        atomic_write_text(path, text)
