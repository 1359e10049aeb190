"""Names and settings of models as they are stored and shown: whatever is a key, or looks like one, is `<secret>`.

The same word stands for every key. So a run is resumed with another key, and nothing that is stored helps to guess one:
even a short hash would, for a password that is in some list.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from urllib.parse import quote

from formalimg.models.base import MIN_KEY_LENGTH
from formalimg.models.redaction import Span, find_issued_keys, is_location, replace_spans
from formalimg.models.secrets import known_secrets, register_secret
from formalimg.types import Setting

SECRET = "<secret>"
"""What is stored in place of a key."""

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
    """Return a text in which keys are replaced by `<secret>`: known ones, and what looks like one.

    Everything that is replaced is also redacted from all messages from now on.
    """
    for secret in sorted(known_secrets(), key=len, reverse=True):
        if not is_location(secret):
            for form in {secret, quote(secret, safe="", errors="replace")}:
                text = text.replace(form, SECRET)
    spans = [*find_issued_keys(text, strict=True), *_named_values(text)]
    spans += [found.span() for found in _USER_IN_URL.finditer(text)]
    hosts = [found.span() for found in _HOST.finditer(text)]  # some services name servers at random
    tokens = (_URL_TOKEN if hosts else _TOKEN).finditer(text)
    spans += [
        found.span()
        for found in tokens
        if looks_random(found[0]) and not any(start <= found.start() < stop for start, stop in hosts)
    ]
    for start, stop in spans:
        _register(text[start:stop])
    return replace_spans(text, spans, SECRET)


def stored_settings(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return settings in which keys are replaced by `<secret>`."""
    return {mask_secrets(name): _stored_value(name, value) for name, value in settings.items()}


class StoredSettings:
    """The stored form of the settings of one model, which are read for every image and question."""

    def __init__(self) -> None:
        self._given: Mapping[str, Setting] | None = None
        self._stored: Mapping[str, Setting] = {}

    def of(self, settings: Mapping[str, Setting]) -> Mapping[str, Setting]:
        """Return settings in which keys are replaced by `<secret>`; made anew only when the settings change."""
        if settings != self._given:
            self._given, self._stored = dict(settings), stored_settings(settings)
        return self._stored


def stored_command(command: str, arguments: Sequence[str]) -> str:
    """Return a command line in which keys are replaced by `<secret>`; as it was written if there are none."""
    stored = [mask_secrets(argument) for argument in arguments]
    for place in range(1, len(arguments)):
        option = arguments[place - 1]
        if option.startswith("-") and "=" not in option and not arguments[place].startswith("-"):
            stored[place] = str(_stored_value(option.lstrip("-"), arguments[place]))
    return command if stored == list(arguments) else " ".join(map(_quoted, stored))


def is_secret_name(name: str) -> bool:
    """Return whether the value of an option of this name is a secret, as in `api_key`, `X-Auth-Token` or `apiKey`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return _SECRET_NAME.search(plain) is not None and _ORDINARY_NAME.search(plain) is None


def looks_random(token: str) -> bool:
    """Return whether a word was drawn at random, as keys are, rather than written.

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


def _stored_value(name: str, value: Setting) -> Setting:
    if not isinstance(value, str):
        return value
    if len(value) >= MIN_KEY_LENGTH and is_secret_name(name) and not _REFERENCE.fullmatch(value):
        _register(value)
        return SECRET
    return mask_secrets(value)


def _named_values(text: str) -> Iterator[Span]:
    """Yield the places of values that are named as secrets: api_key=…, "token": "…", X-Api-Key: …, ?key=…."""
    for found in _NAME_AND_VALUE.finditer(text):
        found_name = _NAME.match(text, found.start())
        name, value = found_name[0] if found_name else "", found["value"]
        # In prose a colon follows a key now and then; a word after it is a word.
        is_prose = name.lower() in ("key", "token", "secret") and value.strip(".!?").isalpha() and ":" in found[0]
        if is_secret_name(name) and not is_prose and not _REFERENCE.fullmatch(value):
            yield found.span("value")


def _register(value: str) -> None:
    """Redact a value, or user and password, from now on; unless it is an ordinary word, which answers may hold."""
    for part in {value, *value.split(":", 1)}:
        if SECRET not in part and (len(part) >= 20 or any(letter.isdigit() for letter in part)):
            register_secret(part)


def _quoted(argument: str) -> str:
    return argument if re.fullmatch(r"[\w@%+=:,./{}<>-]+", argument) else shlex.quote(argument)
