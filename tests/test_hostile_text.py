"""One hostile alphabet through every output: read as its reader reads it, none has anything but text in it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from formalimg._util.text import csv_table, json_text, visible
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup
from formalimg.errors import FormalimgError
from formalimg.human_eval.study import open_study
from formalimg.reports.figures.svg import element, fit_text
from formalimg.reports.results.result import Evaluation
from formalimg.reports.sharing import cards
from formalimg.reports.sharing.cards import data_card
from formalimg.reports.tables.markup import (
    latex_escape,
    markdown_code,
    markdown_escape,
    render_html,
    render_latex,
    render_markdown,
)
from formalimg.reports.tables.model import Column, TableRow
from formalimg.runs.manifest import Identity, read_manifest, write_manifest
from formalimg.runs.reader import open_run
from formalimg.types import Table
from formalimg.web.annotation import create_annotation_app
from tests.support.command import formalimg
from tests.support.hostile_runs import FOLDER, forge
from tests.support.hostile_text import (
    ALPHABET,
    EVERYTHING,
    NAMES,
    csv_escapes,
    html_escapes,
    latex_escapes,
    markdown_escapes,
    svg_escapes,
    terminal_escapes,
)
from tests.web.review_queues import queue_of, reviewer
from tests.web.sites import visitor

Check: TypeAlias = Callable[[str], list[str]]
TEXTS = {name: text for name, text in ALPHABET.items() if not name.startswith("length")}


def _table(text: str) -> Table:
    columns = (Column(text), Column("rate", "percent", group=text, short=text))
    return Table("name", f"title {text}", columns, (TableRow((text, 0.5), run=text),), (text, "remark", text))


def _paragraphs(text: str) -> str:
    escaped = markdown_escape(text)
    return f"{escaped}\n\n- {escaped}\n\n**{escaped}** and {escaped}\n\n{markdown_code([text, text], 'sh')}\n"


ONE_BY_ONE: Mapping[str, tuple[Callable[[str], str], Check]] = {
    "terminal": (lambda text: visible(text, one_line=True), terminal_escapes),
    "Markdown": (_paragraphs, markdown_escapes),
    "Markdown table": (lambda text: render_markdown(_table(text)), markdown_escapes),
    "LaTeX": (latex_escape, latex_escapes),
    "LaTeX table": (lambda text: "\n".join(render_latex(_table(text))), latex_escapes),
    "CSV": (lambda text: csv_table([["a", "b"], [text, f"{text}{text}"]]), csv_escapes),
    "HTML": (lambda text: render_html(_table(text)), html_escapes),
    "SVG": (lambda text: str(element("svg", element("title", text), element("text", text, data_x=text))), svg_escapes),
    "JSON": (lambda text: json_text({text: [text]}), terminal_escapes),
}


@pytest.mark.parametrize("output", ONE_BY_ONE)
def test_every_text_of_the_alphabet_in_every_format(output: str) -> None:
    write, escapes = ONE_BY_ONE[output]
    assert {name: escaped for name, text in ALPHABET.items() if (escaped := escapes(write(text)))} == {}


def test_the_checks_find_what_is_not_escaped() -> None:
    raw: Sequence[tuple[str, Check, Callable[[str], str]]] = (
        ("control", terminal_escapes, str),
        ("markdown", markdown_escapes, lambda text: f"| a |\n| --- |\n| {text} |\n\n- {text}\n\n{text}"),
        ("latex", latex_escapes, str),
        ("formula", csv_escapes, str),
        ("html", html_escapes, lambda text: f'<p title="{text}">{text}</p>'),
        ("html", svg_escapes, lambda text: f"<svg>{text}</svg>"),
    )
    for kind, check, write in raw:
        of_kind = {name: text for name, text in ALPHABET.items() if name.startswith(kind)}
        harmless = [name for name, text in of_kind.items() if not check(write(text))]
        assert len(harmless) <= len(of_kind) // 3, (check.__name__, harmless)


def test_json_is_the_same_data() -> None:
    assert json.loads(json_text([EVERYTHING, "\ud800", *ALPHABET])) == [EVERYTHING, "\ud800", *ALPHABET]


def test_labels_of_any_length_are_cut_at_once() -> None:
    assert fit_text("long " * 200_000, 60.0) == "long long long…"


# --- everything that a folder of somebody else becomes


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    forge(folder)
    return folder


def _command(home: Path, *arguments: str) -> str:
    done = formalimg(*(re.sub("^(tensorboard:)?~", rf"\g<1>{home}/", word) for word in arguments))
    assert done.code == 0, done.err
    assert terminal_escapes(done.err) == []
    return done.out


def _files(folder: Path, suffix: str) -> Iterator[str]:
    files = [path for path in sorted(folder.rglob(f"*{suffix}")) if path.is_file()]
    assert files
    yield from (path.read_text(encoding="utf-8") for path in files)


_RUNS = ("~runs/0", "~runs/1", f"~runs/{FOLDER}")
_FORMATS: Mapping[str, Check] = {
    "terminal": terminal_escapes,
    "md": markdown_escapes,
    "latex": latex_escapes,
    "csv": csv_escapes,
    "json": terminal_escapes,
}
_STUDIES = {name: check for name, check in _FORMATS.items() if name != "latex"}

COMMANDS: Mapping[str, tuple[tuple[str, ...], Check]] = {
    **{f"report {name}": (("report", *_RUNS, "--format", name), check) for name, check in _FORMATS.items()},
    "report of all judges": (("report", *_RUNS, "--judges", "all"), terminal_escapes),
    **{
        f"agree {name}": (("agree", *_RUNS[:2], "--judges", "1", "2", "--format", name), check)
        for name, check in _STUDIES.items()
    },
    **{
        f"agree with a study {name}": (("agree", *_RUNS[:2], "--ratings", "~study", "--format", name), check)
        for name, check in _STUDIES.items()
    },
    **{
        f"diagnose {name}": (("cf-world", "diagnose", "~worlds", "--format", name), check)
        for name, check in _STUDIES.items()
    },
    "card": (("share", "card", _RUNS[0]), markdown_escapes),
    "card of a folder": (("share", "card", _RUNS[2]), markdown_escapes),
    "show": (
        ("items", "show", "conceptmix/item-3", *(word for run in _RUNS for word in ("--run", run))),
        terminal_escapes,
    ),
    "show items": (("items", "show", "conceptmix/item-4", "--items", "~items"), terminal_escapes),
    "census": (("items", "census", "conceptmix", "--items", "~items"), terminal_escapes),
    "plan": (("plan", "conceptmix", "--items", "~items"), terminal_escapes),
    "captions": (("items", "captions", "~captions.jsonl", "--format", "csv"), csv_escapes),
    "captions json": (("items", "captions", "~captions.jsonl", "--format", "json"), terminal_escapes),
    "prompts txt": (
        ("export", "conceptmix", "--items", "~items", "--prompts-only", "--format", "txt"),
        terminal_escapes,
    ),
    "prompts jsonl": (
        ("export", "conceptmix", "--items", "~items", "--prompts-only", "--format", "jsonl"),
        terminal_escapes,
    ),
    "prompts csv": (("export", "conceptmix", "--items", "~items", "--prompts-only", "--format", "csv"), csv_escapes),
    "raters": (("annotate", "~study", "--status"), terminal_escapes),
    "log": (("share", "log", *_RUNS, "--to", "tensorboard:~out/log"), terminal_escapes),
}


@pytest.mark.parametrize("output", COMMANDS)
def test_what_a_command_prints(home: Path, output: str) -> None:
    arguments, escapes = COMMANDS[output]
    text = _command(home, *arguments)
    assert text or output == "log"
    assert escapes(text) == []


WRITTEN: Mapping[str, tuple[tuple[str, ...], tuple[tuple[str, Check], ...]]] = {
    "report": (
        ("report", *_RUNS, "--out", "~out/report/page.html", "--figures", "~out/report/figures", "--figures-as", "svg"),
        (("page.html", html_escapes), (".svg", svg_escapes)),
    ),
    **{
        f"report {suffix}": (("report", _RUNS[0], "--out", f"~out/report-{suffix}/out.{suffix}"), ((suffix, check),))
        for suffix, check in {**_STUDIES, "tex": latex_escapes, "txt": terminal_escapes}.items()
        if suffix != "terminal"
    },
    "card": (("share", "card", _RUNS[0], "--out", "~out/card/card.md"), (("card.md", markdown_escapes),)),
    "captions": (("items", "captions", "~captions.jsonl", "--out", "~out/captions"), ((".csv", csv_escapes),)),
    "study": (("annotate", "~study", "--export", "~out/study"), ((".csv", csv_escapes),)),
    "export of a run": (("export", _RUNS[0], "--out", "~out/run"), ()),
    "export of items": (
        ("export", "conceptmix", "--items", "~items", "--license", "CC0-1.0", "--out", "~out/items"),
        (),
    ),
}


@pytest.mark.parametrize("output", WRITTEN)
def test_what_a_command_writes(home: Path, output: str) -> None:
    arguments, checks = WRITTEN[output]
    folder = next(home / "out" / Path(word).parts[1] for word in arguments if word.startswith("~out"))
    folder.mkdir(parents=True, exist_ok=True)
    assert terminal_escapes(_command(home, *arguments)) == []
    for suffix, escapes in checks:
        assert [escape for text in _files(folder, suffix) for escape in escapes(text)] == []


PAGES = (
    "/",
    "/?text=evil&sort=judge&group=suite",
    "/run?run=0",
    "/run?run=1&judge=0",
    "/gallery?run=0",
    "/item?run=0&item=item-3",
    "/item?run=1&item=item-6",
    "/items/conceptmix/item-4",
    "/compare?run=0&run=1",
    "/run?run=%3Cscript%20evil%3E%1b%5B2J%E2%80%AE",
    "/item?run=0&item=%3Cscript%20evil%3E%22%1b%5B2J",
)


@pytest.mark.parametrize("address", PAGES)
def test_pages_of_the_viewer(home: Path, address: str) -> None:
    text = visitor(home / "runs").get(address).text
    assert "evil" in text
    assert html_escapes(text) == []


def test_an_exported_site(home: Path, tmp_path: Path) -> None:
    text = _command(home, "view", "~small", "--export", str(tmp_path / "site"), "--export-images", "none")
    assert terminal_escapes(text) == []
    assert [escape for text in _files(tmp_path / "site", ".html") for escape in html_escapes(text)] == []


def test_answers_that_are_imported(home: Path) -> None:
    text = _command(home, "import", "answers", "~answers.csv", "--items", "~items.csv", "--out", "~out/imported")
    assert terminal_escapes(text) == []
    folders = sorted((home / "out" / "imported").iterdir())
    assert len(folders) == len(NAMES)
    assert all(folder.name.isascii() and folder.name.isprintable() for folder in folders)
    assert terminal_escapes(_command(home, "report", *map(str, folders))) == []


def test_pages_of_a_study(home: Path) -> None:
    with open_study(home / "study") as study:
        guest = TestClient(create_annotation_app(study, token=None), base_url="http://127.0.0.1:8422")
        link = f"/rate/{study.new_link('rater-1')}"
        pages = [guest.get(address).text for address in ("/", link, f"{link}/instructions", "/rate/%3Cb%20evil%3E")]
        assert "evil" in pages[1]
        assert [html_escapes(text) for text in pages] == [[]] * 4


def test_pages_of_a_review(tmp_path: Path) -> None:
    groups = [CounterfactualGroup(**dict.fromkeys(CounterfactualGroup.__dataclass_fields__, name)) for name in NAMES]
    guest = reviewer(queue_of(groups, tmp_path))
    for address in ("/", *(f"/group?{urlencode({'id': name})}" for name in NAMES), "/group?id=%3Cb%20evil%3E%1b"):
        text = guest.get(address).text
        assert "evil" in text
        assert html_escapes(text) == []


def test_what_notebooks_show(home: Path) -> None:
    evaluation = Evaluation(home / "runs" / "0")
    with closing(evaluation.run):
        failures = evaluation.failures()
        shown = [evaluation._repr_html_(), failures._repr_html_(), failures[0]._repr_html_()]
        shown += [evaluation.plot()._repr_html_(), evaluation.to_pandas()._repr_html_()]
        assert [html_escapes(text) for text in shown[:4]] == [[]] * 4
        assert [escape for escape in html_escapes(shown[4]) if escape.startswith("<")] == []
        assert [terminal_escapes(text) for text in (str(evaluation), repr(evaluation), str(failures))] == [[]] * 3


def test_data_cards(home: Path) -> None:
    with closing(open_run(home / "runs" / "0")) as run:
        text = data_card(run.manifest, "me/it", "", "0" * 64, 14, 14)
    _, metadata, body = text.split("---\n", 2)
    assert markdown_escapes(body) == []
    assert [line for line in metadata.splitlines() if "evil" in line and not line.startswith('pretty_name: "')] == []
    assert terminal_escapes(metadata) == []


def test_a_command_that_reproduces_a_run_is_one_command_with_its_names_or_is_not_given(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_items(suite: str) -> None:
        raise FormalimgError(f"{suite} has no items")

    monkeypatch.setattr(cards, "load", no_items)  # which takes longer than all else
    folder = home / "worlds"
    manifest = read_manifest(folder)
    commands = 0
    try:
        for name in (*TEXTS.values(), *NAMES):
            party = Identity(name, {})
            write_manifest(replace(manifest, model=party, judge=party, condition=name), folder)
            with closing(open_run(folder)) as run:
                found = cards.reproduction(run)
            assert [*map(terminal_escapes, found.commands)] == [[]] * len(found.commands)
            if not found.commands:
                assert terminal_escapes(name.replace("\n", "\r").replace("\t", "\r"))
                assert "control characters" in " ".join(found.notes)
                continue
            commands += 1
            (command,) = found.commands
            words = shlex.split(command)
            assert words[:3] == ["formalimg", "run", manifest.suite]
            assert {f"{option}={name}" for option in ("--model", "--judge", "--condition")} <= {
                *words,
                *(f"{option}={value}" for option, value in pairwise(words)),
            }
    finally:
        write_manifest(manifest, folder)
    assert commands > 40


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", FOLDER),
        ("report", "~runs/0", "--baseline", FOLDER),
        ("items", "show", f"conceptmix/{NAMES[0]}", "--items", "~items"),
        ("show", NAMES[0]),
        ("agree", "~runs/0", "--judges", NAMES[0], NAMES[1]),
        ("share", "card", "~runs/0", "--judge", NAMES[0]),
        ("census", NAMES[0]),
        ("export", NAMES[0], "--out", "~out/none"),
        ("items", "captions", f"~{FOLDER}"),
        ("formula", "check", f"~{FOLDER}"),
        ("import", "answers", "~captions.jsonl", "--items", "~items.csv"),
        ("import", "answers", "~answers.csv", "--items", "~items.csv", "--suite", NAMES[0]),
        ("view", f"~{FOLDER}"),
        ("annotate", f"~{FOLDER}"),
        ("cf-world", "diagnose", "~runs/0"),
        ("share", "verify", f"~{FOLDER}"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_messages_about_hostile_names_are_one_line(home: Path, arguments: tuple[str, ...]) -> None:
    words = (f"{home}/{word[1:]}" if word.startswith("~") else word for word in arguments)
    done = formalimg(*(word.replace("\0", "") for word in words))
    assert done.code == 2
    assert terminal_escapes(done.err + done.out) == []
    assert [line for line in done.err.splitlines() if line.startswith(("evil", "# evil", "|"))] == []
