"""The command line: one file per command, each a thin layer over the library.

Exit codes, for every command: 0 fine or holds, 1 problems found or does not hold, 2 wrong use or unreadable input.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from formalimg import __version__
from formalimg.cli.agree import agree_command
from formalimg.cli.annotate import annotate_command
from formalimg.cli.calibrate import calibrate_command
from formalimg.cli.captions import captions_command
from formalimg.cli.census import census_command
from formalimg.cli.certify import certify_command
from formalimg.cli.check import check_command
from formalimg.cli.diagnose import diagnose_command
from formalimg.cli.doctor import doctor_command
from formalimg.cli.export import export_command
from formalimg.cli.judge import judge_command
from formalimg.cli.models import models_command
from formalimg.cli.pull import pull_command
from formalimg.cli.report import report_command
from formalimg.cli.review import review_app
from formalimg.cli.run import generate_command, run_command
from formalimg.cli.serve import serve_command
from formalimg.cli.show import show_command
from formalimg.cli.solve import solve_command
from formalimg.cli.synth import synth_command
from formalimg.cli.verify import verify_command
from formalimg.cli.view import view_command
from formalimg.cli.vocabulary import vocabulary_command
from formalimg.cli.write import write_command
from formalimg.errors import FormalimgError

app = typer.Typer(
    name="formalimg",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command("run")(run_command)
app.command("generate")(generate_command)
app.command("judge")(judge_command)
app.command("report")(report_command)
app.command("view")(view_command)
app.command("annotate")(annotate_command)
app.command("serve")(serve_command)
app.command("agree")(agree_command)
app.command("calibrate")(calibrate_command)
app.command("diagnose")(diagnose_command)
app.command("export")(export_command)
app.command("check")(check_command)
app.command("verify")(verify_command)
app.command("solve")(solve_command)
app.command("synth")(synth_command)
app.command("write")(write_command)
app.add_typer(review_app, name="review")
app.command("show")(show_command)
app.command("census")(census_command)
app.command("captions")(captions_command)
app.command("pull")(pull_command)
app.command("vocabulary")(vocabulary_command)
app.command("models")(models_command)
app.command("certify")(certify_command)
app.command("doctor")(doctor_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"formalimg {__version__}")
        raise typer.Exit


@app.callback()
def _formalimg(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Formal, verifiable evaluation of text-to-image models."""


def main() -> None:
    """Run the command line: mistakes of the user end in one clear message, bugs keep their traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✓ shows a ? instead of failing
    # Our arrays are small: several threads for each would only be in each other's way. To be set before numpy loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        app()
    except FormalimgError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as ending:
        # The reader has seen enough, as in `formalimg … | head`: typer would call that 1, which has a meaning here.
        if isinstance(ending.__context__, BrokenPipeError):
            sys.stderr.close()
            sys.exit(141)
        raise
