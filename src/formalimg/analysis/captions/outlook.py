"""What a study by a chat model would ask, before it asks anything."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.captions.asking import asked_of, asking_for, question_text
from formalimg.analysis.captions.kept_answers import ANSWERS_FILE, KeptAnswers
from formalimg.analysis.captions.reading import read_captions
from formalimg.errors import FormalimgError
from formalimg.models import ChatModel, Usage, price

_CHARACTERS_PER_TOKEN = 4
_FORM = 150
"""Tokens for the form of the answer, roughly."""
_ANSWER = 40
"""Tokens of an answer, roughly; a model that thinks takes more."""


class Outlook(NamedTuple):
    """What a study would do.

    Attributes:
        captions: how many captions there are.
        to_ask: how many questions it would ask: one for each different caption that has no answer yet.
        cost: about what they would cost, in US dollars; None if nobody knows the price.
        first: what would be sent first; empty if nothing would.
    """

    captions: int
    to_ask: int
    cost: float | None
    first: str


def estimate_study(
    path: str | Path,
    model: ChatModel,
    *,
    column: str | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    prompts: Path | None = None,
) -> Outlook:
    """What `study_captions` would ask with the same arguments. Nothing is asked or written.

    Raises:
        FormalimgError: as `study_captions` would.
    """
    question = question_text(prompts)
    folder = Path(out) if out is not None and (Path(out) / ANSWERS_FILE).exists() else None
    captions, sent, first = 0, 0, ""
    seen: set[str] = set()
    with closing(KeptAnswers(folder, asked_of(model, question))) as kept:
        for caption in read_captions(Path(path), column=column, limit=limit):
            captions += bool(caption.text)
            if caption.text and caption.text not in seen and kept.get(caption.text) is None:
                seen.add(caption.text)
                words = asking_for(caption.text, question)
                sent += len(words) // _CHARACTERS_PER_TOKEN + _FORM
                first = first or words
    if not captions:
        raise FormalimgError(f"there are no captions in {path}: give a file with at least one")
    usage = Usage(input_tokens=sent, output_tokens=_ANSWER * len(seen))
    return Outlook(captions, len(seen), price(model.name).cost(usage) if seen else 0.0, first)
