"""The command line: one file per command, each a thin layer over the library.

Exit codes, for every command: 0 fine or holds, 1 problems found or does not hold, 2 wrong use or unreadable input.
"""

from __future__ import annotations

import errno
import io
import os
import sys
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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: boxes leave little room for words, and markup would swallow formalimg[web]
)
app.command("run", epilog="Example: formalimg run knolling --model builtin/reader --per-level 20")(run_command)
app.command("generate", epilog="Example: formalimg generate natural --model openai/gpt-image-2 --dry-run")(
    generate_command
)
app.command("judge", epilog="Example: formalimg judge runs/a --judge gemini/gemini-3-pro-preview")(judge_command)
app.command("report", epilog="Example: formalimg report runs/* --out report.html")(report_command)
app.command("view", epilog="Example: formalimg view runs")(view_command)
app.command(
    "annotate",
    short_help="Let people judge images in the browser.",
    epilog="Example: formalimg annotate runs/a --protocol likert",
)(annotate_command)
app.command("serve", epilog="Example: formalimg serve --root images")(serve_command)
app.command(
    "agree",
    short_help="Tell how far judges agree, with each other and with people.",
    epilog="Example: formalimg agree runs/a --ratings studies/a-likert",
)(agree_command)
app.command("calibrate", epilog="Example: formalimg calibrate runs/a --labels labels.csv")(calibrate_command)
app.command("diagnose", epilog="Example: formalimg diagnose runs/cf-world*")(diagnose_command)
app.command("export", epilog="Example: formalimg export knolling --out my-suite")(export_command)
app.command("check", epilog="Example: formalimg check my.formula")(check_command)
app.command("verify", epilog="Example: formalimg verify --formula my.formula --scene scene.json --explain")(
    verify_command
)
app.command("solve", epilog="Example: formalimg solve --formula \"(exists ?x (Is ?x 'cup'))\"")(solve_command)
app.command("synth", epilog="Example: formalimg synth knolling --levels 1-3 --per-level 10 --out my-suite")(
    synth_command
)
app.command("write", epilog="Example: formalimg write natural --model openai/gpt-5 --out my-suite --dry-run")(
    write_command
)
app.add_typer(review_app, name="review", short_help="Let people decide which groups of CF-World are kept.")
app.command("show", epilog="Example: formalimg show knolling/1207 --draw item.png")(show_command)
app.command("census", epilog="Example: formalimg census natural")(census_command)
app.command("captions", epilog="Example: formalimg captions captions.txt")(captions_command)
app.command("pull", epilog="Example: formalimg pull formalimg --to published")(pull_command)
app.command("vocabulary", epilog="Example: formalimg vocabulary knolling")(vocabulary_command)
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
        try:
            app()
        finally:
            if sys.stdout:
                sys.stdout.flush()  # here, where it can still be told that it failed
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
"""What a machine says if it cannot do what it is asked to, which is nobody's bug."""


def _end_without_output(code: int) -> NoReturn:
    """End, and let the interpreter not try again to write what could not be written."""
    if sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
