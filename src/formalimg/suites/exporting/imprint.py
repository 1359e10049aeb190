"""What the publisher says of an export, and the terms that follow from it and from where the items come from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.suites.exporting.origin import Origin

_SHIPPED = "Apache-2.0"
_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
_ADDRESS = re.compile(r"https?://[^\s\"<>]+")


@dataclass(frozen=True)
class Imprint:
    """What only the publisher knows; whatever is empty is left out of the export.

    Attributes:
        licence: of items of the publisher's own: an SPDX id such as CC-BY-4.0, or an address.
        creator: who made items of the publisher's own.
        made: how they were made, in a sentence.
        url: where the export will be found.
        date: when it is published, as in 2026-01-31.

    Raises:
        FormalimgError: if one of them is not what it should be.
    """

    licence: str = ""
    creator: str = ""
    made: str = ""
    url: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        for name, text in vars(self).items():
            if not text.isprintable():
                raise FormalimgError(f"the {name} must be one line of readable text, not {text!r}")
        if self.licence and not (_SPDX.fullmatch(self.licence) or _ADDRESS.fullmatch(self.licence)):
            raise FormalimgError(f"the licence {self.licence!r}: give its SPDX id, such as CC-BY-4.0, or its address")
        if self.url and not _ADDRESS.fullmatch(self.url):
            raise FormalimgError(f"{self.url!r} is no address: it must begin with https://")
        if self.date and not _is_date(self.date):
            raise FormalimgError(f"{self.date!r} is no date: write it as in 2026-01-31")


class Terms(NamedTuple):
    """Who made the items, and what others may do with them.

    Attributes:
        licence: its short name, or its address.
        licence_url: its address.
        creator: who made the items; empty if nobody said.
    """

    licence: str
    licence_url: str
    creator: str


def terms_of(origin: Origin, imprint: Imprint) -> Terms:
    """The terms under which items may be given away.

    Raises:
        FormalimgError: if they are not known, or the publisher says what is not for them to say.
    """
    if origin.kind == "own":
        if not imprint.licence:
            raise FormalimgError(
                "nobody but you knows under which licence these items may be given away: "
                "say it with --license, as in --license CC-BY-4.0"
            )
        address = imprint.licence if _ADDRESS.fullmatch(imprint.licence) else _address(imprint.licence)
        return Terms(imprint.licence, address, imprint.creator)
    for option, given in (("--license", imprint.licence), ("--creator", imprint.creator), ("--made", imprint.made)):
        if given:
            whose = "that ship with formalimg" if origin.kind == "shipped" else "as their authors published them"
            raise FormalimgError(f"leave {option} out: it is for items of your own, and these are items {whose}")
    if origin.kind == "shipped":
        return Terms(_SHIPPED, _address(_SHIPPED), "The formalimg authors")
    licence = origin.source.licence.split()[0]
    doubt = "" if origin.proven_by else ", if the files are theirs"
    return Terms(licence, _address(licence), f"The authors of {origin.source.title.partition(':')[0]}{doubt}")


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _address(licence: str) -> str:
    return f"https://spdx.org/licenses/{licence}"
