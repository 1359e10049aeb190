"""Bundles with something changed in them: naively, or with all digests made to fit again."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Files = dict[str, bytes]
Change = Callable[[Files], None]


def read_files(bundle: Path) -> Files:
    """All files of a bundle, by name."""
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_changed(bundle: Path, target: Path, change: Change, *, covered_up: bool) -> Path:
    """A copy of a bundle with a change in it.

    Args:
        bundle: the bundle.
        target: the copy.
        change: changes the files in place.
        covered_up: whether the digests of all files, and that of the header, are made to fit the changed files.
    """
    files = read_files(bundle)
    change(files)
    if covered_up:
        header = json.loads(files["bundle.json"])
        header["files"] = {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for name, data in sorted(files.items())
            if name != "bundle.json"
        }
        files["bundle.json"] = json.dumps(header, indent=2).encode()
    with zipfile.ZipFile(bundle) as archive:
        comment = archive.comment
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.comment = (
            b"sha256:" + hashlib.sha256(files["bundle.json"]).hexdigest().encode() if covered_up else comment
        )
    return target


def edit_records(files: Files, path: str, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the records of a file of JSON lines."""
    records = [json.loads(line) for line in files[path].splitlines()]
    edit(records)
    files[path] = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()


def edit_json(files: Files, path: str, edit: Callable[[Any], None]) -> None:
    """Change a JSON file."""
    data = json.loads(files[path])
    edit(data)
    files[path] = json.dumps(data, indent=2).encode()


def changes(run: str) -> Mapping[str, Change]:
    """One change of each kind, in a bundle of one run of this name, with images."""
    here = f"runs/{run}"

    def verdict(files: Files) -> None:
        def flip(records: list[dict[str, Any]]) -> None:
            failed = next(row for row in records if row["passed"] == 0)
            failed["passed"] = 1

        edit_records(files, f"{here}/verdicts.jsonl", flip)

    def digest(files: Files) -> None:
        edit_records(files, f"{here}/pictures.jsonl", lambda rows: rows[0].update(sha256="0" * 64))

    def label(files: Files) -> None:
        """The label of what the judge saw, and the verdict hangs on."""

        def rename(records: list[dict[str, Any]]) -> None:
            evidence = next(row for row in records if row["passed"] == 1 and row["evidence"]["bindings"])["evidence"]
            objects, bound = evidence["scene"]["objects"], min(evidence["bindings"].values())
            for one in [one for one in objects if one["label"] == objects[bound]["label"]]:
                one["label"] = "violin"

        edit_records(files, f"{here}/verdicts.jsonl", rename)

    def count(files: Files) -> None:
        edit_json(files, "bundle.json", lambda header: header["runs"][0].update(items=999))

    def image(files: Files) -> None:
        name = next(name for name in files if "/images/" in name)
        files[name] = files[name][:-20] + bytes(20)

    def raw_answer(files: Files) -> None:
        def reword(records: list[dict[str, Any]]) -> None:
            records[0]["evidence"]["explanation"] = "it looks right"

        edit_records(files, f"{here}/verdicts.jsonl", reword)

    def version(files: Files) -> None:
        path = f"{here}/run.toml"
        files[path] = files[path].replace(b'made_with = "formalimg', b'made_with = "formalimg 9.9.9, was')

    def removed_item(files: Files) -> None:
        def remove(records: list[dict[str, Any]]) -> None:
            gone = records.pop(0)["id"]
            edit_records(files, f"{here}/pictures.jsonl", lambda rows: _drop(rows, gone))
            edit_records(files, f"{here}/verdicts.jsonl", lambda rows: _drop(rows, gone))

        edit_records(files, f"{here}/items.jsonl", remove)

    def added_item(files: Files) -> None:
        def add(records: list[dict[str, Any]]) -> None:
            new = json.loads(json.dumps(records[0]))
            new["id"] = new["record"]["id"] = "extra"
            new["position"] = 1 + max(row["position"] for row in records)
            records.append(new)

        edit_records(files, f"{here}/items.jsonl", add)

    def table_number(files: Files) -> None:
        def raise_rate(report: Any) -> None:
            report["sections"][0]["runs"][0]["overall"]["value"] += 0.01

        edit_json(files, "report.json", raise_rate)

    def printed_number(files: Files) -> None:
        head, _, row = files["report.md"].decode().partition("\n| builtin/reader | ")
        number, _, rest = row.partition(" ")
        files["report.md"] = f"{head}\n| builtin/reader | {float(number) / 2:.1f} {rest}".encode()

    def level(files: Files) -> None:
        edit_records(files, f"{here}/items.jsonl", lambda rows: rows[0].update(level=rows[0]["level"] + 1))

    def prompt(files: Files) -> None:
        edit_records(files, f"{here}/items.jsonl", lambda rows: rows[0].update(prompt="A red cup."))

    def judge_setting(files: Files) -> None:
        edit_records(files, f"{here}/judges.jsonl", lambda rows: rows[0]["settings"].update(judging_rules=7))

    def score(files: Files) -> None:
        edit_records(files, f"{here}/verdicts.jsonl", lambda rows: rows[0].update(score=0.123))

    def removed_image(files: Files) -> None:
        del files[next(name for name in files if "/images/" in name)]

    def added_image(files: Files) -> None:
        files[f"{here}/images/more.png"] = b"\x89PNG"

    return {
        "a verdict": verdict,
        "a digest": digest,
        "a label": label,
        "a count": count,
        "an image": image,
        "a raw answer": raw_answer,
        "a version": version,
        "a removed item": removed_item,
        "an added item": added_item,
        "a table number": table_number,
        "a printed number": printed_number,
        "a level": level,
        "a prompt": prompt,
        "a setting of the judge": judge_setting,
        "a score": score,
        "a removed image": removed_image,
        "an added image": added_image,
    }


def _drop(rows: list[dict[str, Any]], item: str) -> None:
    rows[:] = [row for row in rows if row["item"] != item]
