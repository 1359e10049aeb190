"""Detection of API keys in text, and their replacement before storage."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus

from formalimg.models.base import MIN_KEY_LENGTH
from formalimg.models.secrets import find_secrets, register_secret
from formalimg.types import Setting

_MAX_LENGTH = 8192  # what goes beyond this of a longer value is not searched for
_REDACTED = "***"
_MIN_PART = 12  # number of successive characters of a key that are redacted wherever they stand
_GRAM = 6
_MAX_PLACES = 16  # number of places of a gram in keys that are tried; more have only keys such as aaaaaaaaaaaa
_BESIDE = re.compile(r"[\w.*-]*")
_MAX_BESIDE = 200  # what may stand beside a part of a key; bounded, because some messages are whole files
_ISSUED_KEYS = {
    mark: re.compile(pattern)
    for mark, pattern in {
        "sk-": r"\bsk-[\w-]{8,}",
        "AIza": r"\bAIza[\w-]{16,}",
        "hf_": r"\bhf_[A-Za-z0-9]{8,}",
        **{f"gh{kind}_": rf"\bgh{kind}_[A-Za-z0-9]{{16,}}" for kind in "oprsu"},
        "github_pat_": r"\bgithub_pat_\w{16,}",
        "xox": r"\bxox[a-z]-[\w-]{8,}",
        "AKIA": r"\bAKIA[A-Z0-9]{12,}",
        "ASIA": r"\bASIA[A-Z0-9]{12,}",
        "SG.": r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
        "eyJ": r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",  # a JSON Web Token
    }.items()
}
"""Patterns of the keys that well-known services issue, each by a substring that every match begins with."""
_MIN_ISSUED = 16
_SENT_KEY = re.compile(r"(?<=Bearer )\S{8,}")
_SHORTENED_KEY = re.compile(r"\*{3,}")  # what a provider shows of a key: its beginning, stars, its end

Span: TypeAlias = tuple[int, int]


class EncodedForm(NamedTuple):
    """An encoded form in which a key may be echoed."""

    text: str  # the key in this form
    minimum: int  # number of successive characters of it that count as an echo


class Redactor:
    """Finds echoes of the given keys in text and replaces them by `***`.

    Every text is sampled: the grams (six characters) at every n-th place are looked up among the grams of all forms of
    all keys. With n small enough, every echo holds one of the sampled grams, and there the forms are compared.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        """Build an index of these keys, which must have at least `MIN_KEY_LENGTH` characters."""
        keys = sorted(set(keys))
        self._places: dict[str, list[tuple[EncodedForm, int]]] = {}
        forms = sorted({form for key in keys for form in list_encoded_forms(key[:_MAX_LENGTH])})
        for form in forms:
            for position in range(len(form.text) - _GRAM + 1):
                places = self._places.setdefault(form.text[position : position + _GRAM], [])
                if len(places) < _MAX_PLACES:
                    places.append((form, position))
        self._stride = min((form.minimum for form in forms), default=MIN_KEY_LENGTH) - _GRAM + 1
        # The beginning or the end alone: messages like to show just that. Not of locations: those are ordinary words.
        secrets = [key for key in keys if not is_location(key)]
        self._beginnings = sorted({key[:MIN_KEY_LENGTH] for key in secrets})
        self._ends = sorted({key[-MIN_KEY_LENGTH:] for key in secrets})

    def redact_all(self, text: str) -> str:
        """Redact known keys, including partial and encoded ones, and strings that look like keys."""
        spans = [*self._find_echoes(text), *find_issued_keys(text)]
        if "Bearer " in text:
            spans += [match.span() for match in _SENT_KEY.finditer(text)]
        if "***" in text:
            spans += [_widen_span(text, *match.span()) for match in _SHORTENED_KEY.finditer(text)]
        for beginning in self._beginnings:
            spans += [_widen_span(text, *span, before=False) for span in _find_occurrences(text, beginning)]
        for end in self._ends:
            spans += [_widen_span(text, *span, after=False) for span in _find_occurrences(text, end)]
        return replace_spans(text, spans, _REDACTED)

    def redact_known(self, text: str) -> str:
        """Redact echoes of the given keys only."""
        return replace_spans(text, self._find_echoes(text), _REDACTED)

    def holds_key(self, text: str) -> bool:
        """Return whether a text contains an echo of a given key, or a key in the format of a well-known service."""
        return bool(self._find_echoes(text) or find_issued_keys(text, strict=True))

    def _find_echoes(self, text: str) -> list[Span]:
        places, spans, end = self._places, [], 0
        if not places:
            return []
        last = len(text) - _GRAM + 1
        hits = [start for start in range(0, last, self._stride) if text[start : start + _GRAM] in places]
        for start in hits:
            if start + _GRAM <= end:
                continue
            for form, position in places[text[start : start + _GRAM]]:
                span = _find_echo(text, start, form, position)
                if span is not None:
                    spans.append(span)
                    end = max(end, span[1])
        return spans


