"""States that can be drawn over any icon: wet, dirty, rusty, broken, burning, melting.

States that change the form of an object (open, sliced, sleeping) have their own icons.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

from formalimg.drawing import marks
from formalimg.drawing.catalog import OVERLAY_STATES, DrawnCatalog
from formalimg.drawing.icon import PixelFrame
from formalimg.drawing.outline import Coverage, coverage
from formalimg.drawing.svg import (
    IconDrawing,
    Point,
    move_path,
    move_paths,
    number_text,
    path_element,
    polyline,
    puddle_curve,
)
from formalimg.errors import FormalimgError

_FLAMES = (("#e8471c", 1.0), ("#fb9a1c", 0.74), ("#ffe25c", 0.44))
"""The paint of each layer of a flame, and its share of the flame's size."""
_FLAME_LINE = "#7a1505"


def silhouette_in(drawing: IconDrawing, frame: PixelFrame) -> str:
    """Return the silhouette of a drawing, scaled to another frame."""
    old = drawing.frame
    across, down = frame.width / old.width, frame.height / old.height

    def move(x: float, y: float) -> Point:
        return frame.left + (x - old.left) * across, frame.top + (y - old.top) * down

    return "\n".join(move_path(line, move) for line in drawing.silhouette.splitlines())


def scale_markup(body: str, old: PixelFrame, room: PixelFrame) -> str:
    """Return markup scaled from one frame to another."""
    across, down = room.width / old.width, room.height / old.height
    matrix = number_text_exact(across, 0, 0, down, room.left - old.left * across, room.top - old.top * down)
    return f'<g transform="matrix({matrix})">{body}</g>'


def number_text_exact(*numbers: float) -> str:
    """Format the numbers of a matrix as text, with more digits than for pixel coordinates."""
    return " ".join(f"{number:.5f}".rstrip("0").rstrip(".") for number in numbers)


# --- broken


def broken(drawing: IconDrawing, painted: Coverage, key: str) -> IconDrawing:
    """Cut a drawing in two along a zigzag and move the halves apart."""
    random = Random(key)
    width, height = drawing.frame.width, drawing.frame.height
    upright = height > 1.3 * width
    crack = _crack(drawing.frame, upright, random)
    far = width + height
    # Each half is the side of the crack towards the start, and the one towards the end, of the longer side.
    sides = [(-far, 0.0), (far, 0.0)] if not upright else [(0.0, -far), (0.0, far)]
    halves = [polyline([*crack, *[(x + dx, y + dy) for x, y in reversed(crack)]]) + "Z" for dx, dy in sides]
    gap, turn = 0.035 * max(width, height), 9.0
    slip = 0.07 * min(width, height)
    moves = [(-gap, -slip, -turn), (gap, slip, turn)] if not upright else [(-slip, -gap, turn), (slip, gap, -turn)]
    pivots = _pivots(drawing.frame, upright)
    fit = _fit(painted, crack, upright, moves, pivots)
    parts, defs = [], [f'<g id="{key}-whole">{drawing.body}</g>']
    defs.append(f'<mask id="{key}-alpha" mask-type="alpha"><use href="#{key}-whole"/></mask>')
    line = painted.tones.line
    for number, (half, (dx, dy, angle), (x, y)) in enumerate(zip(halves, moves, pivots, strict=True)):
        defs.append(f'<clipPath id="{key}-half{number}"><path d="{half}"/></clipPath>')
        cracks = _side_cracks(crack, upright, 1 if number else -1, random, min(width, height))
        parts.append(
            f'<g transform="translate({number_text(dx, dy)}) rotate({number_text(angle, x, y)})">'
            f'<g clip-path="url(#{key}-half{number})"><use href="#{key}-whole"/><g mask="url(#{key}-alpha)">'
            f"{path_element(polyline(crack), None, line, painted.pen * 3)}"
            f"{path_element(cracks, None, line, painted.pen * 1.1)}</g></g></g>"
        )
    body = f'<g transform="{fit}">{"".join(parts)}</g>'
    return IconDrawing(drawing.frame, body, drawing.silhouette, drawing.defs + "".join(defs))


