"""`formalimg doctor`: check the installation."""

from __future__ import annotations

from typing import Annotated

import typer

from formalimg.cli.commands import option
from formalimg.cli.streams import echo, print_json

_SIGNS = {"fine": "✓", "broken": "✗", "absent": "–"}


def doctor_command(
    as_json: Annotated[bool, option("--json", "Print the findings as JSON.")] = False,
) -> None:
    """Check this installation.

    Images with known verdicts, passing and failing, go through the whole pipeline.

    Exit code 0: everything works. 1: something is broken; do not trust any number. Keys are never printed.
    """
    from formalimg.cli.doctor_checks import run_checks  # here, so that other commands start faster

    findings = []
    for finding in run_checks():
        findings.append(finding)
        if not as_json:
            echo(f"{_SIGNS[finding.state]} {finding.name:<18} {finding.detail}")
    if as_json:
        print_json([finding._asdict() for finding in findings])
    broken = [finding.name for finding in findings if finding.state == "broken"]
    if broken and not as_json:
        echo(f"\nbroken: {', '.join(broken)}. Do not trust any number of this installation.", err=True)
    raise typer.Exit(1 if broken else 0)
