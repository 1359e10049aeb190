"""Push runs to the Hugging Face Hub: images, verdicts, manifest, bundle and data card as one dataset."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.installing import install_line
from formalimg._util.text import truncate, visible
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.models.secrets import redact
from formalimg.reports.results.failures import Failure
from formalimg.reports.sharing.bundle import write_bundle
from formalimg.reports.sharing.bundle_format import lines_bytes
from formalimg.reports.sharing.model_cards import model_card
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.markdown import markdown_code, markdown_escape
from formalimg.runs.manifest import RunManifest
from formalimg.runs.reader import Judged, StoredRun, open_run

_ADDRESS = re.compile(r"hf://datasets/([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})/?")
BUNDLE, IMAGES, METADATA, VERDICTS = "bundle.zip", "images", "metadata.jsonl", "verdicts.jsonl"
_REPLACED = [f"{IMAGES}/*", "figures/*", VERDICTS, BUNDLE]  # What an earlier push of a run may have left in the dataset


class PushedRun(NamedTuple):
    """The result of pushing a run."""

    address: str  # the page of the dataset
    commit: str  # the commit
    images: int  # how many images were pushed
    rows: int  # how many images have a row, with or without a file
    digest: str  # the digest of the bundle beside them


def push_run(
    folder: str | Path,
    address: str,
    made_with: str,
    *,
    images: bool = True,
    private: bool = False,
    licence: str = "",
) -> PushedRun:
    """Push a run to a dataset on the Hub in a single commit, creating the dataset if needed."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise FormalimgError(f"cannot push to {address[:120]!r}: write hf://datasets/OWNER/NAME")
    dataset, api = match[1], _open_hub()
    with tempfile.TemporaryDirectory(prefix="formalimg-push-") as temporary:
        stage = Path(temporary)
        image_count, rows, digest = _stage_dataset(folder, stage, dataset, made_with, images=images, licence=licence)
        try:
            api.create_repo(dataset, repo_type="dataset", private=private, exist_ok=True)
            commit = api.upload_folder(
                folder_path=stage,
                repo_id=dataset,
                repo_type="dataset",
                commit_message=f"Add {Path(folder).resolve().name}",
                delete_patterns=_REPLACED,
            )
        except Exception as error:  # the library raises its own and those of its HTTP client
            reason = truncate(redact(" ".join(str(error).split())), 300, 100)
            raise FormalimgError(f"the Hub did not take {dataset}: {reason}") from error
    return PushedRun(f"{api.endpoint}/datasets/{dataset}", str(commit.oid), image_count, rows, digest)


def _stage_dataset(
    folder: str | Path, stage: Path, dataset: str, made_with: str, *, images: bool = True, licence: str = ""
) -> tuple[int, int, str]:
    """Write the dataset files of a run to an empty folder; return the image and row counts and the bundle digest.

    With images it is an ImageFolder: `images/metadata.jsonl` has a row for each of them. Images without a verdict have
    a row that says why. What has no image has a row in `verdicts.jsonl`, which lists all.
    """
    bundle = write_bundle([folder], stage / BUNDLE, made_with)
    with closing(open_run(folder)) as run:
        (stage / "run.toml").write_bytes((run.folder / "run.toml").read_bytes())
        rows, listed = [], []
        for judged in run.judged():
            row = _verdict_row(run, judged)
            rows.append(row)
            if images and judged.image is not None:
                name = judged.image.name
                try:
                    data = judged.image.read_bytes()
                except OSError as error:
                    raise FormalimgError(f"cannot push {judged.image}: {error.strerror}") from error
                (stage / IMAGES).mkdir(exist_ok=True)
                (stage / IMAGES / name).write_bytes(data)
                listed.append({"file_name": name, **row})
        (stage / VERDICTS).write_bytes(lines_bytes(rows))
        if listed:
            (stage / IMAGES / METADATA).write_bytes(lines_bytes(listed))
    card = model_card(folder, figures=stage / "figures", beside=stage)
    text = data_card(run.manifest, dataset, card.text, bundle.digest, len(rows), len(listed), licence)
    (stage / "README.md").write_bytes(text.encode())
    return len(listed), len(rows), bundle.digest


