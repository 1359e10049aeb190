"""`formalimg formula verify`: verify a formula in a scene."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from formalimg.cli.commands import option
from formalimg.cli.inputs import detect_vocabulary, formula_argument, read_scene
from formalimg.cli.streams import echo, print_data
from formalimg.errors import FormalimgError
from formalimg.logic.constraints import Semantics
from formalimg.logic.parser import parse
from formalimg.logic.verification import verify


def verify_command(
    formula: Annotated[str, option("TEXT|FILE", "The formula itself, or a file with it (- for standard input).")],
    scene: Annotated[str, option("FILE", "The scene, in the published grounding format.")],
    semantics: Annotated[
        Semantics, option("strict: a forall needs an instance, as in the papers. classical: as in textbooks.")
    ] = "strict",
    style: Annotated[str | None, option("STYLE", "The style of the image, if the formula refers to it.")] = None,
    suite: Annotated[
        str | None, option("SUITE", "The vocabulary: knolling, natural, or a TOML file. Default: the one that fits.")
    ] = None,
    explain: Annotated[bool, option("--explain", "Print the proof or the refutation.")] = False,
    as_json: Annotated[bool, option("--json", "Print verdict and proof as JSON.")] = False,
) -> None:
    """Verify whether a formula holds in a scene.

    Exit code 0: it holds. 1: it does not hold. 2: wrong usage, or undecided.
    """
    instruction = formula_argument(formula)
    terms = detect_vocabulary(instruction, suite)
    if style is not None and style not in terms.words.get("style", (style,)):
        raise FormalimgError(f"unknown style {style!r}: {terms.name} knows {', '.join(terms.words['style'])}")
    grounded = read_scene(scene)
    for warning in grounded.unknown_words(terms):
        echo(f"warning: {scene}: {warning}", err=True)
    verdict = verify(parse(instruction.text), grounded, semantics, style)
    if as_json:
        print_data(f"{json.dumps(verdict.to_json(), indent=2, ensure_ascii=False)}\n")
    else:
        echo(f"{'holds' if verdict else 'does not hold'} ({semantics}, {_object_count(len(grounded))})")
        if explain:
            echo(f"\n{verdict.explain()}")
    raise typer.Exit(0 if verdict else 1)


def _object_count(objects: int) -> str:
    return "1 object" if objects == 1 else f"{objects} objects"
