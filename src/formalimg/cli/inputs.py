"""Reading what the command line names: formulas and scenes, from files, standard input or the argument itself."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.logic import FormulaError, Vocabulary, check, vocabulary, vocabulary_names
from formalimg.scenes import Scene, SceneError

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Instruction:
    """A formula as somebody wrote it, and what its file says about it."""

    name: str
    text: str | bytes
    k: int | None = None


def read_bytes(path: str) -> bytes:
    """The contents of a file, or of standard input for `-`."""
    try:
        if not path:
            raise FormalimgError("the name of a file is empty")
        return sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error


def instruction_paths(path: str) -> list[str]:
    """The path itself, or the files with instructions in it, if it is a folder: numbers in their order."""
    folder = Path(path)
    if path in (STANDARD_INPUT, "") or not folder.is_dir():
        return [path]
    found = [file for file in folder.iterdir() if file.suffix in (".json", ".formula")]
    if not found:
        raise FormalimgError(f"the folder {path} holds no .json or .formula files")
    return [str(file) for file in sorted(found, key=lambda file: (len(file.stem) * file.stem.isdigit(), file.name))]


def read_instruction(path: str) -> Instruction:
    """A file with a formula, or a published instance: JSON with `dsl` and `k`."""
    data = read_bytes(path)
    if path.endswith(".json"):
        instance = _decoded(data, path)
        if not isinstance(instance, dict) or not isinstance(instance.get("dsl"), str):
            raise FormalimgError(f'{path} is no instance: it needs "dsl", a formula')
        k = instance.get("k")
        return Instruction(path, instance["dsl"], k if isinstance(k, int) else None)
    return Instruction("standard input" if path == STANDARD_INPUT else path, data)


def formula_argument(argument: str) -> Instruction:
    """The formula that an argument is, or names: text begins with a parenthesis or a comment, all else is a file."""
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
    """The vocabulary that a formula is written in, of those it could be; an error with all problems if it fits none."""
    choices = [vocabulary(name) for name in ([suite] if suite else vocabulary_names())]
    findings = [check(instruction.text, words) for words in choices]
    best = min(range(len(choices)), key=lambda choice: len(findings[choice]))
    if findings[best]:
        raise FormulaError(findings[best])
    return choices[best]


def read_scene(path: str) -> Scene:
    """A file with a scene in the published grounding format."""
    try:
        return Scene.from_json(_decoded(read_bytes(path), path))
    except SceneError as error:
        raise FormalimgError(f"{path}: {error}") from error


def _decoded(data: bytes, path: str) -> object:
    path = "standard input" if path == STANDARD_INPUT else path
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"{path} is not valid JSON: {error}") from error
