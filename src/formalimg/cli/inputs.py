"""Read formulas and scenes from files, standard input or command-line arguments."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from formalimg._util.io import refuse_special_file
from formalimg.errors import FormalimgError
from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError
from formalimg.logic.vocabulary import Vocabulary, vocabulary, vocabulary_names
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Instruction:
    """The text of a formula with its name and the complexity K stated in its file."""

    name: str
    text: str | bytes
    k: int | None = None


def read_bytes(path: str) -> bytes:
    """Return the contents of a file, or of standard input for `-`."""
    if not path:
        raise FormalimgError("a file name is empty")
    if path == STANDARD_INPUT and sys.stdin is None:
        raise FormalimgError("standard input is closed: give a file, or text on standard input")
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read()
        refuse_special_file(path)
        return Path(path).read_bytes()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error


def instruction_paths(path: str) -> list[str]:
    """Return the path itself, or the instruction files in a folder in natural order."""
    folder = Path(path)
    if path in (STANDARD_INPUT, "") or not folder.is_dir():
        return [path]
    found = [file for file in folder.iterdir() if file.suffix in (".json", ".formula")]
    if not found:
        raise FormalimgError(f"the folder {path} holds no .json or .formula files")
    return [str(file) for file in sorted(found, key=lambda file: (len(file.stem) * file.stem.isdigit(), file.name))]


def read_instruction(path: str) -> Instruction:
    """Read a formula from a text file or from a published instance in JSON with `dsl` and `k`."""
    data = read_bytes(path)
    if path.endswith(".json"):
        instance = _parse_json(data, path)
        if not isinstance(instance, dict) or not isinstance(instance.get("dsl"), str):
            raise FormalimgError(f'{path} is not an instance: it needs "dsl", a formula')
        k = instance.get("k")
        return Instruction(path, instance["dsl"], k if isinstance(k, int) else None)
    return Instruction("standard input" if path == STANDARD_INPUT else path, data)


def formula_argument(argument: str) -> Instruction:
    """Parse an argument as a formula if it begins with a parenthesis or comment, and otherwise as a file name."""
    if argument.lstrip().startswith(("(", ";")) or not argument.strip():
        return Instruction("formula", argument)
    try:
        return read_instruction(argument)
    except FormalimgError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        message = f"cannot read {argument}: there is no such file, and a formula begins with a parenthesis"
        raise FormalimgError(message) from error


def detect_vocabulary(instruction: Instruction, suite: str | None = None) -> Vocabulary:
    """Return the vocabulary of a formula, or raise an error with all problems if no vocabulary fits."""
    choices = [vocabulary(name) for name in ([suite] if suite else vocabulary_names())]
    findings = [check(instruction.text, candidate) for candidate in choices]
    best = min(range(len(choices)), key=lambda choice: len(findings[choice]))
    if findings[best]:
        raise FormulaError(findings[best])
    return choices[best]


def read_scene(path: str) -> Scene:
    """Read a scene in the published grounding format."""
    try:
        return Scene.from_json(_parse_json(read_bytes(path), path))
    except SceneError as error:
        raise FormalimgError(f"{path}: {error}") from error


def _parse_json(data: bytes, path: str) -> object:
    path = "standard input" if path == STANDARD_INPUT else path
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"{path} is not valid JSON: {error}") from error
