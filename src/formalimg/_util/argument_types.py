"""Runtime type checks of public functions, with one-line errors that suggest a valid argument."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from types import FunctionType, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError

Function = TypeVar("Function", bound=Callable[..., Any])


def checks_types(**hints: str) -> Callable[[Function], Function]:
    """Decorate a public function so that arguments of wrong types raise an error before it runs."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            signature = inspect.signature(function)
            try:
                arguments = signature.bind(*args, **kwargs).arguments
            except TypeError as error:
                unknown = next((name for name in kwargs if name not in signature.parameters), "")
                near = get_close_matches(unknown, signature.parameters, 1)
                raise TypeError(
                    f"{function.__name__}(): {error}{f': did you mean {near[0]}?' if near else ''}"
                ) from None
            require_types(function, arguments, hints)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def require_types(annotated: Any, values: Mapping[str, object], hints: Mapping[str, str] | None = None) -> None:
    """Raise an error for values that do not match the annotations of a function or class."""
    names = vars(sys.modules[annotated.__module__])
    for name, annotation in annotated.__annotations__.items():
        if name not in values:
            continue
        try:
            allowed = eval(annotation, names) if isinstance(annotation, str) else annotation
        except NameError:  # a type that is imported for type checkers alone
            continue
        if not _fits(values[name], allowed):
            hint = f" ({hints[name]})" if hints and name in hints else ""
            raise FormalimgError(f"{name} cannot be {_described(values[name], allowed)}: give {_words(allowed)}{hint}")


def _fits(value: object, allowed: Any) -> bool:
    """Return whether a value matches a type; types that cannot be checked always match."""
    origin, arguments = get_origin(allowed), get_args(allowed)
    if origin in (Union, UnionType):
        return any(_fits(value, choice) for choice in arguments)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in arguments)
    if origin is not None:
        return _fits_container(value, origin, arguments)
    if allowed in (int, float):
        return isinstance(value, Integral if allowed is int else Real) and not isinstance(value, bool)
    if allowed in (None, NoneType):
        return value is None
    if (
        allowed is Any
        or not isinstance(allowed, type)
        or isinstance(value, allowed if not _is_protocol(allowed) else ())
    ):
        return True
    return (
        _is_protocol(allowed)
        and not isinstance(value, type)
        and all(callable(getattr(value, method, None)) for method in _methods(allowed))
    )


def _fits_container(value: object, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if origin is Callable:
        return callable(value)
    if not isinstance(origin, type) or not isinstance(value, origin) or isinstance(value, str | bytes):
        return not isinstance(origin, type)
    if issubclass(origin, Collection) and arguments == (int,) and isinstance(value, Iterable):
        return all(_fits(item, int) for item in value)
    return True


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _methods(protocol: type) -> list[str]:
    """Return the names of the methods that a protocol requires."""
    return [
        name
        for base in protocol.__mro__
        if _is_protocol(base)
        for name, member in vars(base).items()
        if isinstance(member, FunctionType) and not name.startswith("_")
    ]


def _described(value: object, allowed: Any) -> str:
    """Return a description of a value and its type; only the type for options, which may contain keys."""
    kind = type(value).__name__
    if _mentions(allowed, Mapping):
        return f"of the type {kind}"
    text = truncate(" ".join(repr(value).split()), 60, 20)
    return text if isinstance(value, str) and _mentions(allowed, Literal) else f"{text} ({kind})"


def _mentions(allowed: Any, origin: Any) -> bool:
    return get_origin(allowed) is origin or any(_mentions(choice, origin) for choice in get_args(allowed))


def _words(allowed: Any) -> str:
    """Return a description of the allowed types or values."""
    choices = list(_choices(allowed))
    comma = "," if "," in choices[0] else ""
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])}{comma} or {choices[-1]}"


def _choices(allowed: Any) -> Iterable[str]:
    origin, arguments = get_origin(allowed), get_args(allowed)
    if origin in (Union, UnionType):
        for choice in arguments:
            yield from _choices(choice)
    elif origin is Literal:
        yield from map(str, arguments)
    elif origin is Callable:
        yield "a function"
    elif arguments == (int,):
        yield "ints, as in [1, 2]"
    elif origin is not None:
        yield {"Mapping": "a dict", "Iterable": "a list", "Sequence": "a list"}.get(origin.__name__, origin.__name__)
    elif allowed in (None, NoneType):
        yield "None"
    else:
        name = allowed.__name__
        yield f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
