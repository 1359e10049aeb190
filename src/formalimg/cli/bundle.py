"""`formalimg bundle` and `formalimg verify-bundle`: results as one file that can be cited, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalimg import __version__
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

_MAX_SHOWN = 50
"""The most findings that are printed."""


def bundle_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, as in results.zip.")],
    images: Annotated[bool, typer.Option("--images", help="Put the images in too. Their digests always are.")] = False,
) -> None:
    """Write runs to one file that can be cited and verified.

    It holds manifests, items, verdicts of all judges with their raw answers, versions, a report, and a digest of every
    file. Cite the digest that is printed: nothing in the bundle can be changed without changing it.
    """
    from formalimg.sharing import digest_text, write_bundle  # here, so that other commands start faster
    from formalimg.tables import count_noun

    if out.suffix.lower() != ".zip":
        raise FormalimgError(f"a bundle is a zip file: name it {out.with_suffix('.zip')}")
    done = write_bundle(runs, out, f"formalimg {__version__}", images=images)
    verdicts = sum(sum(run["verdicts"].values()) for run in done.runs)
    counts = f"{count_noun(len(done.runs), 'run')}, {count_noun(verdicts, 'verdict')}"
    echo(f"{done.path}: {counts}, {'with' if images else 'without'} images, {done.bytes:,} bytes")
    echo(f"cite it as {digest_text(done.digest)}")


def verify_bundle_command(
    bundle: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle.", show_default=False)],
    digest: Annotated[
        str | None, typer.Option(metavar="SHA256", help="The digest that was cited.", show_default=False)
    ] = None,
    unpack: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also write its runs into this folder, for report and view.", show_default=False
        ),
    ] = None,
) -> None:
    """Compute every number of a bundle again, and say what differs.

    Compares the digest of each file, the counts, the keys of items and judges, verdicts with the scenes and raw answers
    they follow from, and every number of the report. Exit code 1 if anything differs.
    """
    from formalimg.sharing import digest_text, unpack_bundle, verify_bundle  # here, so that other commands start faster
    from formalimg.tables import count_noun

    check = verify_bundle(bundle, digest)
    for finding in check.findings[:_MAX_SHOWN]:
        echo(finding)
    if len(check.findings) > _MAX_SHOWN:
        echo(f"and {len(check.findings) - _MAX_SHOWN:,} more")
    version = f"formalimg {__version__}"
    if check.made_with != version:
        echo(f"made with {check.made_with}, verified with {version}: rules may have changed in between", err=True)
    if unpack is not None:
        for folder in unpack_bundle(bundle, unpack):
            echo(f"run in {folder}", err=True)
    if check.findings:
        echo(f"{bundle}: {count_noun(len(check.findings), 'difference')}")
        raise typer.Exit(1)
    echo(
        f"{bundle}: {count_noun(check.files, 'file')}, {count_noun(check.verdicts, 'verdict')} "
        f"({check.by_logic:,} decided again from what the judge saw) and {check.numbers:,} values of the report: "
        "nothing differs"
    )
    echo(digest_text(check.digest))