def find_issued_keys(text: str, *, strict: bool = False) -> list[Span]:
    """Return the spans of strings in the key format of a well-known service, such as `sk-…` or `hf_…`."""
    return [
        match.span()
        for mark, pattern in _ISSUED_KEYS.items()
        if mark in text  # mostly none is, and this is fast
        for match in pattern.finditer(text)
        if not strict or (len(match[0]) >= _MIN_ISSUED and any(letter.isdigit() for letter in match[0]))
    ]


def list_encoded_forms(key: str) -> Iterator[EncodedForm]:
    """Yield the forms of a key to redact: unchanged, reversed, escaped, base64 and hexadecimal."""
    raw = key.encode("utf-8", "replace")
    quoted = {quote(key, safe="", errors="replace"), quote(key, errors="replace"), quote_plus(key, errors="replace")}
    escaped = {json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1], html.escape(key)}
    lower = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text) for text in quoted}
    plain = {key, key[::-1], *quoted, *lower, *escaped, key.replace("/", "\\/")}
    in_base64 = {text for offset in range(3) for text in _base64_cores(raw, offset)}
    # The same number of bytes of the key takes 4/3 as many characters in base64, and twice as many in hexadecimal.
    for forms, minimum in (
        (plain, _MIN_PART),
        (in_base64, _MIN_PART * 4 // 3),
        ({raw.hex(), raw.hex().upper()}, _MIN_PART * 2),
    ):
        for form in forms:
            yield EncodedForm(form, len(form) if is_location(key) else min(minimum, len(form)))


def is_location(key: str) -> bool:
    """Return whether a value is a key file path or a URL, parts of which are not secret."""
    if key.startswith(("/", "~", "./", "../")) or "://" in key:
        return True
    return "/" in key and re.search(r"\.\w{2,5}$", key) is not None


def replace_spans(text: str, spans: Iterable[Span], replacement: str) -> str:
    """Return a text with these spans replaced, merging overlapping spans."""
    pieces, end = [], 0
    for start, stop in sorted(spans):
        if start >= end:
            pieces += [text[end:start], replacement]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def _base64_cores(raw: bytes, offset: int) -> Iterator[str]:
    """Yield the base64 characters that any text with these bytes at this offset contains, in both alphabets."""
    coded = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
    partial = (offset + len(raw)) % 3 != 0  # the last character then depends on what follows
    core = coded[(0, 2, 3)[offset] : len(coded) - partial]
    yield core
    yield core.translate(str.maketrans("+/", "-_"))


def _find_echo(text: str, start: int, form: EncodedForm, position: int) -> Span | None:
    """Return the longest common run of a form and the text around a matching gram, or None if it is too short."""
    whole, first = form.text, start - position
    if first >= 0 and text.startswith(whole, first):
        return first, first + len(whole)
    if form.minimum == len(whole):
        return None
    low, high = start, start + _GRAM
    while low > 0 and low > first and text[low - 1] == whole[low - 1 - first]:
        low -= 1
    while high < len(text) and high - first < len(whole) and text[high] == whole[high - first]:
        high += 1
    return (low, high) if high - low >= form.minimum else None


def _find_occurrences(text: str, part: str) -> Iterator[Span]:
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))


