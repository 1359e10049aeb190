"""The model-card section of a run, and its dataset on the Hugging Face Hub with a data card."""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from formalimg._util.installing import install_line
from formalimg._util.text import truncate, visible
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.models.secrets import redact
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import RunRow, Section, settings_text
from formalimg.reports.figures.runs import comparison_figures
from formalimg.reports.figures.svg import FigureFormat, write_figures
from formalimg.reports.main_table import main_table
from formalimg.reports.results.result import Failure, find_failures
from formalimg.reports.sharing.bundle import write_bundle
from formalimg.reports.sharing.bundle_format import lines_bytes
from formalimg.reports.tables.format import count_noun, format_interval, format_value, join_names
from formalimg.reports.tables.markup import markdown_code, markdown_escape, render_markdown
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.runs.plan import Selection, plan_digest, question_key
from formalimg.runs.reader import Judged, StoredRun, open_run

_MAX_FIGURES = 2
_MAX_FAILURES = 3
_MAX_WEAK = 3
_MIN_ASKED = 5  # Of fewer clauses, a share says nothing


class ModelCard(NamedTuple):
    """A section of a model card."""

    text: str  # the section, in Markdown; it refers to its figures by file name
    figures: tuple[Path, ...]  # the files of its figures


def model_card(
    folder: str | Path,
    *,
    judge: Identity | None = None,
    figures: Path | None = None,
    beside: Path | None = None,
    formats: Sequence[FigureFormat] = ("png",),
    heading: int = 2,
) -> ModelCard:
    """Return the model-card section of a run."""
    with closing(open_run(folder, judge)) as run:
        comparison = compare([run])
        section = comparison.sections[0]
        row, marks = section.rows[0], "#" * (heading + 1)
        failures = list(_failure_lines(run, row, section, marks))
        commands, notes = reproduction(run)
    drawings = comparison_figures(comparison)[:_MAX_FIGURES] if figures is not None else ()
    paths = write_figures(drawings, figures, formats) if figures is not None and drawings else ()
    embedded = [path for path in paths if path.suffix == f".{formats[0]}"]
    is_whole = all(row.summary.overall.scored == row.summary.overall.expected for row in section.rows)
    figures_text = []
    for path, figure in zip(embedded, drawings, strict=True):
        link = quote(Path(os.path.relpath(path, beside) if beside else path).as_posix())
        title, note = markdown_escape(figure.title), markdown_escape(plain_caption(figure.note, is_whole=is_whole))
        figures_text.append(f"![{title}]({link})\n\n*{title}.* {note}\n")
    main = main_table(section, comparison)
    caption, *remarks = (plain_caption(note, is_whole=is_whole) for note in main.notes)
    note = plain_caption(main.interval_note, is_whole=is_whole)
    main = replace(main, notes=(caption, *filter(None, remarks)), interval_note=note)
    table = render_markdown(main).split("\n", 2)[2]  # without its heading
    parts = [
        f"{'#' * heading} {markdown_escape(section.title)}\n",
        f"{_headline_text(row, section)}\n",
        table,
        *figures_text,
        *failures,
        f"{marks} How to reproduce\n",
        *([markdown_code(commands, "sh")] if commands else []),
        "".join(
            f"- {markdown_escape(note)}\n"
            for note in (*notes, f"The items have the digest {row.manifest.items_digest}.")
        ),
    ]
    return ModelCard("\n".join(parts).rstrip() + "\n", paths)


def _headline_text(row: RunRow, section: Section) -> str:
    """Return one or two sentences on the result: the overall rate with its interval, coverage, and G."""
    overall, manifest, suite = row.summary.overall, row.manifest, section.suite
    judge = manifest.judge.name if manifest.judge else None
    name = f"**{markdown_escape(manifest.model.name)}**"
    if overall.value is None:
        return f"{name}: no image is scored{'' if judge else ', because none is judged'}."
    # The number that stands for the run, as the main table has it: the mean of all levels, or of all images.
    bands = row.summary.bands.values()
    all_levels = {level for band in bands for level in band.levels}
    whole = (band for band in bands if set(band.levels) == all_levels and band.value is not None)
    number = next(whole, overall)
    verb, preposition, unit = ("has a mean score of", "over", "") if suite.has_scores else ("passes", "of", " %")
    value = f"{format_value(number.value, suite.scale)}{unit}"
    ends = format_interval(number.interval, suite.scale, compact=True)
    interval = f" ({100 * row.summary.confidence:g} % interval {ends}{unit})" if ends else ""
    sentences = [f"{name} {verb} **{value}** {preposition} {count_noun(overall.scored, 'image')}{interval}"]
    if overall.scored < overall.expected:
        sentences.append(f"Not scored: {overall.expected - overall.scored:,} of {overall.expected:,} images")
    general = row.summary.generalizability
    if general is not None and general.value is not None:
        rate, interval = f"a rate of {100 * general.epsilon:g} %", f"(interval {general.low} to {general.high})"
        sentences.append(
            f"It holds {rate} up to {suite.level} {general.value} {interval}"
            if general.value
            else f"It does not hold {rate} even at the first {suite.level} {interval}"
        )
    return f"{'. '.join(sentences)}. Judged by {markdown_escape(judge or 'nobody')}."


