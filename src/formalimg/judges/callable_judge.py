"""Judges from Python functions: `CallableJudge` wraps any `(image, item) -> bool | float | dict`."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from typing import Any

from formalimg._util.aio import call_function
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.secrets import mask_settings, redact
from formalimg.types import Item, Part, Setting, Unscored, Verdict

_RESERVED = ("passed", "parts", "reason")
_EXPECTED = "give True or False, a number from 0 to 1, or a dict of such parts"


class CallableJudge:
    """A judge that calls a Python function.

    The function takes a PIL image (upright, RGB) and the `Item`; it may be async. What it returns:

    - True or False: the image passes, or fails.
    - A number from 0 to 1: a score; the image passes from `threshold` on.
    - A dict of parts by name, each True, False or a number from 0 to 1: the image passes if all parts do.
    - A dict with `passed`, `parts` and `reason`, of which `reason` is optional, and one of the others.
    - None: the function cannot tell. The image is unscored, never 0, and so is one for which it raises an exception.
    - A `Verdict` or `Unscored`, as it is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        settings: Mapping[str, Setting] | None = None,
        concurrency: int = 1,
        threshold: float = 0.5,
    ) -> None:
        """Wrap a function.

        Args:
            function: takes an image and an item.
            name: name in tables; that of the function if empty.
            settings: other settings that affect its answers, to be recorded. A digest of its source code is recorded
                too, so that a changed function is another judge; changes in code that it imports are not seen.
            concurrency: maximum number of concurrent calls; one unless the function is thread-safe, or async.
            threshold: the score from which an image or a part passes, where the function returns numbers.

        Raises:
            FormalimgError: if it is not a function of an image and an item, or a value is out of its limits.
        """
        _require_two_parameters(function)
        if concurrency < 1:
            raise FormalimgError(f"invalid concurrency {concurrency}: give 1 or more")
        if not 0 < threshold <= 1:
            raise FormalimgError(f"invalid threshold {threshold}: give one above 0 and at most 1")
        self._function = function
        self._threshold = threshold
        self.name = name or f"python/{_function_name(function)}"
        digest = _code_digest(function)
        defaults: dict[str, Setting] = {"threshold": threshold, **({"code": digest} if digest else {})}
        self.settings: Mapping[str, Setting] = mask_settings({**defaults, **(settings or {})})
        self.concurrency = concurrency

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        try:
            answer = await call_function(self._function, image.pil, item)
        except Exception as error:  # also an error of ours inside the function: it concerns this image alone
            text = redact(" ".join(str(error).split()))
            return Unscored("judge failed", f"{type(error).__name__}: {text}" if text else type(error).__name__)
        if isinstance(answer, Verdict | Unscored):
            return answer
        if answer is None:
            return Unscored("not understood", f"{self.name} cannot tell: it returned None")
        try:
            return self._verdict(answer)
        except ValueError as error:
            return Unscored("judge failed", f"{self.name} {error}")

    def _verdict(self, answer: object) -> Verdict:
        if not isinstance(answer, Mapping):
            score = _read_score(answer, "an answer")
            return Verdict(score >= self._threshold, () if _is_bool(answer) else (Part("score", "score", score),))
        if not answer.keys() & {"passed", "parts"}:
            answer = {"parts": answer}
        strange = [str(name) for name in answer if name not in _RESERVED]
        if strange:
            raise ValueError(f"returned {', '.join(strange)} beside passed and parts: put it into parts")
        scores = answer.get("parts") or {}
        if not isinstance(scores, Mapping):
            raise ValueError(f"returned parts that are {_describe_value(scores)}: give a dict by name")
        if not scores and "passed" not in answer:
            raise ValueError(f"returned an empty dict: {_EXPECTED}")
        parts = tuple(Part(str(name), "part", _read_score(value, repr(name))) for name, value in scores.items())
        if "passed" in answer:
            passed = _read_score(answer["passed"], "passed") >= self._threshold
        else:
            passed = all(part.score >= self._threshold for part in parts)
        reason = answer.get("reason")
        return Verdict(passed, parts, {"explanation": str(reason)} if reason else {})


def _require_two_parameters(function: object) -> None:
    if not callable(function):
        raise FormalimgError(f"{function!r} is not callable: give a function of an image and an item")
    try:
        inspect.signature(function).bind(None, None)
    except ValueError:  # some functions written in C have no signature
        return
    except TypeError:
        raise FormalimgError(
            f"{_function_name(function)} cannot be called with an image and an item: write it as def judge(image, item)"
        ) from None


def _function_name(function: object) -> str:
    if isinstance(function, partial):
        return _function_name(function.func)
    return str(getattr(function, "__qualname__", type(function).__qualname__)).removeprefix("<locals>.")


def _code_digest(function: Any) -> str:
    """Return a digest of the function's source or byte code, or an empty string if it has neither."""
    function = inspect.unwrap(function.func if isinstance(function, partial) else function)
    compiled = getattr(function, "__code__", None)
    try:
        if compiled is not None and compiled.co_name == "<lambda>":
            raise OSError("a lambda shares its lines with others")
        code = inspect.getsource(function).encode()
    except (TypeError, OSError):
        if compiled is None:
            return ""
        code = (
            compiled.co_code
            + repr((compiled.co_names, [getattr(const, "co_code", const) for const in compiled.co_consts])).encode()
        )
    return hashlib.sha256(code).hexdigest()[:16]


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # numpy has its own


def _read_score(value: object, name: str) -> float:
    if _is_bool(value):
        return float(bool(value))
    if not isinstance(value, Real) and getattr(value, "ndim", None) == 0:
        value = value.item()  # type: ignore[attr-defined]  # a scalar of torch or numpy
    if isinstance(value, Real) and 0 <= float(value) <= 1:
        return float(value)
    raise ValueError(f"returned {name} that is {_describe_value(value)}: {_EXPECTED}")


def _describe_value(value: object) -> str:
    return f"{value!r:.40}" if value is None or isinstance(value, Real) else f"a {type(value).__name__}"
