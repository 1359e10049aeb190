"""API keys: where they come from, and how they are kept out of messages, stored settings and images."""

from __future__ import annotations

import base64
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote, quote_plus

from formalimg._util.images import metadata_texts, without_metadata
from formalimg._util.io import read_plain_bytes
from formalimg.errors import FormalimgError
from formalimg.models.base import MIN_KEY_LENGTH
from formalimg.types import Setting

ENV_FILE = Path(".env")  # file with keys, in the current folder. The environment takes precedence.
SECRET = "<secret>"  # what is stored in place of a key
_MAX_ENV_BYTES = 1_000_000
_SECRET_WORDS = ("KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD")
# last words of variables that describe a secret without holding it
_DESCRIBING_WORDS = ("FILE", "PATH", "DIR", "URL", "NAME", "ID", "TYPE", "COUNT", "LIMIT", "LENGTH")
_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<inside>[^'"]*)(?P=quote)(?:\s+#.*)?""")

_ISSUED_KEYS = {  # patterns of keys that services issue, each by a substring that every match begins with
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
_MIN_ISSUED = 16
_SENT_KEY = re.compile(r"(?<=Bearer )\S{8,}")
# what a provider shows of a key: its beginning, stars, its end
_SHORTENED_KEY = re.compile(r"[\w.-]{0,200}\*{3,}[\w.*-]{0,200}")
_SECRET_NAME = re.compile(
    r"(?:^|[-_. ])(?:api[-_]?key|key|token|secret|password|passwd|passphrase|authorization|auth|credentials?)$"
)
_ORDINARY_NAME = re.compile(  # names with the same ending whose values are no secrets
    r"(?:^|[-_.])(?:bos|eos|pad|sep|cls|mask|unk|stop|start|end|special|image|trigger|cache|sort|group|primary|foreign)"
    r"[-_](?:token|key)$"
)
_NAME_AND_VALUE = re.compile(
    r"""(?P<name>[A-Za-z][\w.-]{0,60})["']?[ ]?[:=][ ]?["']?(?:(?:Bearer|Basic|Token|Key)[ ]+)?"""
    r"""(?=(?P<value>[^\s"',;&}]{8,4096}))""",  # not consumed: in an address there may be further ones
    re.IGNORECASE,
)
# values under a secret name that are none: variables and placeholders, and paths of files with keys
_REFERENCE = re.compile(r"\$\{?\w+\}?|\{\w+\}?|<secret>|(?:/|~|\.{1,2}/|[A-Za-z]:[\\/]).*", re.DOTALL)
_USER_IN_URL = re.compile(r"(?<=://)(?:[^\s/@?#:]*:[^\s/@?#]*|[^\s/@?#]{16,})(?=@)")

Span: TypeAlias = tuple[int, int]

_registered: set[str] = set()


def get_api_key(names: Sequence[str], use: str = "") -> str:
    """Return the first API key found under these names; raise an error if there is none."""
    key = find_api_key(names)
    if key is None:
        problem = f"{use} needs a key" if use else "a key is missing"
        raise FormalimgError(
            f"{problem}: set {' or '.join(names)} in the environment, or in a file .env in this folder"
        )
    return key


def find_api_key(names: Sequence[str]) -> str | None:
    """Return the first API key found under these names, or None."""
    values = [os.environ.get(name, "").strip() for name in names]
    if not any(values):
        variables = read_env_file(ENV_FILE)
        values = [variables.get(name, "").strip() for name in names]
    key = next(filter(None, values), None)
    if key is not None:
        register_secret(key)
    return key


def set_key_names(names: Sequence[str]) -> list[str]:
    """Return the names for which an API key is set in the environment or the `.env` file."""
    variables = read_env_file(ENV_FILE)
    return [name for name in names if os.environ.get(name, "").strip() or variables.get(name, "").strip()]


def read_env_file(path: Path) -> Mapping[str, str]:
    """Parse the variables in a file of `NAME=value` lines; empty if the file does not exist.

    Values may be quoted; `export` in front, empty lines and comments are allowed. Nothing is expanded.
    """
    variables: dict[str, str] = {}
    for number, line in enumerate(_read_lines(path), 1):
        if not line or line.startswith("#"):
            continue
        variable = _parse_line(line)
        if variable is None:
            raise FormalimgError(f"cannot read line {number} of {path}: write NAME=value, with quotes only around it")
        variables[variable[0]] = variable[1]
    return variables


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a regular file or of a link to one; empty for pipes and unreadable files."""
    try:
        content = read_plain_bytes(path.resolve(), _MAX_ENV_BYTES)
    except (OSError, RuntimeError):  # also a loop of links
        return []
    return [line.strip() for line in content.decode("utf-8-sig", "replace").splitlines()]


def _parse_line(line: str) -> tuple[str, str] | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    value = match["value"]
    if not value.startswith(("'", '"')):
        return match["name"], re.sub(r"(^|\s+)#.*$", "", value)
    quoted = _QUOTED.fullmatch(value)
    return None if quoted is None else (match["name"], quoted["inside"])


def register_secret(value: str) -> None:
    """Register a value that `redact` replaces from now on."""
    if len(value) >= MIN_KEY_LENGTH:
        _registered.add(value)


def find_secrets() -> frozenset[str]:
    """Return the registered secrets, and the values of variables in the environment and `.env` named as secrets."""
    values = [os.environ.get(name, "") for name in _secret_variables(tuple(os.environ))]
    variables = filter(None, map(_parse_line, _read_lines(ENV_FILE)))
    values += [value for name, value in variables if _secret_variables((name,))]
    secrets = (value.strip() for value in values)
    return frozenset({*_registered, *(key for key in secrets if len(key) >= MIN_KEY_LENGTH and not _is_location(key))})


@lru_cache(maxsize=256)
def _secret_variables(names: tuple[str, ...]) -> tuple[str, ...]:
    parts = {name: name.upper().split("_") for name in names}
    return tuple(
        name
        for name, words in parts.items()
        if name.upper().endswith(_SECRET_WORDS)
        or (any(word in _SECRET_WORDS for word in words) and words[-1] not in _DESCRIBING_WORDS)
    )


def _is_location(value: str) -> bool:
    """Return whether a value is a URL or the path of a key file, which are no secrets."""
    if value.startswith(("/", "~", "./", "../")) or "://" in value:
        return True
    return "/" in value and re.search(r"\.\w{2,5}$", value) is not None


def redact(text: str) -> str:
    """Return a text with keys replaced by `***`: known ones, also encoded, and those that look like issued keys."""
    spans = [*_find_known_keys(text), *_find_issued_keys(text)]
    for mark, pattern in (("Bearer ", _SENT_KEY), ("***", _SHORTENED_KEY)):
        if mark in text:
            spans += [match.span() for match in pattern.finditer(text)]
    return _replace_spans(text, spans, "***")


def redact_known_keys(text: str) -> str:
    """Return a raw answer with known keys, including encoded ones, replaced by `***`."""
    return _replace_spans(text, _find_known_keys(text), "***")


def redact_values(served: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return a mapping with all its strings redacted."""
    return {name: redact(value) if isinstance(value, str) else value for name, value in served.items()}


def image_without_keys(data: bytes) -> bytes:
    """Return an image file, without its metadata if that contains a key or unsearchable text.

    The search covers known keys in all their forms and keys of well-known services. The pixels are unchanged.
    """
    for content in metadata_texts(data):
        if content is None:
            return without_metadata(data)
        text = content.decode("utf-8", "replace")
        if text.count("\0") >= MIN_KEY_LENGTH:  # UTF-16, at least in part
            text += text.replace("\0", "")
        if _find_known_keys(text) or _find_issued_keys(text, strict=True):
            return without_metadata(data)
    return data


def _find_known_keys(text: str) -> list[Span]:
    forms = [form for form in _list_forms(find_secrets()) if form in text]
    return [match.span() for form in forms for match in re.finditer(re.escape(form), text)]


@lru_cache(maxsize=16)
def _list_forms(secrets: frozenset[str]) -> frozenset[str]:
    """Return the keys unchanged, percent-encoded, and in base64 at any offset and in both alphabets."""
    forms = set(secrets)
    for secret in secrets:
        quoted = {quote(secret, safe="", errors="replace"), quote_plus(secret, errors="replace")}
        forms |= quoted | {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text) for text in quoted}
        raw = secret.encode("utf-8", "replace")
        for offset in range(3):
            code = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
            end = len(code) - ((offset + len(raw)) % 3 != 0)  # the last character may depend on what follows
            core = code[(0, 2, 3)[offset] : end]
            forms |= {core, core.translate(str.maketrans("+/", "-_"))}
    return frozenset(forms)


def _find_issued_keys(text: str, *, strict: bool = False) -> list[Span]:
    """Return the spans of strings in the key format of a well-known service, such as `sk-…` or `hf_…`."""
    return [
        match.span()
        for mark, pattern in _ISSUED_KEYS.items()
        if mark in text  # mostly none is, and this is fast
        for match in pattern.finditer(text)
        if not strict or (len(match[0]) >= _MIN_ISSUED and any(letter.isdigit() for letter in match[0]))
    ]


def _replace_spans(text: str, spans: Iterable[Span], replacement: str) -> str:
    pieces, end = [], 0
    for start, stop in sorted(spans):
        if start >= end:
            pieces += [text[end:start], replacement]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def mask_secrets(text: str) -> str:
    """Return a text with known keys, issued keys and the values of secret names replaced by `<secret>`.

    Everything that is replaced is also redacted from all messages from now on.
    """
    spans = [*_find_issued_keys(text, strict=True), *_find_named_values(text)]
    spans += [match.span() for match in _USER_IN_URL.finditer(text)]
    for start, stop in spans:
        _register_parts(text[start:stop])
    return _replace_spans(text, [*spans, *_find_known_keys(text)], SECRET)


def mask_settings(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return settings with keys replaced by `<secret>`."""
    return {mask_secrets(name): _mask_value(name, value) for name, value in settings.items()}


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


class StoredSettings:
    """Cache of a model's masked settings, which are read for every image and question."""

    def __init__(self) -> None:
        self._original: Mapping[str, Setting] | None = None
        self._masked: Mapping[str, Setting] = {}

    def of(self, settings: Mapping[str, Setting]) -> Mapping[str, Setting]:
        """Return settings with keys replaced by `<secret>`, recomputed only if the settings change."""
        if settings != self._original:
            self._original, self._masked = dict(settings), mask_settings(settings)
        return self._masked


def is_secret_name(name: str) -> bool:
    """Return whether an option with this name holds a secret, such as `api_key`, `X-Auth-Token` or `apiKey`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return _SECRET_NAME.search(plain) is not None and _ORDINARY_NAME.search(plain) is None


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
        name, value = match["name"], match["value"]
        # In prose a colon follows a key now and then; a word after it is a word.
        is_prose = name.lower() in ("key", "token", "secret") and value.strip(".!?").isalpha() and ":" in match[0]
        if is_secret_name(name) and not is_prose and not _REFERENCE.fullmatch(value):
            yield match.span("value")


def _register_parts(value: str) -> None:
    """Register a value and its user and password parts for redaction, except for ordinary words."""
    for part in {value, *value.split(":", 1)}:
        if SECRET not in part and (len(part) >= 20 or any(letter.isdigit() for letter in part)):
            register_secret(part)
