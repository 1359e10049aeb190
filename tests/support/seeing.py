"""A chat model that sees: a loopback server that answers by a table of what each image shows."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.loopback import Asked

_WRITING = "The prompt:\n"


@dataclass
class SeeingModel:
    """What it says, from what is known of the images; anything that is not in its tables is an error of the test.

    Attributes:
        shown: the questions and clauses that are true of each image, by the digest of its bytes.
        known: all questions that may be asked; None for any.
        written: the questions that it writes for each prompt, as plain data, or texts that are no list of questions;
            the first of them for the first request, and so on.
        asked: the questions and prompts that came in.
    """

    shown: Mapping[str, set[str]]
    known: set[str] | None = None
    written: Mapping[str, list[object]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> str:
        text = "\n".join(asked.texts)
        if "gave to an image generator" in text:
            prompt = text.partition(_WRITING)[2].splitlines()[0]
            before = self.asked.count(prompt)
            self.asked.append(prompt)
            reply = self.written[prompt][before]
            return reply if isinstance(reply, str) else json.dumps({"questions": reply})
        [image] = asked.images
        true = self.shown[hashlib.sha256(image).hexdigest()]
        if "Its clauses, one on each line:" in text:
            clauses = _clauses(text)
            self.asked.extend(clauses)
            judged = [{"clause": one, "because": "it is to be seen", "holds": one in true} for one in clauses]
            return json.dumps({"observations": [], "clauses": judged, "fulfilled": all(one in true for one in clauses)})
        if "The questions:\n" in text:
            listed = re.findall(r"^\d+\. (.*)$", text.partition("The questions:\n")[2], re.MULTILINE)
            self.asked.extend(listed)
            return json.dumps(
                {"answers": [{"number": n, **self._answer(one, true)} for n, one in enumerate(listed, 1)]}
            )
        question = text.partition("The question:\n")[2].splitlines()[0]
        self.asked.append(question)
        return json.dumps(self._answer(question, true))

    def _answer(self, question: str, true: set[str]) -> dict[str, str]:
        assert self.known is None or question in self.known, question
        return {"observation": "I looked.", "answer": "yes" if question in true else "no"}


def _clauses(text: str) -> list[str]:
    lines = text.partition("Its clauses, one on each line:\n")[2].splitlines()
    return [line for line in lines if line.startswith("(")]


def question(name: str, words: str, *parents: str, category: str = "object") -> dict[str, object]:
    """A question as a chat model writes it."""
    return {"id": name, "category": category, "question": words, "parents": list(parents)}