def _crack(frame: PixelFrame, upright: bool, random: Random) -> list[Point]:
    """Return a zigzag through the middle of the frame that extends beyond it on both sides."""
    length = frame.width if upright else frame.height
    teeth = 6 if min(frame.width, frame.height) < 0.4 * max(frame.width, frame.height) else 10
    deep = 0.075 * min(frame.width, frame.height)
    points = []
    for number in range(teeth + 1):
        along = (-0.1 + number * 1.2 / teeth) * length
        off = (along - length / 2) * 0.12 + deep * random.uniform(0.7, 1.2) * (1 if number % 2 else -1)
        middle_x, middle_y = frame.left + frame.width / 2, frame.top + frame.height / 2
        points.append((frame.left + along, middle_y + off) if upright else (middle_x + off, frame.top + along))
    return points


def _side_cracks(crack: list[Point], upright: bool, way: int, random: Random, size: float) -> str:
    cracks = []
    for x, y in crack[1:-1:2]:
        points = [(x, y)]
        for _ in range(3):
            ahead, aside = way * size * random.uniform(0.06, 0.1), size * random.uniform(-0.08, 0.08)
            last = points[-1]
            points.append((last[0] + aside, last[1] + ahead) if upright else (last[0] + ahead, last[1] + aside))
        cracks.append(polyline(points))
    return "".join(cracks)


def _pivots(frame: PixelFrame, upright: bool) -> list[Point]:
    x, y, width, height = frame
    if upright:
        return [(x + width / 2, y + height / 4), (x + width / 2, y + height * 3 / 4)]
    return [(x + width / 4, y + height / 2), (x + width * 3 / 4, y + height / 2)]


def _fit(
    painted: Coverage,
    crack: list[Point],
    upright: bool,
    moves: list[tuple[float, float, float]],
    pivots: list[Point],
) -> str:
    """Return the transform that scales the separated halves to fit the frame exactly."""
    xs, ys = [], []
    frame = painted.frame
    cell = max(frame.width / painted.cells.shape[1], frame.height / painted.cells.shape[0])
    for x, y in painted.spots():
        second = _beyond(crack, x, y, upright)
        (dx, dy, angle), (px, py) = moves[second], pivots[second]
        sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
        xs.append(px + (x - px) * cosine - (y - py) * sine + dx)
        ys.append(py + (x - px) * sine + (y - py) * cosine + dy)
    x_min, x_max, y_min, y_max = min(xs) - cell, max(xs) + cell, min(ys) - cell, max(ys) + cell
    across, down = frame.width / (x_max - x_min), frame.height / (y_max - y_min)
    return f"matrix({number_text_exact(across, 0, 0, down, frame.left - x_min * across, frame.top - y_min * down)})"


def _beyond(crack: list[Point], x: float, y: float, upright: bool) -> bool:
    """Return whether a point is on the far side of the crack: below it if `upright`, otherwise to the right."""
    along, off = (x, y) if upright else (y, x)
    line = crack if upright else [(b, a) for a, b in crack]
    for (start, start_off), (end, end_off) in pairwise(line):
        if start <= along <= end:
            return off > start_off + (end_off - start_off) * (along - start) / (end - start)
    return off > line[-1][1]


# --- burning


def burning(drawing: IconDrawing, painted: Coverage, room: PixelFrame, key: str) -> IconDrawing:
    """Draw flames behind and in front of a drawing, which is scaled to fit `room`."""
    random, frame = Random(key), drawing.frame
    pen = painted.pen
    tongues = min(9, max(3, round(4 * frame.width / frame.height)))
    back = _flames(frame, 1.0, tongues, random, pen)
    front = _flames(frame, 0.27, tongues + 2, random, pen)
    body = f"{back}{scale_markup(drawing.body, frame, room)}{front}"
    return IconDrawing(frame, body, silhouette_in(drawing, room), drawing.defs)


