"""Bundles by a forger who knows the format: whatever is changed, all keys, counts, reports and digests fit again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formalimg.benchmarks.items_file import decode_item
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, part_to_json
from formalimg.judges.scene_judge import judge_grounding
from formalimg.reports.sharing.bundle import report_files, restored_runs, run_counts
from formalimg.reports.sharing.bundle_format import lines_bytes
from formalimg.runs.manifest import Identity
from formalimg.runs.plan import judge_key, plan_digest, question_key
from formalimg.runs.records import RunRecords
from formalimg.types import Verdict
from tests.reports.planted_changes import Files, edit_json, write_changed

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]
TABLES = ("items", "pictures", "judges", "verdicts")


class Forger:
    """The files of a bundle of one run, as tables, for whoever wants other numbers.

    Attributes:
        files: the files.
        tables: the tables of the run.
        keeps_report: whether the report stays as it is.
    """

    def __init__(self, files: Files) -> None:
        """Read the tables."""
        self.files = files
        self.name = json.loads(files["bundle.json"])["runs"][0]["name"]
        self.tables: Tables = {
            table: [json.loads(line) for line in files[self.path(f"{table}.jsonl")].splitlines()] for table in TABLES
        }
        self.keeps_report = False

    def path(self, name: str) -> str:
        """The path of a file of the run."""
        return f"runs/{self.name}/{name}"

    @property
    def verdicts(self) -> Rows:
        """The verdicts."""
        return self.tables["verdicts"]

    @property
    def failures(self) -> Rows:
        """The verdicts that fail."""
        return [row for row in self.verdicts if row["passed"] == 0 and "rule" not in row["evidence"]]

    def pictures_of(self, verdict: dict[str, Any]) -> Rows:
        """The images that a verdict is about."""
        return [row for row in self.tables["pictures"] if row["sha256"] == verdict["picture"]]

    def without_image(self, verdict: dict[str, Any], status: str) -> None:
        """Forget the images of a verdict, and the verdict."""
        for row in self.pictures_of(verdict):
            self.files.pop(self.path(f"images/{row['file']}"), None)
            row.update(status=status, file=None, sha256=None, bytes=None, width=None, height=None)
        self.verdicts[:] = [row for row in self.verdicts if row["picture"] != verdict["picture"]]

    def manifest(self, pattern: str, text: str) -> None:
        """Replace a text in the manifest."""
        path = self.path("run.toml")
        changed = re.sub(pattern, lambda _: text, self.files[path].decode(), flags=re.MULTILINE)
        assert changed.encode() != self.files[path], pattern
        self.files[path] = changed.encode()

    def rekey_items(self) -> None:
        """Make the keys of all items fit their records."""
        suite = re.search(r'^suite = "(.*)"', self.files[self.path("run.toml")].decode(), re.MULTILINE)
        assert suite
        for row in self.tables["items"]:
            item = decode_item(json.dumps(row["record"]), suite[1])
            old, row["question"] = row["question"], question_key(item)
            row.update(prompt=item.prompt, level=item.level)
            for verdict in self.verdicts:
                if verdict["question"] == old:
                    verdict["question"] = row["question"]
        digest = plan_digest(row["question"] for row in self.tables["items"])
        path = self.path("run.toml")
        self.files[path] = re.sub(rb'items_digest = ".*"', f'items_digest = "{digest}"'.encode(), self.files[path])

    def rekey_judge(self, number: int, **settings: object) -> None:
        """Give a judge other settings, and all its verdicts its new key; the manifest names it."""
        row = self.tables["judges"][number]
        row["settings"].update(settings)
        old, row["key"] = row["key"], judge_key(Identity(row["name"], row["settings"]))
        for verdict in self.verdicts:
            if verdict["judge"] == old:
                verdict["judge"] = row["key"]
        for name, value in settings.items() if row is self.tables["judges"][-1] else ():
            path = self.path("run.toml")
            lines = f"{name} = {json.dumps(value)}".encode()
            self.files[path] = re.sub(rb"(?m)^%s = .*$" % name.encode(), lines, self.files[path])

    def finish(self) -> None:
        """Write the tables, and make counts and reports fit."""
        for table, rows in self.tables.items():
            self.files[self.path(f"{table}.jsonl")] = lines_bytes(rows)
        journals = {name: self.files[self.path(name)] for name in ("looks.jsonl",) if self.path(name) in self.files}
        records = RunRecords(self.files[self.path("run.toml")], self.tables, journals)
        has_images = any("/images/" in name for name in self.files)
        counts = run_counts(self.name, records, images=has_images)
        edit_json(self.files, "bundle.json", lambda header: header["runs"].__setitem__(0, counts))
        if not self.keeps_report:
            with restored_runs({self.name: records}) as folders:
                self.files |= report_files(folders)


def write_forged(bundle: Path, target: Path, forge: Callable[[Forger], None]) -> Path:
    """A copy of a bundle that is forged."""

    def change(files: Files) -> None:
        forger = Forger(files)
        forge(forger)
        forger.finish()

    return write_changed(bundle, target, change, covered_up=True)


# --- the verdicts


def as_passed(row: dict[str, Any]) -> None:
    """Let a verdict and all its parts pass."""
    row.update(passed=1, score=1.0)
    for part in row["parts"]:
        part["score"] = 1.0


def passed_alone(forger: Forger) -> None:
    for row in forger.failures:
        row["passed"] = 1


def fenced_answers(forger: Forger) -> None:
    for row in forger.failures:
        as_passed(row)
        for request in row["evidence"]["answers"]:
            request["raw"] = [f"```json\n{raw}\n```" for raw in request["raw"]]


def raw_scores(forger: Forger) -> None:
    for row in forger.failures:
        as_passed(row)
        for told in row["evidence"]["scores"]:
            told["score"] = 1.0


def no_scene(forger: Forger) -> None:
    for row in forger.failures:
        as_passed(row)
        del row["evidence"]["scene"]


def witness(forger: Forger) -> None:
    """The scene that the item ships with, and the verdict that logic makes of it."""
    suite = "knolling"
    items = {row["question"]: decode_item(json.dumps(row["record"]), suite) for row in forger.tables["items"]}
    for row in forger.failures:
        spec: Any = items[row["question"]].spec
        made = judge_grounding(spec.formula, Grounding(spec.witness))
        assert isinstance(made, Verdict)
        assert made.passed
        evidence = json.loads(json.dumps(dict(made.evidence)))
        row.update(passed=1, score=made.score, parts=[part_to_json(part) for part in made.parts], evidence=evidence)


def absent(forger: Forger) -> None:
    for row in forger.failures:
        forger.without_image(row, "absent")


def threshold(forger: Forger) -> None:
    close = max(forger.failures, key=lambda row: row["score"])
    close["passed"] = 1


def part_weights(forger: Forger) -> None:
    for row in forger.failures:
        best = max(row["parts"], key=lambda part: part["score"])
        best["weight"] = 90.0
        total = sum(part["weight"] for part in row["parts"])
        row["score"] = sum(part["score"] * part["weight"] for part in row["parts"]) / total
        row["passed"] = int(row["score"] >= 0.5)


def not_a_number(forger: Forger) -> None:
    forger.keeps_report = True
    forger.verdicts[0]["parts"] = '[{"name": "a", "kind": "b", "score": NaN, "weight": 1, "about": [], "reason": ""}]'


def unscored_with_evidence(forger: Forger) -> None:
    for row in forger.failures:
        row.update(passed=None, score=None, parts=[], reason="not understood", detail="it cannot be seen")


def unscored_without_evidence(forger: Forger) -> None:
    for row in forger.failures:
        row.update(
            passed=None, score=None, parts=[], reason="judge failed", detail="openai/looker did not answer", evidence={}
        )


def refused_by_verdict(forger: Forger) -> None:
    """Verdicts that give the reason of an image model, although the images are there."""
    for row in forger.failures:
        row.update(passed=None, score=None, parts=[], reason="refused", detail="content policy", evidence={})


def other_rule(forger: Forger) -> None:
    for row in forger.verdicts[:2]:
        row.update(passed=0, score=0.0, parts=[], evidence={"rule": "too bright"})


def made_up_answers(forger: Forger) -> None:
    for row in forger.failures:
        as_passed(row)
        evidence = row["evidence"]
        for request in evidence["answers"]:
            request["raw"] = [re.sub(r'"answer": "no"', '"answer": "yes"', request["raw"][-1])]
        for told in evidence["observations"]:
            told["answer"] = "yes"


def second_judge(forger: Forger) -> None:
    """A function of somebody, which likes everything."""
    settings: dict[str, Any] = {"threshold": 0.5, "code": "0123456789abcdef"}
    key = judge_key(Identity("python/expert", settings))
    forger.tables["judges"].append({"key": key, "name": "python/expert", "settings": settings})
    first = forger.tables["judges"][0]["key"]
    for row in [row for row in forger.verdicts if row["judge"] == first]:
        forger.verdicts.append({**row, "judge": key, "passed": 1, "score": 1.0, "parts": [], "evidence": {}})


def rules_of_the_judge(forger: Forger) -> None:
    passed_alone(forger)
    for number in range(len(forger.tables["judges"])):
        forger.rekey_judge(number, judging_rules=7)


def other_version(forger: Forger) -> None:
    """A version of the judge that nobody has, so that nobody lets it look again."""
    witness(forger)
    forger.rekey_judge(0, version=2)


def no_prompts(forger: Forger) -> None:
    """A chat model that is said to be a grounder, and the scenes of witnesses in place of its answers."""
    witness(forger)
    for number, row in enumerate(forger.tables["judges"]):
        for name in [name for name in row["settings"] if name.startswith("prompt")]:
            del row["settings"][name]
        forger.rekey_judge(number)
    forger.manifest(r"^prompt(_again)? = .*\n", "")


def other_requests(forger: Forger) -> None:
    """Questions that were asked alone are said to have been asked all at once."""
    forger.rekey_judge(0, requests="all at once")


# --- the images


def swapped_images(forger: Forger) -> None:
    """A failing item gets the image of a passing one of another level, with verdicts as if it had been its own."""
    failed = forger.failures[0]
    passed = next(row for row in forger.verdicts if row["passed"] == 1)
    (bad,), (good,) = forger.pictures_of(failed), forger.pictures_of(passed)
    bad_path, good_path = (forger.path(f"images/{row['file']}") for row in (bad, good))
    forger.files[bad_path], forger.files[good_path] = forger.files[good_path], forger.files[bad_path]
    for name in ("sha256", "bytes", "width", "height"):
        bad[name], good[name] = good[name], bad[name]
    failed["picture"], passed["picture"] = passed["picture"], failed["picture"]


def copied_sample(forger: Forger) -> None:
    """A failing image of an item is replaced by a copy of another one that passes."""
    wins = {(row["question"], row["picture"]) for row in forger.verdicts if row["passed"] == 1}
    questions = {row["id"]: row["question"] for row in forger.tables["items"]}
    rows = [row for row in forger.tables["pictures"] if row["status"] == "made"]
    for bad in rows:
        for good in rows:
            question = questions[bad["item"]]
            is_better = (question, good["sha256"]) in wins and (question, bad["sha256"]) not in wins
            if bad["item"] == good["item"] and is_better:
                forger.files[forger.path(f"images/{bad['file']}")] = forger.files[forger.path(f"images/{good['file']}")]
                bad.update(sha256=good["sha256"], bytes=good["bytes"])


def never_made(forger: Forger) -> None:
    for row in forger.failures:
        forger.without_image(row, "planned")


def refused(forger: Forger) -> None:
    for row in forger.failures:
        for picture in forger.pictures_of(row):
            picture["detail"] = "content policy"
        forger.without_image(row, "refused")


def wider_images(forger: Forger) -> None:
    """Sizes on which boxes in pixels depend."""
    for row in forger.tables["pictures"]:
        row["width"] *= 2


def witness_without_images(forger: Forger) -> None:
    witness(forger)
    for name in [name for name in forger.files if "/images/" in name]:
        del forger.files[name]


# --- the plan


def easier_prompts(forger: Forger) -> None:
    forger.tables["items"][0]["record"]["prompt"] = "One cup."
    forger.rekey_items()


def moved_level(forger: Forger) -> None:
    """A failure counts for the highest level, where nobody expects better."""
    failed = next(row for row in forger.tables["items"] if row["question"] == forger.failures[0]["question"])
    failed["record"]["level"] = 3 - failed["record"]["level"] // 2
    forger.rekey_items()


def deleted_items(forger: Forger) -> None:
    gone = {row["question"] for row in forger.failures}
    ids = {row["id"] for row in forger.tables["items"] if row["question"] in gone}
    for row in forger.failures:
        forger.without_image(row, "planned")
    forger.tables["items"][:] = [row for row in forger.tables["items"] if row["id"] not in ids]
    forger.tables["pictures"][:] = [row for row in forger.tables["pictures"] if row["item"] not in ids]
    forger.rekey_items()


def item_weights(forger: Forger) -> None:
    """The weights of the questions themselves, in items and verdicts alike."""
    part_weights(forger)
    for row in forger.tables["items"]:
        for question in row["record"]["questions"]:
            weights = [
                part["weight"]
                for verdict in forger.verdicts
                if verdict["question"] == row["question"]
                for part in verdict["parts"]
                if part["name"] == question["question"]
            ]
            question["weight"] = max(weights, default=question["weight"])
    forger.rekey_items()


def other_seed(forger: Forger) -> None:
    forger.manifest(r"^seed = .*$", "seed = 4711")


def other_model(forger: Forger) -> None:
    forger.manifest(r'^name = "openai/painter"$', 'name = "openai/gpt-image-9"')


# --- beside


def report_alone(forger: Forger) -> None:
    forger.keeps_report = True
    report = json.loads(forger.files["report.json"])
    report["sections"][0]["runs"][0]["overall"]["value"] = 1.0
    forger.files["report.json"] = json.dumps(report).encode()


def no_costs(forger: Forger) -> None:
    for row in (*forger.tables["pictures"], *forger.verdicts):
        row.update(cost=0.0, unpriced=0)


def human_labels(forger: Forger) -> None:
    forger.files["ratings.csv"] = b"item,rater,passed\n0,1,yes\n"


def file_of_the_run(forger: Forger) -> None:
    forger.files[forger.path("ratings.csv")] = b"item,rater,passed\n0,1,yes\n"


def better_looks(forger: Forger) -> None:
    """A look that counts failures as passed, with the decision that follows."""
    path = forger.path("looks.jsonl")
    lines = [json.loads(line) for line in forger.files[path].splitlines()]
    look = next(line for line in lines[1:] if line["failed"])
    look["passed"], look["failed"] = look["passed"] + look["failed"], []
    lines = lines[: lines.index(look) + 1]
    for decision in ("going on", "held", "lost", "undecided"):
        look["decision"] = decision
        forger.files[path] = lines_bytes(lines)
        try:
            forger.finish()
            return
        except FormalimgError:
            continue
    raise AssertionError("no decision follows")