def _failure_lines(run: StoredRun, row: RunRow, section: Section, marks: str) -> Iterator[str]:
    """Yield the kinds of clauses that fail most often, and descriptions of a few failed images."""
    failures = find_failures(run, None, _MAX_FAILURES)
    if not failures or section.suite.has_scores:
        return
    yield f"{marks} What fails\n"
    tallies = [(name, tally) for name, tally in row.predicates.items() if tally.asked >= _MIN_ASKED and tally.failed]
    weakest = sorted(tallies, key=lambda entry: -entry[1].share)[:_MAX_WEAK]
    if weakest:
        shares = [f"{markdown_escape(name)} ({tally.failed:,} of {tally.asked:,})" for name, tally in weakest]
        yield f"Most often: {join_names(shares)}.\n"
    lines = []
    for failure in failures:
        prompt = " ".join(failure.prompt.split())
        missing = "; ".join(text.rstrip(".") for text in failure.what_failed[:_MAX_WEAK])
        item = f"item {markdown_escape(failure.item)}, “{markdown_escape(prompt)}”"
        lines.append(f"- {item}: {markdown_escape(missing)}\n")
    yield "".join(lines)


# --- how to reproduce a run: the command that asks for the same images, as far as its manifest tells

_OWN_ITEMS = "ITEMS"  # Stands for a file that only its owner knows
_WITHOUT_WORDS = "-without-words"  # How conditions end in which the model is given the layout alone


class Reproduction(NamedTuple):
    """Commands for reproducing a run, and notes on what else is needed."""

    commands: tuple[str, ...]
    notes: tuple[str, ...]


def reproduction(run: StoredRun) -> Reproduction:
    """Return the commands that repeat a run with the same images and judge, and notes on what else is needed."""
    manifest = run.manifest
    if manifest.imported:
        note = f"The answers were imported from {manifest.imported}; the images are not part of it."
        return Reproduction((), (note,))
    selection = _selection_options(run)
    notes = [f"Made with {manifest.made_with}, begun {manifest.created}."]
    if selection is None:
        notes.append(f"{_OWN_ITEMS} stands for the items, which are not those shipped with formalimg.")
    words = ["formalimg", "run", manifest.suite, *_option_words("--model", manifest.model.name)]
    words += _option_words("--judge", manifest.judge.name) if manifest.judge else []
    words += ["--items", _OWN_ITEMS] if selection is None else selection
    words += _setting_options(manifest)
    unprintable = next((word for word in words if visible(word, one_line=True) != word), None)
    if unprintable is not None:
        notes.append(f"No command is given, as a part of it has control characters: {unprintable}.")
    for role, party in (("model", manifest.model), ("judge", manifest.judge)):
        if party is not None and party.settings:
            notes.append(f"The {role} {party.name} had the settings {settings_text(party.settings)}.")
    if manifest.layouts:
        notes.append(f"Layouts were given to the model: {manifest.layouts}.")
    return Reproduction((shlex.join(words),) if unprintable is None else (), tuple(notes))


def _setting_options(manifest: RunManifest) -> list[str]:
    """Return the image-related options of a run that differ from their defaults."""
    is_image, without_words = manifest.task == "image", manifest.condition.endswith(_WITHOUT_WORDS)
    values = {
        "--samples": (manifest.samples, 1),
        "--seed": (manifest.seed, 1),
        "--size": (manifest.size, 1024),
        "--task": (manifest.task, "image"),
        "--condition": (manifest.condition.removesuffix(_WITHOUT_WORDS), ""),
        "--rewriter": (str(manifest.model.settings.get("rewriter", "")), ""),
        "--words": ("without" if without_words else "with", "with"),
        "--style": (manifest.style if is_image else "none", "none"),
    }
    words = [
        word for name, (value, usual) in values.items() if value != usual for word in _option_words(name, str(value))
    ]
    return [*words, "--adaptive"] if manifest.adaptive else words


def _option_words(name: str, value: str) -> list[str]:
    """Return an option and its value as arguments, joined by `=` if the value starts with a dash."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _selection_options(run: StoredRun) -> list[str] | None:
    """Return the options that select a run's items from its suite, or None if the suite has other items."""
    manifest = run.manifest
    try:
        everything = load(manifest.suite)
    except FormalimgError:  # a suite without items of its own
        return None
    if plan_digest(map(question_key, everything)) == manifest.items_digest:
        return []
    counts = Counter(item.level for item in run.items.values())
    levels = sorted(counts)
    every_level = levels == sorted({item.level for item in everything})
    options = []
    if not every_level:  # as the option has them: 1-3,7
        starts = [level for level in levels if level - 1 not in levels]
        ends = [level for level in levels if level + 1 not in levels]
        ranges = (f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))
        options = ["--levels", ",".join(ranges)]
    for per_level in (None, max(counts.values(), default=None)):
        try:
            items = Selection(None if every_level else levels, per_level).of(everything)
        except FormalimgError:  # levels that the suite does not have
            return None
        if plan_digest(map(question_key, items.values())) == manifest.items_digest:
            return [*options, *(["--per-level", str(per_level)] if per_level else [])]
    return None


# --- captions for readers who cannot run the command: without names of options, and without rules that had no effect

_RULE = re.compile(r"Images? without a (?:verdict|score)")
_HINTS = re.compile(r" \(missing: \w+\)|: see --[\w-]+")
_OPTION = re.compile(r"(?:^|[\s(`])-{1,2}[a-z]|\bformalimg [a-z]+")


def plain_caption(text: str, *, is_whole: bool) -> str:
    """Return a caption or remark without sentences that mention options or commands."""
    sentences = (_HINTS.sub("", sentence) for sentence in re.split(r"(?<=[.:;]) (?=[A-Z])", text))
    return " ".join(
        sentence for sentence in sentences if not (_OPTION.search(sentence) or (is_whole and _RULE.match(sentence)))
    )


# --- push to the Hugging Face Hub

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

    With images it is an ImageFolder: `images/metadata.jsonl` has a row for each of them. The row of an image without a
    verdict has the reason. `verdicts.jsonl` lists everything that is planned, including missing images.
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
