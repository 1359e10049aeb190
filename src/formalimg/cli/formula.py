"""`formalimg formula check`, `solve` and `verify`: check formulas, find scenes for them, and decide them in scenes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from formalimg._util.io import refuse_special_file
from formalimg.cli.commands import argument, option
from formalimg.cli.options import MAX_SEED
from formalimg.cli.output import require_image_name, save_image
from formalimg.cli.streams import echo, print_json
from formalimg.errors import FormalimgError
from formalimg.logic.checks import check
from formalimg.logic.constraints import Semantics
from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses, complexity
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import Vocabulary, vocabulary, vocabulary_names
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import RECORDED_PREDICATES, Scene

_STANDARD_INPUT = "-"


# --- input


class Instruction(NamedTuple):
    """The text of a formula with its name and the complexity K stated in its file."""

    name: str
    text: str | bytes
    k: int | None = None


def read_bytes(path: str) -> bytes:
    """Return the contents of a file, or of standard input for `-`."""
    if not path:
        raise FormalimgError("a file name is empty")
    if path == _STANDARD_INPUT and sys.stdin is None:
        raise FormalimgError("standard input is closed: give a file, or text on standard input")
    try:
        if path == _STANDARD_INPUT:
            return sys.stdin.buffer.read()
        refuse_special_file(path)
        return Path(path).read_bytes()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error


def _formula_paths(path: str) -> list[str]:
    """Return the path itself, or the formula files in a folder in natural order."""
    folder = Path(path)
    if path in (_STANDARD_INPUT, "") or not folder.is_dir():
        return [path]
    files = [file for file in folder.iterdir() if file.suffix in (".json", ".formula")]
    if not files:
        raise FormalimgError(f"the folder {path} contains no .json or .formula files")
    return [str(file) for file in sorted(files, key=lambda file: (len(file.stem) * file.stem.isdigit(), file.name))]


def formula_argument(text: str) -> Instruction:
    """Parse an argument as a formula if it begins with a parenthesis or comment, and otherwise as a file name.

    A file is a text file, or a published instance in JSON with `dsl` and `k`.
    """
    if text.lstrip().startswith(("(", ";")) or not text.strip():
        return Instruction("formula", text)
    try:
        data = read_bytes(text)
    except FormalimgError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        message = f"cannot read {text}: there is no such file, and a formula begins with a parenthesis"
        raise FormalimgError(message) from error
    if not text.endswith(".json"):
        return Instruction("standard input" if text == _STANDARD_INPUT else text, data)
    instance = _parse_json(data, text)
    if not isinstance(instance, dict) or not isinstance(instance.get("dsl"), str):
        raise FormalimgError(f'{text} is not an instance: it needs "dsl", a formula')
    k = instance.get("k")
    return Instruction(text, instance["dsl"], k if isinstance(k, int) else None)


def _detect_vocabulary(instruction: Instruction, suite: str | None = None) -> Vocabulary:
    """Return the vocabulary of a formula, or raise an error with all problems if no vocabulary fits."""
    choices = [vocabulary(name) for name in ([suite] if suite else vocabulary_names())]
    problems = [check(instruction.text, candidate) for candidate in choices]
    best = min(range(len(choices)), key=lambda index: len(problems[index]))
    if problems[best]:
        raise FormulaError(problems[best])
    return choices[best]


def _read_scene(path: str) -> Scene:
    try:
        return Scene.from_json(_parse_json(read_bytes(path), path))
    except SceneError as error:
        raise FormalimgError(f"{path}: {error}") from error


def _parse_json(data: bytes, path: str) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        name = "standard input" if path == _STANDARD_INPUT else path
        raise FormalimgError(f"{name} is not valid JSON: {error}") from error


# --- check


def check_command(
    files: Annotated[
        list[str] | None,
        argument(
            "TEXT|FILE|FOLDER|-",
            "Formulas themselves, files with one, published instances (.json with dsl and k), or folders of them. "
            "Default: standard input.",
        ),
    ] = None,
    suite: Annotated[
        str,
        option(
            "SUITE",
            "The vocabulary: knolling, natural, or a TOML file; or questions, for files of question graphs.",
        ),
    ] = "knolling",
    k: Annotated[int | None, option("--k -k K", "The complexity the formula must have.")] = None,
    single_component: Annotated[bool, option("--single-component", "All variables must be connected.")] = False,
    plausible: Annotated[
        bool, option("--plausible", "Natural formulas must assert nothing that no image would show.")
    ] = False,
    as_json: Annotated[bool, option("--json", "Print the findings as JSON.")] = False,
) -> None:
    """Check formulas and report every problem.

    Exit code 0: no problems. 1: problems found. 2: wrong usage, or a formula could not be parsed.
    """
    from formalimg.benchmarks.questions.spec import QuestionSpec
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.benchmarks.registry import suite_names

    if suite in suite_names() and suite_of(suite).form.SPEC is QuestionSpec:
        raise typer.Exit(_check_questions(suite, files or [], as_json))
    terms = vocabulary(suite)
    results = []
    code = invalid = 0
    paths = [path for text in files or [_STANDARD_INPUT] for path in _formula_paths(text)]
    for instruction in map(formula_argument, paths):
        expected = instruction.k if k is None else k
        problems = check(instruction.text, terms, k=expected, single_component=single_component)
        if plausible and not problems:
            problems = _find_implausible(instruction, terms)
        is_unreadable = not {problem.kind for problem in problems}.isdisjoint(("syntax", "size"))
        code = max(code, 2 if is_unreadable else 1 if problems else 0)
        invalid += bool(problems)
        if as_json:
            results.append(_to_json(instruction, problems))
            continue
        for problem in problems:
            echo(f"{instruction.name}: {problem.render()}", err=True)
        if not problems:
            echo(f"{instruction.name}: fine ({terms.name}): {_measures(instruction)}")
    if as_json:
        print_json(results)
    elif len(paths) > 1:
        echo(f"{len(paths)} formulas: {len(paths) - invalid} fine, {invalid} with problems")
    raise typer.Exit(code)


def _check_questions(suite: str, files: Sequence[str], as_json: bool) -> int:
    """Print problems in question graph files. Return 1 if there are any, otherwise 0."""
    from formalimg.benchmarks.loader import load_with_skipped
    from formalimg.benchmarks.odd_records import odd_lines

    if not files:
        raise FormalimgError("nothing to check: name a file of questions")
    results = []
    for file in files:
        loaded = load_with_skipped(suite, file)
        questions = sum(len(item.spec.questions) for item in loaded.items)
        issues = odd_lines(loaded.items, loaded.skipped)
        results.append({"file": file, "items": len(loaded.items), "questions": questions, "odd": issues})
        if not as_json:
            echo(f"{file}: {len(loaded.items):,} items, {questions:,} questions, {'odd records' if issues else 'fine'}")
            for line in issues:
                echo(f"  {line}")
    if as_json:
        print_json(results)
    return int(any(result["odd"] for result in results))


def _find_implausible(instruction: Instruction, terms: Vocabulary) -> list[Problem]:
    from formalimg.language.ontology.knowledge import COVERED  # here, so that other commands start faster
    from formalimg.language.ontology.plausibility import find_implausible

    if terms.name not in COVERED:
        raise FormalimgError(
            f"--plausible is for {' and '.join(COVERED)} formulas: the ontology does not cover {terms.name}"
        )
    return find_implausible(parse(instruction.text))


def _measures(instruction: Instruction) -> str:
    formula = parse(instruction.text)
    k = f"K = {complexity(formula)}"
    try:
        listed = clauses(formula)
    except FormulaError as error:  # valid, but too large to be laid out in clauses
        return f"{k}; {error.problems[0].message}"
    kinds = Counter(clause.kind for clause in listed)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"{k}, {len(listed)} clause{'s' * (len(listed) > 1)} ({counts})"


def _to_json(instruction: Instruction, problems: list[Problem]) -> dict[str, object]:
    data: dict[str, object] = {"file": instruction.name, "ok": not problems}
    if not problems:
        formula = parse(instruction.text)
        data["k"] = complexity(formula)
        try:
            data["clauses"] = [{"kind": clause.kind, "text": clause.text} for clause in clauses(formula)]
        except FormulaError:  # too large to be laid out
            data["clauses"] = None
    return {**data, "problems": [problem.to_json() for problem in problems]}


# --- solve and verify


def solve_command(
    formula: Annotated[str, option("TEXT|FILE", "The formula itself, or a file with it (- for standard input).")],
    instances: Annotated[int, option("N", "Minimum number of objects each forall ranges over.", min=1, max=12)] = 2,
    margin: Annotated[
        int, option("N", "Margin by which relations must hold, on the canvas of 1000.", min=0, max=1000)
    ] = 20,
    max_objects: Annotated[
        int, option("N", "Maximum number of objects, where the formula sets no bound itself.", min=1, max=20)
    ] = 6,
    seed: Annotated[int, option("N", "Seed of colours and positions.", min=-MAX_SEED, max=MAX_SEED)] = 0,
    image: Annotated[Path | None, option("--draw PNG", "Draw the witness into this file.")] = None,
    as_json: Annotated[bool, option("--json", "Print the result as JSON.")] = False,
) -> None:
    """Find a scene that satisfies a formula, or prove there is none.

    Exit code 0: there is a scene. 1: there is none, at all or up to --max-objects; the output says which. 2: wrong
    usage, or undecided.
    """
    from formalimg.drawing.icon_scene import draw  # these here, so that other commands start faster
    from formalimg.scenes.solver.results import Witness
    from formalimg.scenes.solver.search import solve
    from formalimg.scenes.solver.spatial import solve_natural

    if image is not None:
        require_image_name(image)
    instruction = formula_argument(formula)
    text = parse(instruction.text)
    if not RECORDED_PREDICATES.isdisjoint(_detect_vocabulary(instruction).predicates):
        if image is not None:
            raise FormalimgError("only scenes of knolling objects can be drawn: leave --draw out")
        result = solve_natural(text, instances=instances, margin=margin, seed=seed)
    else:
        result = solve(text, instances=instances, margin=margin, seed=seed, max_objects=max_objects)
    if as_json:
        print_json(result.to_json())
    else:
        echo(str(result))
    if image is not None and isinstance(result, Witness):
        save_image(draw(result.scene), image)
    raise typer.Exit(0 if isinstance(result, Witness) else 1)


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
    terms = _detect_vocabulary(instruction, suite)
    if style is not None and style not in terms.words.get("style", (style,)):
        raise FormalimgError(f"unknown style {style!r}: {terms.name} has {', '.join(terms.words['style'])}")
    grounded = _read_scene(scene)
    for warning in grounded.unknown_words(terms):
        echo(f"warning: {scene}: {warning}", err=True)
    verdict = verify(parse(instruction.text), grounded, semantics, style)
    if as_json:
        print_json(verdict.to_json())
    else:
        objects = f"{len(grounded)} object{'s' * (len(grounded) != 1)}"
        echo(f"{'holds' if verdict else 'does not hold'} ({semantics}, {objects})")
        if explain:
            echo(f"\n{verdict.explain()}")
    raise typer.Exit(0 if verdict else 1)
