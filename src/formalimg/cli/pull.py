"""`formalimg pull`: download a published benchmark."""

from __future__ import annotations

import shlex
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Annotated

from formalimg.benchmarks.download.source import source, source_names, suites_by_source
from formalimg.cli.commands import argument, option
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.benchmarks.download.pull import PullResult


def pull_command(
    benchmark: Annotated[
        str,
        argument("BENCHMARK", f"The benchmark: {', '.join(source_names())}; `formalimg suites` says for which suite."),
    ],
    to: Annotated[
        str | None,
        option(
            "--to DIR", "The folder to create. Default for --texts: where `run --protocol published` looks for them."
        ),
    ] = None,
    texts: Annotated[
        bool, option("--texts", "The authors' prompts for judges and writers, instead of the data.")
    ] = False,
    origin: Annotated[
        str | None,
        option(
            "--from PATH|URL",
            "Download from here: the address of a repository, a folder, or an archive (.zip, .tar.gz, .tgz). "
            "Default: the authors' repository.",
        ),
    ] = None,
    revision: Annotated[str | None, option("COMMIT", "Use this commit. Default: the one we tested against.")] = None,
) -> None:
    """Download the data of a published benchmark.

    Takes the authors' public repository at a pinned commit and keeps only its data files; with --texts, the prompts in
    their scripts, which `run --protocol published` then sends. No credentials are used and no downloaded code is run.
    Exit code 0: downloaded. 2: failed, and nothing was written.
    """
    from formalimg.benchmarks.download.pull import pull  # these here, so that other commands start faster
    from formalimg.benchmarks.download.texts import pull_texts

    signal.signal(signal.SIGTERM, _exit_on_sigterm)
    if texts:
        _show(pull_texts(benchmark, to, origin, revision))
        used_by = "formalimg run --protocol published"
        if to is not None:
            used_by = f"formalimg run --protocol published --prompts {shlex.quote(to)}"
        echo(f"used by  {used_by}")
    elif to is None:
        raise FormalimgError(f"the data needs a folder: give --to DIR, as in --to {source(benchmark).name}")
    else:
        _show(pulled := pull(benchmark, to, origin, revision))
        for suite in suites_by_source().get(benchmark, ()):
            echo(f"run      formalimg run {suite} --items {shlex.quote(str(pulled.folder))} --model MODEL")


def _show(pulled: PullResult) -> None:
    at = f" at {pulled.commit}" if pulled.commit else ""
    echo(pulled.source.title)
    echo(f"from     {pulled.origin}{at}")
    echo(f"licence  {pulled.source.licence}")
    echo(f"kept     {pulled.files:,} files, {pulled.bytes:,} bytes, {pulled.digest}")
    echo(f"in       {pulled.folder}")
    if not pulled.verified_by:
        echo("note: these files are not verified against the pinned commit; pull without --from to verify", err=True)


def _exit_on_sigterm(_signal: int, _frame: FrameType | None) -> None:
    """Exit as for Ctrl-C on SIGTERM, so that partial downloads are removed."""
    sys.exit(143)
