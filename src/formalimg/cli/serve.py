"""`formalimg serve`: run the reward server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from formalimg.cli.commands import option
from formalimg.cli.options import LOOPBACK, Port, key_value_option, read_options, require_web_extra
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.rewards.server.processes import ProcessGrounder
    from formalimg.runs.defaults.settings import ConfiguredJudge

_ICONS = "builtin/icons"
_MEGABYTE = 1024 * 1024
_TOKEN = "FORMALIMG_TOKEN"


def serve_command(
    grounder: Annotated[
        str | None,
        option(
            "GROUNDER",
            "The grounder that finds objects, for formulas over boxes and colours: detector/MODEL, a chat model, "
            "or builtin/icons (drawings by formalimg only). Default: FORMALIMG_GROUNDER, or that of formalimg.toml; "
            "else the judge, else builtin/icons.",
        ),
    ] = None,
    grounder_option: Annotated[list[str] | None, key_value_option("-G", "grounder")] = None,
    judge: Annotated[
        str | None,
        option(
            "--judge -j JUDGE",
            "Chat model for suites that need one and for questions. Default: FORMALIMG_JUDGE, or that of "
            "formalimg.toml; without any, these are refused.",
        ),
    ] = None,
    judge_option: Annotated[list[str] | None, key_value_option("-J", "judge")] = None,
    weight: Annotated[
        list[str] | None, option("KIND=NUMBER", "Weight of clauses of a kind, as in relation=2. Default: 1.")
    ] = None,
    surplus: Annotated[
        float,
        option(
            "NUMBER",
            "How much objects of other classes lower the reward of an image that fails, from 0 to 1.",
            min=0.0,
            max=1.0,
        ),
    ] = 1.0,
    suite: Annotated[
        list[str] | None,
        option(
            "SUITE[=PATH]",
            "A suite in which trainers' prompts are looked up, with your own items in place of the default ones "
            "if a path is given. May be repeated. Default: all that have items.",
        ),
    ] = None,
    root: Annotated[
        Path | None, option("DIR", "Accept paths of images below this folder. Default: images must be sent.")
    ] = None,
    port: Port = 8424,
    host: Annotated[
        str, option("ADDRESS", "The address to listen on. Any other than a loopback address needs a token.")
    ] = LOOPBACK,
    token_file: Annotated[
        Path | None, option("FILE", f"File with the token that clients must send. Default: {_TOKEN}, if set.")
    ] = None,
    max_megabytes: Annotated[int, option("N", "Maximum size of a request.", min=1)] = 64,
    max_items: Annotated[int, option("N", "Maximum number of images per request.", min=1)] = 256,
    max_concurrent: Annotated[int, option("N", "Requests processed at once.", min=1)] = 16,
    max_queue: Annotated[int, option("N", "Requests that may wait; further ones get a 503.", min=0)] = 256,
    timeout: Annotated[
        float, option("SECONDS", "Seconds for a client to send a request, and to read the answer.", min=0.1)
    ] = 30.0,
    processes: Annotated[
        int | None,
        option("N", "Processes for builtin/icons; 0 for none besides the server. Default: one per core.", min=0),
    ] = None,
) -> None:
    """Serve rewards over HTTP: scores from 0 to 1, with reasons.

    Trainers POST images and what they should show: to /v1/score, or as Flow-Factory and UniRL do. GET /docs lists all.

    On an interrupt or SIGTERM, the server finishes its open requests and exits.
    """
    with require_web_extra("the reward server"):
        from formalimg import __version__
        from formalimg.rewards.server.app import create_reward_app
        from formalimg.rewards.server.http_server import serve_rewards
        from formalimg.rewards.server.request_body import Limits
        from formalimg.rewards.server.score_request import ImageRoot
    from formalimg.rewards.reward_functions import choose_models

    limits = Limits(max_megabytes * _MEGABYTE, max_items, max_concurrent, max_queue, timeout=timeout)
    allowed = None if root is None else ImageRoot(root)
    models = choose_models(
        grounder, judge, grounder_options=read_options(grounder_option), judge_options=read_options(judge_option)
    )
    for line in models.lines:
        echo(line, err=True)
    workers = _workers(models.grounder, processes)
    scorer = models.open(
        **({} if workers is None else {"grounder": workers, "grounder_options": None}),
        weights=_weights(weight),
        items=_item_paths(suite),
        suites=None if suite is None else [entry.partition("=")[0] for entry in suite],
        surplus=surplus,
    )
    serve_rewards(
        lambda token: create_reward_app(
            scorer, version=__version__, limits=limits, token=token, root=allowed, grounder=workers
        ),
        host=host,
        port=port,
        token=_token(token_file),
        limits=limits,
        on_progress=lambda address: echo(f"{address}  (Ctrl+C ends it)"),
    )


def _workers(grounder: ConfiguredJudge, processes: int | None) -> ProcessGrounder | None:
    """Return worker processes for the CPU-bound icon grounder, or None for other grounders."""
    if grounder.name != _ICONS or grounder.options:
        if processes:
            raise FormalimgError(f"--processes is for {_ICONS} without options: leave it out")
        return None
    from formalimg.rewards.server.processes import ProcessGrounder

    count = (os.cpu_count() or 1) if processes is None else processes
    return ProcessGrounder(grounder.name, count) if count else None


def _item_paths(suites: list[str] | None) -> dict[str, Path]:
    """Return the item paths by suite, loading each so that errors are raised before training."""
    from formalimg.benchmarks.loader import load

    paths = {name: Path(path) for name, _, path in (entry.partition("=") for entry in suites or ()) if path}
    for name, path in paths.items():
        load(name, path)
    return paths


def _weights(options: list[str] | None) -> dict[str, float]:
    try:
        return {kind: float(number) for kind, number in read_options(options).items()}
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
        raise FormalimgError(f"cannot read the token in {file}: it is not UTF-8 text") from error