def _flames(frame: PixelFrame, share: float, tongues: int, random: Random, pen: float) -> str:
    """Return a row of flames at the bottom of the frame, with `share` of its height as the maximum height."""
    x_start, bottom = frame.left + pen / 2, frame.top + frame.height - pen / 2
    width, full = frame.width - pen, (frame.height - pen) * share
    heights = [1.0 if number == tongues // 2 else random.uniform(0.6, 0.88) for number in range(tongues)]
    leans = [random.uniform(-0.25, 0.25) for _ in range(tongues)]
    parts = []
    for paint, size in _FLAMES:
        step, tall = width / tongues * (1 - (1 - size) / tongues), full * size
        start = x_start + (width - step * tongues) / 2
        # The row stands on a flat curve; its first and last tongue touch the sides.
        data = f"M{number_text(start + step * tongues / 2, bottom)}"
        data += f"C{number_text(start + step * 0.3, bottom, start, bottom - tall * 0.08, start, bottom - tall * 0.3)}"
        for number, (height, lean) in enumerate(zip(heights, leans, strict=True)):
            x, valley = start + number * step, bottom - tall * 0.3
            tip_x, tip_y = x + step * (0.5 + lean), bottom - tall * height
            rise, fall = tip_y + tall * 0.25, tip_y + tall * 0.3
            data += f"C{number_text(x, valley - tall * 0.28, tip_x - 0.05 * step, rise, tip_x, tip_y)}"
            data += f"C{number_text(tip_x + 0.3 * step, fall, x + step, valley - tall * 0.2, x + step, valley)}"
        end = start + tongues * step
        data += (
            f"C{number_text(end, bottom - tall * 0.08, end - step * 0.3, bottom, start + step * tongues / 2, bottom)}Z"
        )
        parts.append(path_element(data, paint, _FLAME_LINE if size == 1.0 else None, pen))
    return "".join(parts)


# --- melting


def melting(drawing: IconDrawing, painted: Coverage, key: str) -> IconDrawing:
    """Make a drawing sag, drip from its lower edge and stand in a puddle of its own colour."""
    random, frame = Random(key), drawing.frame
    x_start, y_start, width, height = frame
    waves = [(random.uniform(0.5, 1.0), random.uniform(0, 2 * math.pi), count) for count in (1, 2, 3)]

    def sag(x: float) -> float:
        total = sum(size * math.sin(phase + count * math.pi * x) for size, phase, count in waves)
        return 0.5 + total / (2 * sum(size for size, _, _ in waves))

    def sunk(across: float, down: float) -> float:
        return 0.16 * sag(across) * (1 - down) + 0.68 * down + 0.2 * sag(1 - across) * down**2

    highest = min(sunk((x - x_start) / width, (y - y_start) / height) for x, y in painted.spots())

    def move(x: float, y: float) -> Point:
        across, down = (x - x_start) / width, (y - y_start) / height
        away = 0.5 + (across - 0.5) * (0.86 + 0.1 * down**2) + 0.03 * math.sin(4 * down + waves[0][1])
        return x_start + away * width, y_start + (sunk(across, down) - highest + 0.01) * height

    puddle = _draw_puddle(painted, 0.2 * height, random)
    drips = _drips(painted, move, random)
    body = puddle + move_paths(drawing.body, move) + drips
    silhouette = "\n".join(move_path(line, move) for line in drawing.silhouette.splitlines())
    return IconDrawing(frame, body, silhouette, move_paths(drawing.defs, move))


def _draw_puddle(painted: Coverage, height: float, random: Random) -> str:
    frame, pen, tones = painted.frame, painted.pen, painted.tones
    x, y = frame.left + frame.width * 0.13, frame.top + frame.height - height * 0.33
    shine = f"M{number_text(x, y)}q{number_text(frame.width * 0.15, height * 0.2, frame.width * 0.35, height * 0.17)}"
    pool = path_element(puddle_curve(frame, height, pen, random), tones.body, tones.line, pen)
    return pool + path_element(shine, None, tones.light, pen * 1.6)


def _drips(painted: Coverage, move: Callable[[float, float], Point], random: Random) -> str:
    frame, tones = painted.frame, painted.tones
    size = min(frame.width, frame.height)
    lowest: dict[float, float] = {}
    for x, y in painted.spots():
        lowest[x] = max(y, lowest.get(x, y))
    columns = sorted(lowest)
    count = max(3, min(7, round(5 * frame.width / frame.height)))
    parts = []
    for number in range(count):
        x = columns[round((number + random.uniform(0.3, 0.7)) * (len(columns) - 1) / count)]
        edge_x, edge_y = move(x, lowest[x])
        half = size * random.uniform(0.026, 0.04)
        start = edge_y - painted.pen - half
        end = min(edge_y + size * random.uniform(0.08, 0.16), frame.top + frame.height - half - painted.pen)
        start_x, end_x, waist = edge_x - half, edge_x + half, start + 2 * half
        data = (
            f"M{number_text(start_x - half, start)}"
            f"C{number_text(start_x, start, start_x, start + half, start_x, waist)}"
            f"L{number_text(start_x, end)}A{number_text(half, half)} 0 0 0 {number_text(end_x, end)}"
            f"L{number_text(end_x, waist)}"
            f"C{number_text(end_x, start + half, end_x, start, end_x + half, start)}"
        )
        shine = polyline([(edge_x - half * 0.3, waist), (edge_x - half * 0.3, max(waist, end - half * 0.4))])
        parts.append(path_element(data, tones.body, tones.line, painted.pen))
        parts.append(path_element(shine, None, tones.light, half * 0.5))
    return "".join(parts)


def room(frame: PixelFrame, state: str) -> PixelFrame:
    """Return the part of a frame occupied by the object itself; puddles or flames take up the rest."""
    x, y, width, height = frame
    if state == "wet":
        side = round(0.05 * width)
        return PixelFrame(x + side, y, width - 2 * side, height - round(0.4 * marks.puddle_height(frame)))
    if state == "burning":
        side, above = round(0.13 * width), round(0.26 * height)
        return PixelFrame(x + side, y + above, width - 2 * side, height - above - round(0.04 * height))
    return frame


def apply(drawing: IconDrawing, state: str, key: str) -> IconDrawing:
    """Draw a state over an icon, within its frame."""
    if state not in OVERLAY_STATES:
        choices = ", ".join(OVERLAY_STATES)
        raise FormalimgError(f"{state!r} is not drawn over icons: draw a variant of the icon, or use {choices}")
    key, painted = f"{key}-{state}", coverage(drawing)
    match state:
        case "wet":
            drawn = _wet(drawing, painted, key)
        case "dirty":
            drawn = _add_marks(drawing, *marks.dirty(painted, key), "", key)
        case "rusty":
            rust, fade = marks.rusty(painted, key)
            drawn = _add_marks(drawing, rust, "", fade, key)
        case "broken":
            drawn = broken(drawing, painted, key)
        case "burning":
            drawn = burning(drawing, painted, room(drawing.frame, state), key)
        case _:
            drawn = melting(drawing, painted, key)
    return _clip(drawn, key)


def how_drawn(catalog: DrawnCatalog, label: str, state: str) -> str:
    """Return how a class is drawn in a state: `icon`, `variant`, `overlay` or `undrawable`."""
    entry, limits = catalog.classes.get(label), catalog.word("state", state)
    if entry is None or limits.always or label in limits.beside or {"", state}.intersection(entry.undrawable):
        return "undrawable"
    if state in entry.shows:
        return "icon"
    if state in entry.variants:
        return "variant"
    return "overlay" if state in OVERLAY_STATES else "undrawable"


def _wet(drawing: IconDrawing, painted: Coverage, key: str) -> IconDrawing:
    frame, space = drawing.frame, room(drawing.frame, "wet")
    drops = marks.wet(painted.moved_to(space), key)
    body = marks.puddle(frame, painted.pen, key) + scale_markup(drawing.body, frame, space) + drops
    return IconDrawing(frame, body, silhouette_in(drawing, space), drawing.defs)


def _add_marks(drawing: IconDrawing, on_it: str, over_it: str, defs: str, key: str) -> IconDrawing:
    """Add marks to a drawing: `on_it` is masked to the painted area, `over_it` may extend beyond its edge."""
    whole = f'<g id="{key}-whole">{drawing.body}</g>'
    use = f'<use href="#{key}-whole"/>'
    # Several times, as marks on glass are not themselves of glass.
    mask = f'<mask id="{key}-alpha" mask-type="alpha">{use * 4}</mask>'
    body = f'{use}<g mask="url(#{key}-alpha)">{on_it}</g>{over_it}'
    return IconDrawing(drawing.frame, body, drawing.silhouette, drawing.defs + defs + whole + mask)


def _clip(drawing: IconDrawing, key: str) -> IconDrawing:
    """Clip marks that extend beyond the frame, such as the rim of a splash."""
    x, y, width, height = drawing.frame
    clip = f'<clipPath id="{key}-frame"><rect x="{x}" y="{y}" width="{width}" height="{height}"/></clipPath>'
    return replace(drawing, body=f'<g clip-path="url(#{key}-frame)">{drawing.body}</g>', defs=drawing.defs + clip)
