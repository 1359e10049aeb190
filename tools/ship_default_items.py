"""Makes the default items anew, and writes them with their digests to where the package ships them.

For maintainers, after a change that gives other items: `python tools/ship_default_items.py conceptmix cf-world …`
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from formalimg import benchmarks
from formalimg.benchmarks.cfworld.items import (
    builtin_groups,
    denominalised_items,
    items_of_groups,
    pair_items,
    rule_items,
)
from formalimg.benchmarks.conceptmix.generation import ConceptRecipe, generate_concept_items
from formalimg.benchmarks.formal.synthesis.generator import Recipe, make_items
from formalimg.benchmarks.items_file import encode_item
from formalimg.benchmarks.loader import instruction_digest, load
from formalimg.types import Item

SHIPPED = Path(benchmarks.__file__).parent / "default_items"
DIGESTS = SHIPPED / "digests.toml"
VERSIONS = {"cf-world": "3", "cf-world-denominalised": "3", "cf-world-rules": "1", "cf-world-attributes": "1"}
"""Versions of items that are made from data, not by a recipe that has one."""

MAKERS: dict[str, Callable[[], Sequence[Item[Any]]]] = {
    "knolling": lambda: make_items(Recipe("knolling"), jobs=os.cpu_count() or 1).items,
    "knolling-counts": lambda: make_items(Recipe("knolling-counts", (1, 2, 3, 4, 5)), jobs=os.cpu_count() or 1).items,
    "natural": lambda: make_items(Recipe("natural"), jobs=os.cpu_count() or 1).items,
    "conceptmix": lambda: generate_concept_items(ConceptRecipe()).items,
    "cf-world": lambda: items_of_groups(builtin_groups(), VERSIONS["cf-world"]),
    "cf-world-denominalised": lambda: denominalised_items(builtin_groups(), VERSIONS["cf-world-denominalised"]),
    "cf-world-rules": lambda: rule_items(VERSIONS["cf-world-rules"]),
    "cf-world-attributes": lambda: pair_items(VERSIONS["cf-world-attributes"]),
}


def main(names: Sequence[str]) -> None:
    for name in names:
        items = MAKERS[name]()
        _keep_earlier(name, items[0].version)
        lines = "".join(f"{encode_item(item)}\n" for item in items).encode()
        file = io.BytesIO()
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:  # no name and time: same bytes
            packed.write(lines)
        (SHIPPED / f"{name}.jsonl.gz").write_bytes(file.getvalue())
        _write_digests(name, instruction_digest(items), f"sha256:{hashlib.sha256(file.getvalue()).hexdigest()}")
        print(f"{name}: {len(items):,} items, {len(file.getvalue()):,} bytes")


def _keep_earlier(name: str, version: str) -> None:
    """Keep the items that are shipped now as `name@version`, if they have another version."""
    if not (SHIPPED / f"{name}.jsonl.gz").exists():
        return  # a new suite
    shipped = load(name)[0].version
    if shipped == version:
        return
    data = (SHIPPED / f"{name}.jsonl.gz").read_bytes()
    (SHIPPED / f"{name}@{shipped}.jsonl.gz").write_bytes(data)
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    _write_digests(f"{name}@{shipped}", instruction_digest(load(name)), digest)


def _write_digests(name: str, instructions: str, file: str) -> None:
    key = f'"{name}"' if "@" in name else name
    text = re.sub(rf"^{key} = .*\n", "", DIGESTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = text.replace("[instructions]\n", f'[instructions]\n{key} = "{instructions}"\n')
    DIGESTS.write_text(text.replace("[files]\n", f'[files]\n{key} = "{file}"\n'), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or list(MAKERS))
