"""Files for recruiting raters on a platform: one link per rater, and the code that shows that one has finished."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from formalimg._util.io import atomic_write
from formalimg._util.text import csv_table
from formalimg.errors import FormalimgError


def recruitment_files(addresses: Mapping[str, str], codes: Mapping[str, str]) -> dict[str, str]:
    """Return the files with the links of raters, by name; each link is for one person.

    - `links.csv`: rater, link and completion code, for any way of sending them, and to check the codes;
    - `mturk.csv`: the input of a batch of Amazon Mechanical Turk with one task per rater: `${link}` in its template;
    - `prolific.json`: the access details of a study with several links on Prolific, one place each.
    """
    details = [{"external_url": link, "total_allocation": 1} for link in addresses.values()]
    return {
        "links.csv": csv_table(
            [
                ("rater", "link", "completion_code"),
                *((rater, link, codes.get(rater, "")) for rater, link in addresses.items()),
            ]
        ),
        "mturk.csv": csv_table([("link",), *((link,) for link in addresses.values())]),
        "prolific.json": json.dumps({"access_details": details}, indent=2) + "\n",
    }


def write_recruitment(addresses: Mapping[str, str], codes: Mapping[str, str], out: str | Path) -> tuple[Path, ...]:
    """Write the files with the links of raters into a folder, readable only by its owner, and return their paths."""
    home = Path(out)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write to {home}: {error.strerror}") from error
    found = []
    for name, text in recruitment_files(addresses, codes).items():
        atomic_write(home / name, [text.encode()])
        (home / name).chmod(0o600)  # whoever has a link can answer in the name of its rater
        found.append(home / name)
    return tuple(found)
