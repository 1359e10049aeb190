"""Figures as a reader finds them: the words in them, and what their marks say when they are pointed at."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from formalimg.reports.figures.svg import Figure

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {f"{SVG}{tag}" for tag in ("svg", "title", "desc", "rect", "text", "path", "circle", "g")}


def parsed(drawing: Figure) -> ElementTree.Element:
    """The drawing as XML."""
    return ElementTree.fromstring(drawing.svg().encode())


def words(drawing: Figure) -> list[str]:
    """All that is written."""
    return [one.text or "" for one in parsed(drawing).iter(f"{SVG}text")]


def marks(drawing: Figure) -> dict[str, ElementTree.Element]:
    """The marks, by what they say of themselves; no two say the same."""
    found = [one for one in parsed(drawing).iter(f"{SVG}g") if one.find(f"{SVG}title") is not None]
    titles = {one.findtext(f"{SVG}title", ""): one for one in found}
    assert len(titles) == len(found)
    return titles


def figures(drawing: Figure) -> dict[str, str]:
    """The figures that the marks tell, by what stands before them."""
    return dict(title.rsplit(": ", 1) for title in marks(drawing))


def place(mark: ElementTree.Element) -> tuple[float, float]:
    """Where the middle of a mark is: of a circle, or of the corners of another shape."""
    circle = mark.find(f"{SVG}circle")
    if circle is not None:
        return float(circle.attrib["cx"]), float(circle.attrib["cy"])
    corners = re.findall(r"([\d.]+) ([\d.]+)", mark.findall(f"{SVG}path")[-1].attrib["d"])
    across, down = ([float(corner[axis]) for corner in corners] for axis in (0, 1))
    return (min(across) + max(across)) / 2, (min(down) + max(down)) / 2


def axis(drawing: Figure, which: str, *, anchor: str) -> tuple[float, float]:
    """Where 0 and 100 stand on the uppermost or leftmost axis whose numbers are anchored so, by x or y."""
    numbers = [one for one in parsed(drawing).iter(f"{SVG}text") if one.get("text-anchor") == anchor]
    zero, hundred = (min(float(one.attrib[which]) for one in numbers if one.text == label) for label in ("0", "100"))
    return zero, hundred
