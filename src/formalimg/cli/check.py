"""`formalimg formula check`: check formulas."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from formalimg.benchmarks.loader import load_with_skipped
from formalimg.benchmarks.odd_records import odd_lines
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.benchmarks.registry import suite_names
from formalimg.cli.commands import argument, option
from formalimg.cli.inputs import STANDARD_INPUT, Instruction, formula_argument, instruction_paths
from formalimg.cli.streams import echo, print_data
from formalimg.errors import FormalimgError
from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses, complexity
from formalimg.logic.vocabulary import Vocabulary, vocabulary


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
            "SUITE", "The vocabulary: knolling, natural, or a TOML file; or questions, for files of question graphs."
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
    if suite in suite_names() and suite_of(suite).form.SPEC is QuestionSpec:
        raise typer.Exit(_check_questions(suite, files or [], as_json))
    terms = vocabulary(suite)
    findings = []
    code = 0
    paths = [path for argument in files or [STANDARD_INPUT] for path in instruction_paths(argument)]
    invalid = 0
    for instruction in map(formula_argument, paths):
        expected = k if k is not None else instruction.k
        problems = check(instruction.text, terms, k=expected, single_component=single_component)
        if plausible and not problems:
            problems = _implausible(instruction, terms)
        unreadable = not {problem.kind for problem in problems}.isdisjoint(("syntax", "size"))
        code = max(code, 2 if unreadable else 1 if problems else 0)
        invalid += bool(problems)
        if as_json:
            findings.append(_to_json(instruction, problems))
        else:
            _show(instruction, problems, terms.name)
    if as_json:
        print_data(f"{json.dumps(findings, indent=2, ensure_ascii=False)}\n")
    elif len(paths) > 1:
        echo(f"{len(paths)} formulas: {len(paths) - invalid} fine, {invalid} with problems")
    raise typer.Exit(code)


def _check_questions(suite: str, files: Sequence[str], as_json: bool) -> int:
    """Print problems in question graph files. Return 1 if there are any, otherwise 0."""
    if not files:
        raise FormalimgError("there is nothing to check: name a file of questions")
    findings = []
    for file in files:
        loaded = load_with_skipped(suite, file)
        questions = sum(len(item.spec.questions) for item in loaded.items)
        odd = odd_lines(loaded.items, loaded.skipped)
        findings.append({"file": file, "items": len(loaded.items), "questions": questions, "odd": odd})
        if not as_json:
            echo(f"{file}: {len(loaded.items):,} items, {questions:,} questions, {'odd records' if odd else 'fine'}")
            for line in odd:
                echo(f"  {line}")
    if as_json:
        print_data(f"{json.dumps(findings, indent=2, ensure_ascii=False)}\n")
    return int(any(one["odd"] for one in findings))


def _show(instruction: Instruction, problems: list[Problem], suite: str) -> None:
    for problem in problems:
        echo(f"{instruction.name}: {problem.render()}", err=True)
    if not problems:
        echo(f"{instruction.name}: fine ({suite}): {_measures(instruction)}")


def _implausible(instruction: Instruction, terms: Vocabulary) -> list[Problem]:
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
        found = clauses(formula)
    except FormulaError as error:  # fine as an instruction, only too large to be laid out in clauses
        return f"{k}; {error.problems[0].message}"
    kinds = Counter(clause.kind for clause in found)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"{k}, {len(found)} clause{'s' * (len(found) > 1)} ({listed})"


def _to_json(instruction: Instruction, problems: list[Problem]) -> dict[str, object]:
    data: dict[str, object] = {"file": instruction.name, "ok": not problems}
    if not problems:
        formula = parse(instruction.text)
        data["k"] = complexity(formula)
        try:
            data["clauses"] = [{"kind": clause.kind, "text": clause.text} for clause in clauses(formula)]
        except FormulaError:  # too large to be laid out
            data["clauses"] = None
    data["problems"] = [problem.to_json() for problem in problems]
    return data