def _widen_span(text: str, start: int, stop: int, *, before: bool = True, after: bool = True) -> Span:
    """Extend a span to the rest of its word; the part before the span is limited to the length of a key."""
    if after:
        match = _BESIDE.match(text, stop, stop + _MAX_BESIDE)
        stop = match.end() if match else stop
    if before:
        match = _BESIDE.match(text[max(0, start - _MAX_BESIDE - 1) : start][::-1])
        length = match.end() if match else 0
        start -= length if length <= _MAX_BESIDE else 0
    return start, stop


SECRET = "<secret>"  # what is stored in place of a key
_SECRET_NAME = re.compile(
    r"(?:^|[-_. ])(?:api[-_]?key|key|token|secret|password|passwd|passphrase|authorization|auth|credentials?)$"
)
_ORDINARY_NAME = re.compile(
    r"(?:^|[-_.])(?:bos|eos|pad|sep|cls|mask|unk|stop|start|end|special|image|trigger|cache|sort|group|primary|foreign)"
    r"[-_](?:token|key)$"
)
"""Names with the same ending whose values are no secrets."""
_NAME_AND_VALUE = re.compile(
    r"""[A-Za-z][\w.-]{0,60}["']?[ ]?[:=][ ]?["']?(?:(?:Bearer|Basic|Token|Key)[ ]+)?"""
    r"""(?=(?P<value>[^\s"',;&}]{8,4096}))""",  # not consumed: in an address there may be further ones
    re.IGNORECASE,
)
_NAME = re.compile(r"[\w.-]+")
_REFERENCE = re.compile(r"\$\{?\w+\}?|\{\w+\}?|<secret>|(?:/|~|\.{1,2}/|[A-Za-z]:[\\/]).*", re.DOTALL)
"""Values under the name of a secret that are none: variables and placeholders, and paths of files with keys."""
_USER_IN_URL = re.compile(r"(?<=://)(?:[^\s/@?#:]*:[^\s/@?#]*|[^\s/@?#]{16,})(?=@)")
_HOST = re.compile(r"(?<=://)[^\s/?#]*")
_URL_TOKEN = re.compile(r"(?<![\w-])[\w-]{24,512}(?![\w-])", re.ASCII)
_TOKEN = re.compile(r"(?<![\w/\\-])[\w-]{24,512}(?![\w/\\-]|\.\w)", re.ASCII)
"""Words that may be keys. Outside of addresses none is the name of a file, a folder, or a part of a model's name."""
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
_RUN = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
_COMMON_PAIR = re.compile(
    "a[cdglnrst]|c[ehot]|d[ei]|e[acdlnrs]|fu|ge|h[aeo]|i[cdgmnorst]|l[aeilou]|"
    "m[aeo]|n[adegost]|o[dflmnrtu]|p[eir]|r[aeio]|s[ehist]|t[aehioru]|u[lnrst]|v[ei]"
)
"""The pairs of letters that words and names are made of; one in seven of all pairs."""


def mask_secrets(text: str) -> str:
    """Return a text with known keys and strings that look like keys replaced by `<secret>`.

    Everything that is replaced is also redacted from all messages from now on.
    """
    for secret in sorted(find_secrets(), key=len, reverse=True):
        if not is_location(secret):
            for form in {secret, quote(secret, safe="", errors="replace")}:
                text = text.replace(form, SECRET)
    spans = [*find_issued_keys(text, strict=True), *_find_named_values(text)]
    spans += [match.span() for match in _USER_IN_URL.finditer(text)]
    hosts = [match.span() for match in _HOST.finditer(text)]  # some services name servers at random
    tokens = (_URL_TOKEN if hosts else _TOKEN).finditer(text)
    spans += [
        match.span()
        for match in tokens
        if looks_random(match[0]) and not any(start <= match.start() < stop for start, stop in hosts)
    ]
    for start, stop in spans:
        _register_parts(text[start:stop])
    return replace_spans(text, spans, SECRET)