def _verdict_row(run: StoredRun, judged: Judged) -> dict[str, object]:
    outcome, item, judge = judged.outcome, run.items[judged.outcome.item], run.manifest.judge
    failure = Failure(run.manifest.suite, item, judged) if outcome.passed is False else None
    return {
        "suite": run.manifest.suite,
        "model": run.manifest.model.name,
        "judge": judge.name if judge else None,
        "item": outcome.item,
        "level": outcome.level,
        "sample": outcome.sample,
        "seed": judged.seed,
        "prompt": item.prompt,
        "passed": outcome.passed,
        "score": outcome.score,
        "unscored": outcome.reason or None,
        "what_failed": list(failure.what_failed) if failure else [],
        "sha256": judged.sha256 or None,
    }


def _open_hub() -> Any:
    """Return a Hub client that uses the token of the user."""
    try:
        from huggingface_hub import HfApi, get_token
    except ImportError as error:
        raise FormalimgError(f"pushing needs the library huggingface_hub: {install_line('hf')}") from error
    if not get_token():
        raise FormalimgError("there is no token for the Hub: set HF_TOKEN, or run `hf auth login`")
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)


def data_card(
    manifest: RunManifest, dataset: str, card: str, digest: str, rows: int, images: int, licence: str = ""
) -> str:
    """Return the data card as Markdown, with the metadata block that the Hub reads."""
    title = ", ".join(filter(None, [f"{manifest.model.name} on {suite(manifest.suite).title}", manifest.items_label]))
    if images == rows:
        contents = f"{count_noun(images, 'image')}, each with its prompt, its verdict, and what it fails to show."
    else:
        present = f"of which {images:,} are here" if images else "which are not here"
        contents = (
            f"The verdicts on {count_noun(rows, 'image')}, {present}, each with its prompt and what it fails to show."
        )
    image_files = "- `images/`: the images, and `images/metadata.jsonl` with a row for each of them;"
    code = ["from datasets import load_dataset", "", f'images = load_dataset({json.dumps(dataset)}, split="test")']
    lines = [
        "---",
        *_metadata_lines(manifest, title, rows, images, licence),
        "---",
        "",
        f"# {markdown_escape(title)}",
        "",
        f"{contents} Written by {markdown_escape(manifest.made_with)}.",
        "",
        *([image_files] if images else []),
        "- `verdicts.jsonl`: a row for each image that was asked for, also where there is none, with the reason;",
        "- `run.toml`: what the run was asked to do;",
        "- `bundle.zip`: items, verdicts of all judges, raw answers, versions and digests.",
        "",
        markdown_code(code, "python"),
        "`bundle.zip` holds everything that the numbers follow from. Its digest is",
        f"`sha256:{digest}`; this computes all of them again:",
        "",
        markdown_code([f"formalimg share verify bundle.zip --digest sha256:{digest}"], "sh"),
        card,
    ]
    return "\n".join(lines)


def _metadata_lines(manifest: RunManifest, title: str, rows: int, images: int, licence: str) -> Iterator[str]:
    sizes = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    size = next((name for limit, name in sizes if rows < limit), "n>1M")
    if licence:
        yield f"license: {json.dumps(licence)}"
    yield f"pretty_name: {json.dumps(visible(title, one_line=True), ensure_ascii=False)}"
    yield "task_categories:\n- text-to-image"
    yield f"size_categories:\n- {size}"
    yield "tags:\n" + "\n".join(f"- {json.dumps(tag)}" for tag in ("formalimg", "evaluation", manifest.suite))
    path = "images/**" if images else "verdicts.jsonl"
    yield f"configs:\n- config_name: default\n  data_files:\n  - split: test\n    path: {json.dumps(path)}"
