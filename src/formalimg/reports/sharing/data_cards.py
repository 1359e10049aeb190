"""The data card of a pushed run: what its files are, how to load and verify them, and the numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator

from formalimg._util.text import visible
from formalimg.benchmarks.registry import suite
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.markdown import markdown_code, markdown_escape
from formalimg.runs.manifest import RunManifest

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def data_card(
    manifest: RunManifest, dataset: str, card: str, digest: str, rows: int, images: int, licence: str = ""
) -> str:
    """Return the data card, in Markdown with the metadata that the Hub reads."""
    title = ", ".join(filter(None, [f"{manifest.model.name} on {suite(manifest.suite).title}", manifest.items_label]))
    return "\n".join(
        [
            "---",
            *_metadata(manifest, title, rows, images, licence),
            "---",
            "",
            f"# {markdown_escape(title)}",
            "",
            f"{_contents(rows, images)} Written by {markdown_escape(manifest.made_with)}.",
            "",
            *_files(images),
            "",
            markdown_code(
                [
                    "from datasets import load_dataset",
                    "",
                    f'images = load_dataset({json.dumps(dataset)}, split="test")',
                ],
                "python",
            ),
            "`bundle.zip` holds everything that the numbers follow from. Its digest is",
            f"`sha256:{digest}`; this computes all of them again:",
            "",
            markdown_code([f"formalimg share verify bundle.zip --digest sha256:{digest}"], "sh"),
            card,
        ]
    )


def _metadata(manifest: RunManifest, title: str, rows: int, images: int, licence: str) -> Iterator[str]:
    """Yield lines of YAML; strings of JSON are strings of YAML."""
    size = next((name for most, name in _SIZES if rows < most), "n>1M")
    if licence:
        yield f"license: {json.dumps(licence)}"
    yield f"pretty_name: {json.dumps(visible(title, one_line=True), ensure_ascii=False)}"
    yield "task_categories:\n- text-to-image"
    yield f"size_categories:\n- {size}"
    yield "tags:\n" + "\n".join(f"- {json.dumps(tag)}" for tag in ("formalimg", "evaluation", manifest.suite))
    path = "images/**" if images else "verdicts.jsonl"
    yield f"configs:\n- config_name: default\n  data_files:\n  - split: test\n    path: {json.dumps(path)}"


def _contents(rows: int, images: int) -> str:
    if images == rows:
        return f"{count_noun(images, 'image')}, each with its prompt, its verdict, and what it fails to show."
    having = f"of which {images:,} are here" if images else "which are not here"
    return f"The verdicts on {count_noun(rows, 'image')}, {having}, each with its prompt and what it fails to show."


def _files(images: int) -> Iterator[str]:
    if images:
        yield "- `images/`: the images, and `images/metadata.jsonl` with a row for each of them;"
    yield "- `verdicts.jsonl`: a row for each image that was asked for, also where there is none, with the reason;"
    yield "- `run.toml`: what the run was asked to do;"
    yield "- `bundle.zip`: items, verdicts of all judges, raw answers, versions and digests."
