"""P(yes) and first-token probabilities from the log-probabilities of the answer token."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Completion
from formalimg.models.options import Options

LogprobsFields: TypeAlias = Mapping[str, object]  # request fields that ask for log-probabilities; empty for none

_MAX_ALTERNATIVES = 20  # the most alternatives that OpenAI and most servers list for a token
_ABOUT_LOGPROBS = re.compile(r"log[\s_-]?prob", re.IGNORECASE)
_YES_NO = ["yes", "no"]
_FIRST_LETTER = re.compile(r"[^\W_]")
_THOUGHTS_END = "</think>"
_AROUND = re.compile(r"^[\W_]+|[\W_]+$")
_MIN_ALTERNATIVES = 2  # with the chosen token alone, everything would be certain

_log = logging.getLogger(__name__)


def read_top_logprobs(options: Options, name: str) -> int | None:
    """Parse the options `logprobs` and `top_logprobs`; return the number of top tokens, or None."""
    enabled = options.flag("logprobs", False)
    count = options.integer("top_logprobs", None, minimum=_MIN_ALTERNATIVES, maximum=_MAX_ALTERNATIVES)
    if count is not None and not enabled:
        raise FormalimgError(f"top_logprobs of {name} has no effect without logprobs=true: give both, or neither")
    return (count or _MAX_ALTERNATIVES) if enabled else None


class LogprobsMode:
    """Requests log-probabilities from a chat completions server and computes P(yes) from them.

    Stops requesting them once the server refuses; later answers still count, but without P(yes).
    """

    def __init__(self, name: str, top: int | None) -> None:
        """Initialize with the number of top tokens to request, or None for no log-probabilities."""
        self._name = name
        self._top = top
        self._logged = False

    async def complete(
        self,
        send: Callable[[LogprobsFields], Awaitable[tuple[Completion, Mapping[str, Any]]]],
        schema: Mapping[str, object] | None,
    ) -> Completion:
        """Call `send` with log-probability fields, and retry without them if the server rejects them."""
        if self._top is None:
            return (await send({}))[0]
        try:
            completion, response = await send({"logprobs": True, "top_logprobs": self._top})
        except (CallError, FormalimgError) as error:  # OpenAI says of some models that the key may not ask for them
            if not _ABOUT_LOGPROBS.search(str(error)) or (isinstance(error, CallError) and error.kind != "rejected"):
                raise
        else:
            tokens = read_logprobs(response["choices"][0])
            if not tokens:
                self._tell("sends")
            first = {} if schema is not None else first_token_chances(tokens)
            return replace(completion, p_yes=yes_probability(tokens, schema), first_tokens=first)
        self._top = None
        self._tell("allows")
        return (await send({}))[0]

    def _tell(self, verb: str) -> None:
        if not self._logged:
            self._logged = True
            _log.info("%s: the server %s no log-probabilities: answers count, without P(yes)", self._name, verb)


class TokenLogprobs(NamedTuple):
    """A generated token, and the alternative tokens with their log-probabilities."""

    text: str
    alternatives: Sequence[tuple[str, float]]


def read_logprobs(choice: Mapping[str, Any]) -> list[TokenLogprobs]:
    """Return the tokens of a choice; empty if its log-probabilities are missing or malformed."""
    options = choice.get("logprobs")
    content = options.get("content") if isinstance(options, dict) else None
    if not isinstance(content, list):
        return []
    tokens = []
    for entry in content:
        if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
            return []  # where one is missing, nobody knows where the others stand
        listed = entry.get("top_logprobs")
        alternatives = list(_read_alternatives(listed if isinstance(listed, list) else []))
        chosen = next(_read_alternatives([entry]), None)
        if chosen is not None and alternatives and chosen[0] not in (text for text, _ in alternatives):
            alternatives.append(chosen)  # drawn at a temperature above 0, it need not be among the likeliest
        tokens.append(TokenLogprobs(entry["token"], alternatives))
    return tokens


def _read_alternatives(entries: Sequence[Any]) -> Iterator[tuple[str, float]]:
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("token"), str):
            logprob = entry.get("logprob")
            if isinstance(logprob, int | float) and not isinstance(logprob, bool) and logprob < 1:  # NaN is not
                yield entry["token"], min(float(logprob), 0.0)


def yes_probability(tokens: Sequence[TokenLogprobs], schema: Mapping[str, object] | None) -> float | None:
    """Return P(yes) relative to yes and no at the first token of the answer.

    Tokens are compared ignoring case, and ignoring blanks, quotes and full stops around the word.
    """
    field = _yes_no_field(schema) if schema is not None else ""
    if field is None:
        return None
    token = _answer_token(tokens, field)
    return None if token is None else _share_of_yes(token.alternatives)


def first_token_chances(tokens: Sequence[TokenLogprobs]) -> dict[str, float]:
    """Return the probability of each alternative for the first token of a plain-text answer.

    Blanks around tokens are ignored; tokens that are not among the alternatives are missing.
    """
    token = _answer_token(tokens, "")
    if token is None or len(token.alternatives) < _MIN_ALTERNATIVES:
        return {}
    chances: dict[str, float] = {}
    for text, logprob in token.alternatives:
        if word := text.strip():
            chances[word] = round(min(1.0, chances.get(word, 0.0) + math.exp(logprob)), 9)
    return chances


def _answer_token(tokens: Sequence[TokenLogprobs], field: str) -> TokenLogprobs | None:
    """Return the first token of the answer: of a JSON field's value, or of the first word of plain text."""
    start, end = _answer_start("".join(token.text for token in tokens), field), 0
    for token in tokens:
        end += len(token.text)
        if start is not None and end > start:
            return token
    return None


def _yes_no_field(schema: Mapping[str, object]) -> str | None:
    """Return the only yes/no field of the answer, or None if there is no such field or more than one."""
    fields = schema.get("properties")
    if not isinstance(fields, Mapping):
        return None
    names = [name for name, form in fields.items() if isinstance(form, Mapping) and form.get("enum") == _YES_NO]
    return names[0] if len(names) == 1 else None


def _answer_start(text: str, field: str) -> int | None:
    """Return the index of the yes or no, after any thoughts and, in JSON, within the field's value."""
    start = text.rfind(_THOUGHTS_END) + len(_THOUGHTS_END) if _THOUGHTS_END in text else 0
    if field:
        # Inside a JSON string the first quote would be escaped, so this is a field and no quotation.
        places = list(re.finditer(rf'(?<!\\)"{re.escape(field)}"\s*:\s*"', text[start:]))
        if not places:
            return None
        start += places[-1].end()
    names = _FIRST_LETTER.search(text, start)
    return names.start() if names else None


def _share_of_yes(alternatives: Sequence[tuple[str, float]]) -> float | None:
    if len(alternatives) < _MIN_ALTERNATIVES:
        return None
    mass = {"yes": 0.0, "no": 0.0}
    for text, logprob in alternatives:
        word = _AROUND.sub("", text).casefold()
        if word in mass:
            mass[word] += math.exp(logprob)
    total = sum(mass.values())
    return round(mass["yes"] / total, 6) if total > 0 else None
