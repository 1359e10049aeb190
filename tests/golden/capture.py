"""What the golden tests share: the command line, a provider on this machine, and what is kept of files and tables.

This is the only file of these tests that uses names of the package or of its other tests. The rest speaks to the
command line, and reads files.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import io
import json
import os
import re
import shutil
import sqlite3
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from email.parser import BytesParser
from email.policy import HTTP as HTTP_POLICY
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

from PIL import Image

import formalimg
from tests.support.command import Result
from tests.support.command import formalimg as run_command_line

HERE = Path(__file__).parent
DATA = HERE / "data"
RUNS = HERE / "runs"
PACKAGE = Path(formalimg.__file__).parent

UPDATING = os.environ.get("FORMALIMG_UPDATE_GOLDEN", "")
"""`data`: golden files are written, not compared. `runs`: stored run folders are made anew, too."""

SERVER = "base_url=http://models.golden/v1"
"""An address that only the provider on this machine answers to, as a proxy: it is the same wherever tests run."""

Answer: TypeAlias = dict[str, Any]
Author: TypeAlias = Callable[[str, Mapping[str, Any], int], Answer]
"""What is answered: from the words of a question, the fields of the answer's form, and the number of its turn."""


# --- the command line


def command(*arguments: str, cwd: Path, proxy: str = "http://127.0.0.1:9", stdin: bytes = b"") -> Result:
    """Run the command line in a folder, with nothing of this machine's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith(("_PROXY", "_KEY", "_URL"))}
    own = {
        "HTTP_PROXY": proxy,
        "OPENAI_API_KEY": "sk-golden-0a1b2c3d4e5f",
        "FORMALIMG_CACHE": str(cwd / "cache"),
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }
    with patch.dict(os.environ, {**kept, **own}, clear=True):
        return run_command_line(*arguments, stdin=stdin, cwd=cwd)


# --- golden files


def check(name: str, found: object) -> None:
    """Compare plain data with its golden file; or write that, when golden files are updated."""
    path = DATA / f"{name}.json"
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if UPDATING:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.is_file(), f"there is no golden file {path.name}: make it with python -m tests.golden.update"
    there = json.loads(path.read_text(encoding="utf-8"))
    # What models are asked counts word by word; explanations for people may be worded anew, but not their numbers.
    if name.startswith("talks/"):
        assert json.loads(text) == there
    else:
        found, there = without_sentences(json.loads(text)), without_sentences(there)
        assert like_golden(found, there) == there


def like_golden(found: Any, there: Any) -> Any:
    """Return what was found with the measured numbers of the golden file where both differ by rounding alone.

    What a grounder measures is rounded to two digits. Processors add up in different orders, so that the last digit of
    12.285 is an 8 on one and a 9 on another.
    """
    if isinstance(found, dict) and isinstance(there, dict):
        return {key: like_golden(value, there.get(key)) for key, value in found.items()}
    if isinstance(found, list) and isinstance(there, list) and len(found) == len(there):
        return [like_golden(one, other) for one, other in zip(found, there, strict=True)]
    if isinstance(found, float) and isinstance(there, float) and abs(found - there) <= 0.011:
        return there if abs(found - there) <= abs(there) / 1000 else found
    return found


def golden(name: str) -> Any:
    """What a golden file holds; None if there is none."""
    path = DATA / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


# --- a provider


class Provider:
    """A server that paints by the prompt, and answers questions as it did when the golden files were made.

    Attributes:
        asked: how often each request came in, by its digest.
        answered: how many pictures and answers went out.
        requests: the requests themselves.
    """

    def __init__(self, talk: str, author: Author | None) -> None:
        """A provider that does not serve yet.

        Args:
            talk: the golden file with questions and answers.
            author: who answers questions that are not in it, when golden files are updated.
        """
        self._talk = talk
        self._author = author if UPDATING else None
        known = golden(talk) or []
        self._known = {} if self._author else {_digest(one["request"]): one.get("reply") for one in known}
        self._replies: dict[str, object] = {}
        self._lock = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.answered = 0
        self.requests: dict[str, dict[str, Any]] = {}
        self.url = ""

    @contextlib.contextmanager
    def serving(self) -> Iterator[Provider]:
        """Serve as long as this lasts."""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status, answer = provider.answer(self.path, self.headers.get("content-type", ""), body)
                provider.answered += status == 200
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # named so by the library
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join(10)
            server.server_close()

    def answer(self, path: str, kind: str, body: bytes) -> tuple[int, object]:
        """Status and answer to a request."""
        request = {"path": re.sub(r"^http://[^/]+", "", path), **_request(kind, body)}
        digest = _digest(request)
        with self._lock:
            self.asked[digest] += 1
            self.requests[digest] = request
        if "/images/" in path:
            return _painted(request)
        if self._author is not None:
            self._replies[digest] = _spoken(self._author, request)
        said = self._replies.get(digest, self._known.get(digest))
        if said is None:
            return 418, {"error": {"message": f"not asked when the golden files were made: {digest}"}}
        return 200, _completion(request["model"], json.dumps(said))

    def check(self) -> None:
        """All requests, and how often each came, are those of the golden file."""
        told = [
            {"request": self.requests[digest], "times": self.asked[digest], "reply": self._reply(digest)}
            for digest in sorted(self.asked)
        ]
        check(self._talk, told)

    def _reply(self, digest: str) -> object:
        return self._replies.get(digest, self._known.get(digest))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def pixels(data: bytes) -> str:
    """A digest of what a picture shows, whoever compressed it."""
    with Image.open(io.BytesIO(data)) as image:
        shown = image.convert("RGB")
        return f"{image.width}x{image.height}:{hashlib.sha256(shown.tobytes()).hexdigest()[:24]}"


def _request(kind: str, body: bytes) -> dict[str, Any]:
    """What was asked for, with digests in place of pictures."""
    if "multipart" not in kind:
        plain = re.sub(
            r'data:(image/\w+);base64,([^"]+)',
            lambda found: f"{found[1]} {pixels(base64.b64decode(found[2]))}",
            body.decode(),
        )
        asked: dict[str, Any] = json.loads(plain)
        return asked
    fields: dict[str, Any] = {}
    for part in BytesParser(policy=HTTP_POLICY).parsebytes(f"content-type: {kind}\r\n\r\n".encode() + body).walk():
        if not part.is_multipart():
            name, value = str(part.get_param("name", header="content-disposition")), part.get_payload(decode=True)
            assert isinstance(value, bytes)
            fields[name] = pixels(value) if name.startswith("image") else value.decode()
    return fields


def _painted(request: Mapping[str, Any]) -> tuple[int, object]:
    """A picture that follows from the prompt; some are refused, and some are of one colour."""
    number = hashlib.sha256(str(request["prompt"]).encode()).digest()
    if number[31] % 16 == 3:
        return 400, {"error": {"message": "rejected", "type": "user_error", "code": "moderation_blocked"}}
    flat = number[31] % 16 == 5
    rows = b"".join(
        b"\0" + bytes(number[1] if flat else (number[(x // 8) % 32] * (y + 1) + 3 * x) % 256 for x in range(64))
        for y in range(64)
    )
    data = b"\x89PNG\r\n\x1a\n"
    for name, content in (
        (b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 0)),
        (b"IEND", b""),
    ):
        data += struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return 200, {"created": 1_700_000_000, "data": [{"b64_json": base64.b64encode(data).decode()}]}


def _completion(model: str, text: str) -> object:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": f"{model}-2025-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def _spoken(author: Author, request: Mapping[str, Any]) -> Answer:
    texts: list[str] = []
    for message in request["messages"]:
        content = message["content"]
        texts += [content] if isinstance(content, str) else [part["text"] for part in content if part["type"] == "text"]
    turn = sum(message["role"] == "assistant" for message in request["messages"])
    wanted = request.get("response_format", {}).get("json_schema")
    schema = wanted["schema"] if wanted else {"properties": {"categories": {}}}  # only captions are asked without
    return author("\n\n".join(texts), schema, turn)


# --- who answers when golden files are made


def judge(question: str, schema: Mapping[str, Any], turn: int) -> Answer:
    """Judges, planners and readers of captions: an answer by chance, first one that cannot be used now and then."""
    chance = hashlib.sha256(question.encode()).digest()
    spoilt = turn == 0 and chance[31] % 6 == 0
    fields = schema["properties"]
    if "categories" in fields:
        return {"categories": ["object", "color"] if chance[0] % 2 else ["object"]}
    if "thoughts" in fields:
        return {"thoughts": "side by side", "objects": _seen(question, chance)}
    if "objects" in fields:
        seen = _seen(question, chance)
        return {"objects": [{**one, "box_2d": [1, 2, 3]} for one in seen] if spoilt else seen}
    if "observations" in fields:
        clauses = _clauses(question)[1 if spoilt else 0 :]
        judged = [
            {"clause": clause, "because": "it is seen", "holds": chance[n % 30] % 12 > 0}
            for n, clause in enumerate(clauses)
        ]
        return {"observations": ["a thing"], "clauses": judged, "fulfilled": all(one["holds"] for one in judged)}
    if "satisfies_constraint" in fields:
        clauses = _clauses(question)
        holding = [clause for n, clause in enumerate(clauses) if chance[n % 30] % 5]
        return {"satisfies_constraint": len(holding) == len(clauses), "satisfied_clauses": holding}
    if "observation" in fields:
        return {"observation": "it is seen", "answer": "perhaps" if spoilt else ("no", "yes", "yes")[chance[0] % 3]}
    if "answers" in fields:
        return {"answers": _numbered(question, json.dumps(schema), chance, spoilt)}
    scores = [7 if spoilt else (0, 0.5, 1)[chance[n] % 3] for n in range(len(fields))]
    return {name: {"reasoning": "so it is", "score": score} for name, score in zip(fields, scores, strict=True)}


def _numbered(question: str, schema: str, chance: bytes, spoilt: bool) -> list[Answer]:
    count = len(re.findall(r"^\d+[.:)] ", question.rpartition("The questions:\n")[2], re.MULTILINE))
    assert count, question
    told: list[Answer] = []
    for n in range(count - spoilt):
        given = (
            {"reasoning": "so it is", "score": (0, 0.25, 0.5, 1)[chance[n] % 4]}
            if '"score"' in schema
            else {"observation": "it is seen", "answer": ("no", "yes", "yes")[chance[n] % 3]}
        )
        told.append({"number": n + 1, **given})
    return told


def _seen(question: str, chance: bytes) -> list[Answer]:
    found = re.search(r"The (?:kind|list):\n(.+)\Z", question)
    listed = re.search(r"The list:\n(.+)", question)
    # Asked again, it mixes labels up; of a list one of them is right, as an image without any would be unscored.
    labels = found[1].split(", ") if found else ["cup", listed[1].split(", ")[0] if listed else "pen"]
    unit = 0.064 if "in pixels" in question else 1
    return [
        {
            "label": label.replace(" ", "_"),
            "color": "red",
            "box_2d": [round(unit * place) for place in (left, top, left + 120, top + 90)],
        }
        for n, label in enumerate(labels[:4])
        for left, top in [(200 * n + chance[n] // 4, 100 + chance[n + 8] * 2)]
    ]


def _clauses(question: str) -> list[str]:
    found = re.search(r"lauses, one on each line:\n(.+?)(?:\n\n|\Z)", question, re.DOTALL)
    if found:
        return found[1].splitlines()
    return re.findall(r"^\s*(\([A-Z]\w+ [^()]*\))\s*$", question, re.MULTILINE)


def write_formulas(question: str, schema: Mapping[str, Any], turn: int) -> Answer:
    """Writes FormalImg by the assignment, and finds nothing wrong with it."""
    from tests.benchmarks_authoring.scripted import honest_draft, review

    return honest_draft(question) if "Your assignment" in question else review()


def write_concepts(question: str, schema: Mapping[str, Any], turn: int) -> Answer:
    """Writes ConceptMix as it is told."""
    from tests.benchmarks_authoring import mixer

    return mixer.right_answer(mixer.step_of(schema), question)


def write_worlds(question: str, schema: Mapping[str, Any], turn: int) -> Answer:
    """Writes CF-World as it is told."""
    from tests.benchmarks_authoring import counterfactual_author

    return counterfactual_author.right_answer(counterfactual_author.step_of(schema), question)


# --- studies


def make_rated_study(run: Path, folder: Path, protocol: str) -> None:
    """A study of three raters, two of whom have answered; needed only to make the stored ones."""
    from formalimg.human_eval.study import open_study
    from formalimg.human_eval.study_builder import create_study
    from formalimg.runs.reader import open_run
    from tests.human_eval.rated_runs import take

    def say(task: Any, step: Any) -> Any:
        chance = hashlib.sha256(f"{task.words} {step.name}".encode()).digest()[0]
        match step.kind:
            case "likert":
                return 1 + chance % 5
            case "score":
                return (0, 0.5, 1)[chance % 3]
            case "boxes":
                return {"objects": [{"label": "cup", "color": "red", "box_2d": [100, 100, 300, 400]}]}
            case _:
                return bool(chance % 2)

    with contextlib.closing(open_run(run)) as opened:
        made: Any = create_study
        checks = 0.2 if protocol == "likert" else 0.0
        made(folder, [opened], protocol, raters=3, per_image=2, checks=checks, seed=3, made_with="formalimg")
    with open_study(folder) as study:
        take(study, "rater-1", say)
        take(study, "rater-2", say, most=3)


# --- what is stored


def keep(folder: Path) -> None:
    """Put a run or a study among those that are stored, but for what speaks of this machine."""
    shutil.rmtree(RUNS / folder.name, ignore_errors=True)
    shutil.copytree(folder, RUNS / folder.name, ignore=shutil.ignore_patterns("lock", "*-wal", "*-shm"))


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+]00:00)")
_UNSTEADY = {"seconds", "at", "bytes"}
"""Columns that differ from run to run, or with the library that compresses pictures."""


def normal(text: str, folder: Path | None = None) -> str:
    """A text without times, paths and the version."""
    if folder is not None:
        text = text.replace(str(folder.resolve()), "DIR").replace(str(folder), "DIR")
    text = _TIME.sub("TIME", text)
    text = re.sub(r'(?<=made_with = ")[^"]*', "VERSION", text)
    return re.sub(r"formalimg \d+\.\d+\.\d+[\w.+]*", "formalimg VERSION", text)


def schema(path: Path) -> list[str]:
    """The tables, indices and triggers of a database, without comments."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        found = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name").fetchall()
    return [re.sub(r"\s+", " ", re.sub(r"--.*", "", sql)).strip() for (sql,) in found]


def rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, as they are."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {
            name: sorted((dict(row) for row in database.execute(f"SELECT * FROM {name}")), key=repr)
            for (name,) in tables
            if not name.startswith("sqlite_")
        }


def stored(folder: Path, base: Path) -> dict[str, Any]:
    """All that a folder holds, without what differs from time to time."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    pictures = {
        hashlib.sha256(path.read_bytes()).hexdigest(): f"pixels {pixels(path.read_bytes())}"
        for path in files
        if path.suffix == ".png"
    }

    def steady(text: str) -> str:
        for digest, shown in pictures.items():
            text = text.replace(digest, shown)
        return normal(text, base)

    found: dict[str, Any] = {}
    for path in files:
        name = path.relative_to(folder).as_posix()
        if name == "lock" or name.endswith(("-wal", "-shm")):
            continue
        if path.suffix == ".png":
            found[name] = pixels(path.read_bytes())
        elif path.suffix == ".sqlite":
            tables = {
                table: sorted(
                    (
                        {
                            column: None if column in _UNSTEADY else steady(value) if isinstance(value, str) else value
                            for column, value in row.items()
                        }
                        for row in content
                    ),
                    key=repr,
                )
                for table, content in rows(path).items()
            }
            found[name] = {"schema": schema(path), "rows": tables}
        else:
            found[name] = text_pin(name, steady(path.read_text(encoding="utf-8")))
    return found


def text_pin(name: str, text: str) -> object:
    """What is kept of a file: numbers of what is made for people, and a digest of what is long."""
    if name.endswith((".md", ".txt")):
        return numbers(text)
    if name.endswith(".json"):
        return without_sentences(json.loads(text))
    return text.splitlines() if len(text) < 30_000 else hashlib.sha256(text.encode()).hexdigest()


def table_rows(form: str, text: str) -> list[str]:
    """The numbers in the tables of a report, row by row; what is said around them does not count."""
    if form == "html":
        return cells(text)
    is_row = {"md": r"^\s*\|", "latex": r"&.*\\\\", "terminal": r"\S {2,}\S"}[form]
    return [numbers(line) for line in text.splitlines() if re.search(is_row, line)]


_SENTENCES = {"caption", "remarks", "description", "citeAs", "title", "notes", "note", "explanation", "detail"}
"""Fields of JSON files that hold sentences for people: what counts there are the numbers."""

_WORD_BY_WORD = {
    "prompt",
    "formula",
    "clause",
    "words",
    "question",
    "criteria",
    "raw",
    "served",
    "label",
    "content",
    "sql",
}
"""Fields whose texts are data, however long they are."""

_SENTENCE = re.compile(r"[^\W\d_]+(?:\W+[^\W\d_]+){3,}")


def without_sentences(value: object, field: str = "") -> object:
    """Return plain data in which sentences are replaced by their numbers, also in JSON texts as databases hold them."""
    if isinstance(value, dict):
        return {name: without_sentences(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_sentences(inner, field) for inner in value]
    if not isinstance(value, str) or field in _WORD_BY_WORD:
        return value
    if value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return without_sentences(json.loads(value), field)
    # In columns and reports a reason is a code; in the parts of a verdict it is a sentence, which may begin with ?x = …
    is_sentence = field in _SENTENCES or (
        field in ("reason", "text") and (_SENTENCE.match(value) or value.startswith("?"))
    )
    return numbers(value) if is_sentence else value


_NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:[.,]\d+)*|–|—(?=\s|$)")


def numbers(text: str) -> str:
    """The numbers of a text, in their order."""
    return " ".join(found for found in _NUMBER.findall(text) if found not in "–—")


def cells(page: str) -> list[str]:
    """The numbers in each row of the tables of an HTML page."""
    found = []
    for row in re.findall(r"<tr\b.*?</tr>", page, re.DOTALL):
        texts = re.findall(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", row, re.DOTALL)
        found.append(" | ".join(numbers(html.unescape(re.sub(r"<[^>]+>", " ", text))) for text in texts))
    return found
