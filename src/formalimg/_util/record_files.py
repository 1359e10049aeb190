"""Read lists that users write: JSON Lines, JSON, CSV, or plain lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formalimg._util.plain_files import refuse_special_file
from formalimg._util.strict_json import loads_strict
from formalimg._util.text import read_csv_cell
from formalimg.errors import FormalimgError

_MAX_BYTES = 100_000_000


def read_records(place: Path, only: str) -> list[Mapping[str, Any]]:
    """Return the records of a JSON Lines, JSON or CSV file; of any other file, its lines under the name `only`.

    Raises:
        FormalimgError: if it cannot be read.
    """
    try:
        refuse_special_file(place)
        with place.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise FormalimgError(f"cannot read {place}: it has more than {_MAX_BYTES:,} bytes, split it")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise FormalimgError(f"cannot read {place}: {error.strerror or error}: check the path") from error
    except UnicodeDecodeError:
        raise FormalimgError(f"cannot read {place}: it is not UTF-8, save it with that encoding") from None
    try:
        match place.suffix.lower():
            case ".jsonl" | ".ndjson":
                found = [loads_strict(line) for line in text.splitlines() if line.strip()]
            case ".json":
                found = loads_strict(text)
            case ".csv":
                rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
                found = [{name: read_csv_cell(cell) for name, cell in row.items() if cell} for row in rows]
            case _:
                return [{only: line.strip()} for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError, csv.Error, AttributeError, TypeError) as error:
        raise FormalimgError(f"cannot read {place}: {' '.join(str(error).split())[:200]}: fix the file") from None
    if isinstance(found, list) and all(isinstance(record, str) for record in found):
        found = [{only: record} for record in found]
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise FormalimgError(f"cannot read {place}: it must hold a list of objects such as {json.dumps({only: '…'})}")
    return found
