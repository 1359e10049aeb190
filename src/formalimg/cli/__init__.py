"""The command line: one file per command, each a thin layer over the library.

Exit codes of every command: 0 success, or the formula holds; 1 problems found, or it does not hold; 2 wrong usage or
unreadable input; 130 interrupted or over budget.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

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
from formalimg.cli.help_groups import GroupedCommand, GroupedCommands
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
    cls=GroupedCommands,
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: boxes leave little room, and markup would swallow formalimg[web]
)

_RUN, _AUTHOR, _JUDGE, _TOOLS = "Run and look", "Author items", "Judge quality", "Tools"


def _register(
    section: str, name: str, command: Callable[..., None], example: str = "", short_help: str | None = None
) -> None:
    """Add a command under a heading of `formalimg --help`, with an example below its own help."""
    epilog = f"Example: formalimg {example}" if example else None
    app.command(name, cls=GroupedCommand, epilog=epilog, short_help=short_help, rich_help_panel=section)(command)


_register(_RUN, "run", run_command, "run knolling --model builtin/reader --per-level 20")
_register(_RUN, "generate", generate_command, "generate natural --model openai/gpt-image-2 --dry-run")
_register(_RUN, "judge", judge_command, "judge runs/a --judge gemini/gemini-3-pro-preview")
_register(_RUN, "report", report_command, "report runs/* --out report.html")
_register(_RUN, "view", view_command, "view runs")
_register(_RUN, "show", show_command, "show knolling/1207 --draw item.png")
_register(_RUN, "diagnose", diagnose_command, "diagnose runs/cf-world*")
_register(_RUN, "serve", serve_command, "serve --root images")
_register(_AUTHOR, "synth", synth_command, "synth knolling --levels 1-3 --per-level 10 --out my-suite")
_register(_AUTHOR, "write", write_command, "write natural --model openai/gpt-5 --out my-suite --dry-run")
app.add_typer(
    review_app, name="review", short_help="Accept or reject written CF-World groups.", rich_help_panel=_AUTHOR
)
_register(_AUTHOR, "census", census_command, "census natural")
_register(_AUTHOR, "captions", captions_command, "captions captions.txt")
_register(_AUTHOR, "export", export_command, "export knolling --out my-suite")
_register(_AUTHOR, "pull", pull_command, "pull formalimg --to published")
_register(
    _JUDGE,
    "agree",
    agree_command,
    "agree runs/a --ratings studies/a-likert",
    short_help="Measure agreement between judges, and with human ratings.",
)
_register(
    _JUDGE,
    "annotate",
    annotate_command,
    "annotate runs/a --protocol likert",
    short_help="Collect human ratings of images in the browser.",
)
_register(_JUDGE, "calibrate", calibrate_command, "calibrate runs/a --labels labels.csv")
_register(_JUDGE, "certify", certify_command, "certify --scenes 10")
_register(_TOOLS, "check", check_command, "check my.formula")
_register(_TOOLS, "verify", verify_command, "verify --formula my.formula --scene scene.json --explain")
_register(_TOOLS, "solve", solve_command, "solve --formula \"(exists ?x (Is ?x 'cup'))\"")
_register(_TOOLS, "vocabulary", vocabulary_command, "vocabulary knolling")
_register(_TOOLS, "models", models_command)
_register(_TOOLS, "doctor", doctor_command)


def _show_version(requested: bool) -> None:
    if requested:
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
    """Run the command line: user errors print one clear message and exit with 2, bugs keep their traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✓ shows a ? instead of failing
    # Our arrays are small: several threads for each would only be in each other's way. To be set before numpy loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        try:
            app()
        finally:
            if sys.stdout:
                sys.stdout.flush()  # here, where a failure can still be reported
    except FormalimgError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except (BrokenPipeError, SystemExit) as ending:
        # The reader has seen enough, as in `formalimg … | head`: typer would call that 1, which has a meaning here.
        if BrokenPipeError in (type(ending), type(ending.__context__)):
            _end_without_output(141)
        raise
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        if error.filename:
            print(f"error: cannot use {error.filename}: {error.strerror}", file=sys.stderr)
            sys.exit(2)
        print(f"error: cannot write: {error.strerror}", file=sys.stderr)
        _end_without_output(2)


_REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG}
"""Errors of the machine (permissions, full disk), which are not bugs."""


def _end_without_output(code: int) -> NoReturn:
    """Exit without letting the interpreter flush what could not be written."""
    if sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
