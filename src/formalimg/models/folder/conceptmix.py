"""Images with a `result.json` beside them, as ConceptMix's own scripts keep them: `<model>/<k>/result.json`.

The images are told by the prompts in that file. Where its paths lead does not matter, since they are those of the
machine that made the images; the images lie beside it. The scripts add a record for each time they run, so the same
record may be there several times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from formalimg._util.io import read_text
from formalimg.errors import FormalimgError
from formalimg.models.folder.claims import Claim
from formalimg.models.folder.entries import Entry, claims_of
from formalimg.models.folder.lines import json_value
from formalimg.models.folder.matching import named
from formalimg.models.folder.scanning import Folder, is_any_image
from formalimg.models.folder.wishes import Wishes

_RESULTS = re.compile(r"(?:.*/)?result\.json")


def looks_like_conceptmix(folder: Folder) -> bool:
    """Is there a file of results with images beside it?"""
    return any(_RESULTS.fullmatch(file) for file in folder.files)


def claims_by_results(folder: Folder, wishes: Wishes) -> Iterator[Claim]:
    """What the files of results say about the images beside them.

    Raises:
        FormalimgError: if there are none, or they cannot be read.
    """
    files = [file for file in folder.files if _RESULTS.fullmatch(file)]
    if not files:
        raise FormalimgError(f"{named(folder.path)} has no result.json, as ConceptMix's scripts write it")
    entries = {entry[1:]: entry for file in files for entry in _entries(folder, file)}.values()
    yield from claims_of(list(entries), wishes, folder.path)
    described = {entry.file for entry in entries}
    yield from (Claim(file, None) for file in folder.files if is_any_image(file) and file not in described)


def _entries(folder: Folder, file: str) -> Iterator[Entry]:
    records = json_value(read_text(Path(folder.path, file)), file)
    if not isinstance(records, list):
        raise FormalimgError(f"{file}: must be a list of records with prompt and image_path")
    beside = file.removesuffix("result.json")
    for number, record in enumerate(records, 1):
        where = f"{file}, record {number}"
        texts = [record.get(key) if isinstance(record, dict) else None for key in ("prompt", "image_path")]
        if not all(isinstance(text, str) and text for text in texts):
            raise FormalimgError(f"{where}: must have a prompt and an image_path, both in words")
        prompt, path = map(str, texts)
        yield Entry(where, beside + re.split(r"[/\\]", path)[-1], None, None, prompt, None)
