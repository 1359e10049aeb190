"""T2I-CompBench's published lists with one prompt per line, such as `color_val.txt`, and image folders.

The id of an item is its task and its line number, from 0. Odd lines are tagged; a line is skipped only if it is empty.
Text after a tab is not part of the prompt. Images are named by their prompts and a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from formalimg._util.io import write_folder
from formalimg._util.record_files import read_file_bytes
from formalimg.benchmarks.odd_records import (
    BROKEN_TEXT,
    DUPLICATE_PROMPT,
    EXTRA_FIELDS,
    NO_QUESTIONS,
    clean_line,
    ordered_tags,
)
from formalimg.benchmarks.record import ItemFindings
from formalimg.benchmarks.t2i_compbench.composition import COMPOSITION_TASKS, CompositionTask, read_prompt
from formalimg.models.folder.file_matching import CandidateFile, FolderImage, FolderListing, ItemIndex, is_any_image
from formalimg.models.folder.layouts import ImageLayout
from formalimg.types import Item

_ENDING = "_val.txt"  # The lists that the paper's numbers are of


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a prompt list, or in a folder with lists, as created by `formalimg pull`."""
    files: dict[CompositionTask, Path] = {}
    if path.is_dir():
        for folder in (path / "examples/dataset", path):  # the lists of the second replace those of the first
            lists = {task: folder / f"{task}{_ENDING}" for task in COMPOSITION_TASKS}
            files = {task: file for task, file in lists.items() if file.is_file()} or files
    else:  # such as `color.txt`, `color_train.txt`, `color_val_seen.txt`
        files = {task: path for task in COMPOSITION_TASKS if task == path.stem.partition("_")[0].lower()}
    if not files:
        names = ", ".join(f"{task}{_ENDING}" for task in COMPOSITION_TASKS)
        findings.add(str(path), f"it is none of the lists {names}: give one, or the folder that was pulled")
    items: list[Item[Any]] = []
    for task, file in files.items():
        prompts: set[str] = set()
        for number, line in enumerate(read_file_bytes(file).decode("utf-8-sig", "replace").splitlines()):
            if line.strip():
                items.append(_read_line(line, task, number, suite, prompts))
    return items


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Write the prompts as one list per task, in item order."""
    texts = {
        f"{task}{_ENDING}": "".join(f"{item.prompt}\n" for item in items if item.level == level)
        for level, task in enumerate(COMPOSITION_TASKS, 1)
    }
    write_folder(folder, {name: text for name, text in texts.items() if text})


def _read_line(line: str, task: CompositionTask, number: int, suite: str, prompts: set[str]) -> Item[Any]:
    text, _, more = line.partition("\t")
    odd: set[str] = set()
    prompt = clean_line(" ".join(text.split()), odd)
    if "\ufffd" in prompt:
        odd.add(BROKEN_TEXT)
    if more.strip():
        odd.add(EXTRA_FIELDS)
    if prompt in prompts:
        odd.add(DUPLICATE_PROMPT)
    prompts.add(prompt)
    spec = read_prompt(task, prompt)
    if not spec.questions:
        odd.add(NO_QUESTIONS)
    level = COMPOSITION_TASKS.index(task) + 1
    return Item(suite, f"{task}-{number:04}", level, prompt, spec, (task, *ordered_tags(odd)))


_PROMPT_AND_NUMBER = re.compile(
    r"(?:(?P<parents>[^/]+(?:/[^/]+)*)/)?(?P<prompt>[^/]*\s[^/]*)_(?P<number>\d{6,9})\.(?:png|jpe?g|webp)",
    re.IGNORECASE,
)
"""As T2I-CompBench's scripts name images: the prompt, and a number that counts all images of a list."""


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files: `samples/a red cup and a blue dog_000000.png`, or `color/samples/…` by task.

    The images of a prompt are its samples, ordered by number. Items with the same prompt share them evenly, in suite
    order; an item whose id begins with the name of the folder takes precedence.
    """
    named: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for file in folder.files:
        if match := _PROMPT_AND_NUMBER.fullmatch(file):
            named.setdefault((match["parents"] or "", match["prompt"]), []).append((int(match["number"]), file))
        elif is_any_image(file):
            yield CandidateFile(file, None)
    for (parents, prompt), files in named.items():
        tasks = tuple(f"{parent.lower()}-" for parent in parents.split("/") if parent)
        items = index.items_with(prompt)
        items = [item for item in items if tasks and item.startswith(tasks)] or items
        per_item = -(-len(files) // len(items)) if items else 1
        for number, (_, file) in enumerate(sorted(files)):
            image = FolderImage(items[number // per_item], number % per_item) if items else None
            yield CandidateFile(file, image, by="name")


LAYOUT = ImageLayout(
    "t2i-compbench", lambda folder: any(map(_PROMPT_AND_NUMBER.fullmatch, folder.files)), image_candidates
)
