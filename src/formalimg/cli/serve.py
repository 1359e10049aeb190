"""`formalimg serve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from formalimg.cli.options import LOOPBACK, Port, read_options, require_web_extra
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.rewards.server import GrounderInProcesses

_ICONS = "builtin/icons"
_MEGABYTE = 1024 * 1024
_TOKEN = "FORMALIMG_TOKEN"


def serve_command(
    grounder: Annotated[
        str,
        typer.Option(
            metavar="GROUNDER",
            help="Who finds objects in images, for formulas over boxes and colours: builtin/icons (drawings by "
            "formalimg only), detector/MODEL, or a chat model.",
        ),
    ] = _ICONS,
    grounder_option: Annotated[
        list[str] | None,
        typer.Option("-G", metavar="KEY=VALUE", help="An option of the grounder.", show_default=False),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            "-j",
            metavar="JUDGE",
            help="The chat model for natural, conceptmix, cf-world and questions. Default: none, and they are refused.",
            show_default=False,
        ),
    ] = None,
    judge_option: Annotated[
        list[str] | None, typer.Option("-J", metavar="KEY=VALUE", help="An option of the judge.", show_default=False)
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=NUMBER",
            help="What clauses of a kind count, as in relation=2. Default: 1.",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Images may be named by their paths, if they lie below this folder. Default: they must be sent.",
            show_default=False,
        ),
    ] = None,
    port: Port = 8424,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="The address to listen on. Any other than this machine's own needs a token."
        ),
    ] = LOOPBACK,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"A file with the token that clients must send. Default: what {_TOKEN} holds, if anything.",
            show_default=False,
        ),
    ] = None,
    max_megabytes: Annotated[int, typer.Option(min=1, metavar="N", help="How large a request may be.")] = 64,
    max_items: Annotated[int, typer.Option(min=1, metavar="N", help="How many images a request may ask about.")] = 256,
    max_concurrent: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many requests are worked on at once.")
    ] = 16,
    max_queue: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many more wait for their turn; others are told to come back.")
    ] = 256,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1, metavar="SECONDS", help="Seconds for a client to send a request, and to read the answer."
        ),
    ] = 30.0,
    processes: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Processes of builtin/icons that look at images; 0 for none besides the server. Default: one for "
            "each core.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve rewards over HTTP: scores from 0 to 1, with reasons.

    Whoever trains a model POSTs images and what they are to show.

    It ends, with what it has begun finished, when it is interrupted or told to (SIGTERM).
    """
    with require_web_extra("the reward server"):
        from formalimg import __version__
        from formalimg.rewards.server import Limits, Root, make_reward_app, serve_rewards
    from formalimg.rewards import Scorer

    limits = Limits(max_megabytes * _MEGABYTE, max_items, max_concurrent, max_queue, timeout=timeout)
    allowed = None if root is None else Root(root)
    workers = _workers(grounder, grounder_option, processes)
    scorer = Scorer(
        workers or grounder,
        judge,
        grounder_options=None if workers else read_options(grounder_option),
        judge_options=read_options(judge_option),
        weights=_weights(weight),
    )
    serve_rewards(
        lambda token: make_reward_app(
            scorer, version=__version__, limits=limits, token=token, root=allowed, grounder=workers
        ),
        host=host,
        port=port,
        token=_token(token_file),
        limits=limits,
        on_progress=lambda address: typer.echo(f"{address}  (Ctrl+C ends it)"),
    )


def _workers(grounder: str, options: list[str] | None, processes: int | None) -> GrounderInProcesses | None:
    """Processes for the one grounder that keeps a core busy; others wait for a server or for a GPU."""
    if grounder != _ICONS or options:
        if processes:
            raise FormalimgError(f"--processes is for {_ICONS} without options: leave it out")
        return None
    from formalimg.rewards.server import GrounderInProcesses

    wanted = (os.cpu_count() or 1) if processes is None else processes
    return GrounderInProcesses(grounder, wanted) if wanted else None


def _weights(given: list[str] | None) -> dict[str, float]:
    try:
        return {kind: float(number) for kind, number in read_options(given).items()}
    except ValueError as error:
        raise FormalimgError("a weight is a number, as in relation=2") from error


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(_TOKEN) or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise FormalimgError(f"cannot read the token in {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"cannot read the token in {file}: it is no text in UTF-8") from error