def mask_settings(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return settings with keys replaced by `<secret>`."""
    return {mask_secrets(name): _mask_value(name, value) for name, value in settings.items()}


class StoredSettings:
    """Cache of a model's masked settings, which are read for every image and question."""

    def __init__(self) -> None:
        self._given: Mapping[str, Setting] | None = None
        self._stored: Mapping[str, Setting] = {}

    def of(self, settings: Mapping[str, Setting]) -> Mapping[str, Setting]:
        """Return settings with keys replaced by `<secret>`, recomputed only if the settings change."""
        if settings != self._given:
            self._given, self._stored = dict(settings), mask_settings(settings)
        return self._stored


def mask_command(command: str, arguments: Sequence[str]) -> str:
    """Return a command line in which keys are replaced by `<secret>`; as it was written if there are none."""
    stored = [mask_secrets(argument) for argument in arguments]
    for position in range(1, len(arguments)):
        option = arguments[position - 1]
        if option.startswith("-") and "=" not in option and not arguments[position].startswith("-"):
            stored[position] = str(_mask_value(option.lstrip("-"), arguments[position]))
    if stored == list(arguments):
        return command
    plain = re.compile(r"[\w@%+=:,./{}<>-]+")
    return " ".join(argument if plain.fullmatch(argument) else shlex.quote(argument) for argument in stored)


def is_secret_name(name: str) -> bool:
    """Return whether an option with this name holds a secret, such as `api_key`, `X-Auth-Token` or `apiKey`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return _SECRET_NAME.search(plain) is not None and _ORDINARY_NAME.search(plain) is None


def looks_random(token: str) -> bool:
    """Return whether a token looks randomly generated like a key.

    Digests, revisions and UUIDs are hexadecimal and not taken for keys; nor are names, whose letters make words.
    """
    plain = re.sub("[_-]", "", token)
    if len(token) - len(plain) > 2 + len(token) // 16 or _HEXADECIMAL.fullmatch(plain):
        return False
    runs = _RUN.findall(plain)
    kinds = {"a" if run.islower() else "A" if run.isupper() else "0" for run in runs}
    if "0" not in kinds or (len(runs) - 1) / len(plain) < 0.25 or (len(kinds) < 3 and len(plain) < 32):
        return False
    pairs = [first + second for first, second in pairwise(plain.lower()) if first.isalpha() and second.isalpha()]
    return sum(_COMMON_PAIR.fullmatch(pair) is not None for pair in pairs) < 0.32 * len(pairs)


def _mask_value(name: str, value: Setting) -> Setting:
    if not isinstance(value, str):
        return value
    if len(value) >= MIN_KEY_LENGTH and is_secret_name(name) and not _REFERENCE.fullmatch(value):
        _register_parts(value)
        return SECRET
    return mask_secrets(value)


def _find_named_values(text: str) -> Iterator[Span]:
    """Yield the spans of values with secret names: api_key=…, "token": "…", X-Api-Key: …, ?key=…."""
    for match in _NAME_AND_VALUE.finditer(text):
        found_name = _NAME.match(text, match.start())
        name, value = found_name[0] if found_name else "", match["value"]
        # In prose a colon follows a key now and then; a word after it is a word.
        is_prose = name.lower() in ("key", "token", "secret") and value.strip(".!?").isalpha() and ":" in match[0]
        if is_secret_name(name) and not is_prose and not _REFERENCE.fullmatch(value):
            yield match.span("value")


def _register_parts(value: str) -> None:
    """Register a value and its user and password parts for redaction, except for ordinary words."""
    for part in {value, *value.split(":", 1)}:
        if SECRET not in part and (len(part) >= 20 or any(letter.isdigit() for letter in part)):
            register_secret(part)
