"""`formalimg share bundle` and `formalimg share verify`: pack runs into a citable file and verify it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from formalimg import __version__
from formalimg.cli.commands import argument, option
from formalimg.cli.streams import echo, print_data
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.reports.sharing.bundle_checks import BundleCheck

_MAX_SHOWN = 50  # The most findings that are printed


def bundle_command(
    runs: Annotated[list[Path], argument("RUN", "Run folders.")],
    out: Annotated[Path, option("FILE", "The file to write, as in results.zip.")],
    images: Annotated[bool, option("--images", "Put the images in too. Their digests always are.")] = False,
) -> None:
    """Write runs to one file that can be cited and verified.

    It holds manifests, items, verdicts of all judges with their raw answers, versions, a report, and a digest of every
    file. Cite the digest that is printed: nothing in the bundle can be changed without changing it.
    """
    from formalimg.reports.sharing.bundle import write_bundle
    from formalimg.reports.sharing.bundle_format import digest_text  # here, so that other commands start faster
    from formalimg.reports.tables.format import count_noun

    if out.suffix.lower() != ".zip":
        raise FormalimgError(f"a bundle is a zip file: name it {out.with_suffix('.zip')}")
    done = write_bundle(runs, out, f"formalimg {__version__}", images=images)
    verdicts = sum(sum(run["verdicts"].values()) for run in done.runs)
    counts = f"{count_noun(len(done.runs), 'run')}, {count_noun(verdicts, 'verdict')}"
    echo(f"{done.path}: {counts}, {'with' if images else 'without'} images, {done.bytes:,} bytes")
    echo(f"cite it as {digest_text(done.digest)}")


def verify_bundle_command(
    bundle: Annotated[Path, argument("FILE", "A bundle.")],
    digest: Annotated[str | None, option("SHA256", "The digest that was cited.")] = None,
    unpack: Annotated[Path | None, option("DIR", "Also write its runs into this folder, for report and view.")] = None,
    all_images: Annotated[
        bool, option("--all-images", "Let judges look at all images again, not at a sample of 100.")
    ] = False,
    as_json: Annotated[bool, option("--json", "Print the result as JSON.")] = False,
) -> None:
    """Compute a bundle again, and say what differs and what cannot be computed.

    Compares the digest of each file, and only if all are right the counts, keys and seeds, verdicts with the raw
    answers, scenes and images that they follow from, and every number of the report.

    Exit code 0: nothing differs. 1: something differs, or a part of the plan was never made or judged.
    """
    from formalimg.reports.sharing.bundle_verification import (
        unpack_bundle,
        verify_bundle,
    )  # here, so that other commands start faster

    check = verify_bundle(bundle, digest, all_images=all_images)
    if as_json:
        print_data(f"{json.dumps(check.to_json(), indent=2, ensure_ascii=False)}\n")
    else:
        for line in _verification_lines(bundle, check):
            echo(line)
    version = f"formalimg {__version__}"
    if check.made_with != version:
        echo(f"made with {check.made_with}, verified with {version}: rules may have changed in between", err=True)
    if unpack is not None:
        for folder in unpack_bundle(bundle, unpack, digest):
            echo(f"run in {folder}", err=True)
    raise typer.Exit(0 if check.is_complete else 1)


def _verification_lines(bundle: Path, check: BundleCheck) -> Iterator[str]:
    from formalimg.reports.sharing.bundle_format import digest_text
    from formalimg.reports.tables.format import count_noun

    yield from map(str, check.findings[:_MAX_SHOWN])
    if len(check.findings) > _MAX_SHOWN:
        yield f"and {len(check.findings) - _MAX_SHOWN:,} more"
    if check.numbers:
        values, verdicts = count_noun(check.numbers, "value"), count_noun(check.verdicts, "verdict")
        sources = f"{check.by_answers:,} from raw answers, {check.by_scene:,} from stored scenes"
        yield f"computed again: {values} of the report; of {verdicts} {sources}"
        if check.images_to_judge:
            images = count_noun(check.images_to_judge, "image")
            yield f"looked at again: {check.by_image:,} of {images} whose judge is computed here"
    for missing in check.missing:
        yield f"missing: {missing}"
    for unproven in check.unproven:
        yield f"not computed again: {unproven}"
    yield f"{bundle}: {_outcome(check)}"
    yield digest_text(check.digest)


def _outcome(check: BundleCheck) -> str:
    from formalimg.reports.tables.format import count_noun

    if check.findings:
        return count_noun(len(check.findings), "difference")
    if check.missing:
        lacking = sum(missing.number for missing in check.missing)
        images = count_noun(check.planned, "planned image")
        return f"not complete: {lacking:,} verdicts on {images} are missing; nothing differs in what was computed again"
    cited = "it is the bundle that was cited" if check.is_cited else "without a cited digest the rest is taken on trust"
    return f"nothing differs in what was computed again; {cited}"
