"""Queues to review, and somebody who does it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from formalimg.benchmarks.cfworld.authoring.review_desk import GroupDesk
from formalimg.benchmarks.cfworld.authoring.review_queue import export_queue
from formalimg.benchmarks.cfworld.items import builtin_groups
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup
from formalimg.web.review import create_review_app
from tests.web.sites import HARM

OURS = builtin_groups()
OWN = {"Origin": "http://127.0.0.1:8423"}
FINE = " It is a fine day."
"""What any prompt of ours may say besides, as far as the checker is concerned."""


def queue_of(groups: list[CounterfactualGroup], folder: Path, name: str = "queue.jsonl") -> Path:
    """The queue that `formalimg items review export` writes for these groups."""
    made = folder / "made.jsonl"
    made.write_text("".join(json.dumps(vars(group)) + "\n" for group in groups), encoding="utf-8")
    export_queue(str(made), folder / name)
    return folder / name


def harmful_group() -> CounterfactualGroup:
    """A group whose every word tries to do harm."""
    return CounterfactualGroup(**dict.fromkeys(CounterfactualGroup.__dataclass_fields__, HARM))


def spoilt_group(group: CounterfactualGroup = OURS[1]) -> CounterfactualGroup:
    """A group that the checker objects to."""
    return replace(group, law="no sentence")


def asked(group: CounterfactualGroup) -> dict[str, Any]:
    """Questions as a model might have written them, as they stand in a queue."""

    def about(shows: str) -> list[dict[str, str]]:
        criteria = "1: yes. 0.5: nearly. 0: no."
        return [
            {"dimension": "integrity", "question": "Is it sharp?", "criteria": criteria},
            {"dimension": "logic", "question": "Does all of it keep to the rule?", "criteria": criteria},
            {"dimension": "assessment", "question": f"Is this so: {shows[:-1]}?", "criteria": criteria},
        ]

    return {"1": about(group.shows_factual), "2": about(group.shows)}


def reviewer(queue: Path, token: str | None = None) -> TestClient:
    """Somebody who reviews a queue, at this machine."""
    app = create_review_app(GroupDesk(queue), token=token)
    return TestClient(app, base_url="http://127.0.0.1:8423", headers=OWN)
