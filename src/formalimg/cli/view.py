"""`formalimg view`: view runs in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from formalimg.cli.commands import argument, option
from formalimg.cli.options import LOOPBACK, Host, OpenBrowser, Port, print_address, require_web_extra
from formalimg.cli.streams import echo, progress_bar

_EXPORT = "Static site"


def view_command(
    runs: Annotated[
        Path, argument("RUNS_DIR", "The folder that holds the runs, or one run.", show_default=True)
    ] = Path("runs"),
    human: Annotated[
        list[Path] | None,
        option(
            "STUDY",
            "A study whose human labels correct the rates of its run. Those in the folder studies beside the "
            "runs that were drawn for correction are found without it.",
        ),
    ] = None,
    read_only: Annotated[bool, option("--read-only", "Do not let visitors edit the tags and notes of runs.")] = False,
    port: Port = 8421,
    host: Host = LOOPBACK,
    browser: OpenBrowser = True,
    export: Annotated[
        Path | None,
        option(
            "DIR",
            "Write the viewer to a folder as a static site, which opens from disk or any web server, and end.",
            panel=_EXPORT,
        ),
    ] = None,
    export_images: Annotated[
        Literal["all", "failures", "none"],
        option("Which images the export has; failures: those that do not pass.", panel=_EXPORT),
    ] = "all",
    export_size: Annotated[
        Literal["full", "thumbnail"], option("Images as they are stored, or as thumbnails alone.", panel=_EXPORT)
    ] = "full",
    force: Annotated[
        bool, option("--force", "Export to a folder that holds other files; they are kept.", panel=_EXPORT)
    ] = False,
) -> None:
    """Browse runs, images and explanations in the browser.

    Shows curves, failures, and every image with the reasons behind its verdict.
    """
    with require_web_extra("the viewer"):
        from formalimg.web.export.exporter import export_viewer
        from formalimg.web.viewer.app import serve_viewer
        from formalimg.web.viewer.site import Site, is_run
    if export is not None:
        from formalimg.reports.tables.format import count_noun

        with progress_bar(f"export to {export}") as step:
            done = export_viewer(
                Site(runs, human or ()), export, images=export_images, size=export_size, force=force, on_progress=step
            )
        echo(f"{count_noun(done.runs, 'run')}, {count_noun(done.files, 'file')}: open {done.folder / 'index.html'}")
        for line in done.left_out:
            echo(f"not exported: {line}", err=True)
        return
    site = Site(runs, human or ())
    no_runs = [run.folder for run in site.runs() if not is_run(run.folder)]

    def announce(address: str) -> None:
        for folder in no_runs:
            echo(f"skipped: {folder} is not a run: it has no run.toml", err=True)
        if len(no_runs) == len(site.runs()):
            echo(f"there is no run in {runs} yet: each appears when it begins", err=True)
        print_address(address)

    serve_viewer(
        site,
        host=host,
        port=port,
        open_browser=browser,
        read_only=read_only,
        on_ready=announce,
    )
