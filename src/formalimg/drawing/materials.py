"""Materials of drawings: the materials of Natural and the textures of concepts, applied to any icon."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

from formalimg.drawing import textures
from formalimg.drawing.icon import Tones, palette
from formalimg.drawing.svg import IconDrawing
from formalimg.drawing.textures import PALE, TextureCanvas, dot, fur, polyline, stroke, text
from formalimg.errors import FormalimgError

_TINTED = 0.86  # The opacity of coloured glass: less, and red would be pink on the ground
_TINTED_ALONE = {"white": 0.6, "black": 0.95}
"""On white glass light would not be seen otherwise, and black glass would be gray."""
_CLEAR = 0.45  # The opacity of glass without a colour
_CLAY, _FIRED_CLAY = "#d6a67c", "#7a4a26"
"""The clay is nearer to the ground than to any colour, so that the glaze is what counts as one."""


def metal(canvas: TextureCanvas) -> IconDrawing:
    """Draw bands of reflected light, brushed hairlines, and rivets along the edge."""
    frame, unit, tones, name = canvas.drawing.frame, canvas.unit, canvas.tones, f"{canvas.key}-bands"
    stops = (
        *((0, tones.dark, 0.75), (0.16, tones.light, 0.6), (0.24, "#ffffff", 0.95), (0.3, tones.light, 0.5)),
        *((0.42, tones.dark, 0.3), (0.55, tones.dark, 0.85), (0.63, tones.light, 0.5), (0.7, "#ffffff", 0.85)),
        *((0.74, tones.light, 0.4), (0.9, tones.dark, 0.6), (1, tones.ink, 0.6)),
    )
    bands = "".join(f'<stop offset="{at}" stop-color="{color}" stop-opacity="{much}"/>' for at, color, much in stops)
    gradient = f'<linearGradient id="{name}" x1="0" y1="0" x2="1" y2="0.55">{bands}</linearGradient>'
    marks = [canvas.cover(f"url(#{name})")]
    hairlines = {"#ffffff": "", tones.ink: ""}
    gap = max(1.4, unit * 0.16)
    for number in range(math.ceil(frame.height / gap)):
        x = frame.left + frame.width * canvas.random.uniform(-0.4, 0.8)
        length = frame.width * canvas.random.uniform(0.2, 0.6)
        hairlines[canvas.random.choice(tuple(hairlines))] += f"M{text(x, frame.top + number * gap)}h{text(length)}"
    marks += [stroke(data, color, max(0.6, unit * 0.06), 0.4) for color, data in hairlines.items() if data]
    radius = max(1.7, unit * 0.26)
    edge = f' stroke="{tones.line}" stroke-width="{text(max(0.8, radius * 0.3))}"'
    for loop in canvas.inset(unit * 0.8, unit * 2.4):
        for point in loop:
            marks.append(dot(point.x, point.y, radius, tones.light, edge))
            marks.append(dot(point.x - radius * 0.25, point.y - radius * 0.3, radius * 0.42, "#ffffff"))
    return canvas.over("".join(marks), gradient)


def glass(canvas: TextureCanvas) -> IconDrawing:
    """Draw transparent glass with a bright double edge and bars of light across it."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    top, bottom, diagonal = frame.top, frame.top + frame.height, frame.width + frame.height
    marks = []
    for start, wide in ((0.16, 0.06), (0.26, 0.025), (0.6, 0.075), (0.72, 0.03)):
        left, right = frame.left + start * diagonal, frame.left + (start + wide) * diagonal
        corners = [(left, top), (right, top), (right - frame.height, bottom), (left - frame.height, bottom)]
        marks.append(f'<path d="{polyline(corners)}Z" fill="#ffffff" opacity="0.7"/>')
    loops = [loop for loop in canvas.mask.eroded(unit * 0.5).loops() if len(loop) > 12]
    marks += [stroke(polyline(loop) + "Z", "#ffffff", max(1.1, unit * 0.16), 0.9) for loop in loops]
    color = next((name for name, opacity in palette().colors.items() if opacity == tones), "")
    opacity = _TINTED_ALONE.get(color, _TINTED) if canvas.colored else _CLEAR
    drawing = canvas.over("".join(marks), below=f'<g opacity="{opacity}">{canvas.drawing.body}</g>')
    lines = canvas.drawing.silhouette.splitlines()
    edges = "".join(stroke(line, tones.line, max(1.2, unit * 0.14), 0.8) for line in lines)
    # Half of each edge is outside the points, where an icon keeps room for its own outline only.
    clip = f'<g clip-path="url(#{canvas.key}-{canvas.seed})">{edges}</g>'
    return IconDrawing(frame, drawing.body + clip, drawing.silhouette, drawing.defs)


def plastic(canvas: TextureCanvas) -> IconDrawing:
    """Draw gloss along the edge, and the moulded triangle of arrows that marks plastic."""
    return canvas.over(_gloss(canvas) + _mould_arrows(canvas))


def ceramic(canvas: TextureCanvas) -> IconDrawing:
    """Draw pottery: a glaze above bare clay, painted bands of zigzags and dots, and gloss along the edge."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    left, right, bottom = frame.left, frame.left + frame.width, frame.top + frame.height
    edge = bottom - frame.height * 0.15
    waves = math.ceil(frame.width / (unit * 3)) + 1
    ebb = "".join(f"q{text(unit * 1.5, unit * (0.7 if number % 2 else -0.7), unit * 3, 0)}" for number in range(waves))
    clay = f"M{text(left, edge)}{ebb}V{text(bottom)}H{text(left)}Z"
    marks = [f'<path d="{clay}" fill="{_CLAY}" stroke="{_FIRED_CLAY}" stroke-width="{text(max(1, unit * 0.14))}"/>']
    rings = "".join(f"M{text(left, edge + unit * step)}H{right}" for step in (0.9, 1.5, 2.1, 2.7))
    marks.append(stroke(rings, _FIRED_CLAY, max(0.8, unit * 0.08), 0.6))
    paint, pen, high = "#27469c" if tones.body in PALE else "#ffffff", max(1.2, unit * 0.22), unit * 0.62
    for middle in (0.33, 0.62) if frame.height > 10 * unit else (0.5,):
        y = frame.top + frame.height * middle
        teeth = [f"l{text(unit * 0.8, -2 * high if number % 2 else 2 * high)}" for number in range(waves * 4)]
        band = f"M{text(left, y - high * 1.7)}H{right}M{text(left, y + high * 1.7)}H{right}M{text(left, y - high)}"
        marks.append(stroke(band + "".join(teeth), paint, pen, 0.95))
        marks += [dot(left + unit * 1.6 * number, y + high * 0.75, unit * 0.2, paint) for number in range(waves * 2)]
    return canvas.over("".join(marks) + _gloss(canvas))


def _gloss(canvas: TextureCanvas) -> str:
    """Return bright lines inside the edges that face the light from the top left."""
    unit, marks = canvas.unit, []
    for loop in canvas.inset(unit * 0.75, unit * 0.3)[:3]:
        run: list[tuple[float, float]] = []
        for point in [*loop, *loop[: len(loop) // 3]]:
            if -point.out_x - point.out_y > 0.75:
                run.append((point.x, point.y))
                continue
            if len(run) > 4:
                marks.append(stroke(polyline(run[1:-1]), "#ffffff", unit * 0.5, 0.92))
            run = []
    return "".join(marks)


def _mould_arrows(canvas: TextureCanvas) -> str:
    """Return the triangle of three arrows, as large as the widest part of the drawing permits."""
    middle = canvas.mask.widest_part()
    size = min(middle.radius * 0.72, canvas.unit * 3.2)
    if size < 2:
        return ""
    corners = [
        (middle.x + size * math.cos(math.radians(turn)), middle.y + size * math.sin(math.radians(turn)))
        for turn in (-90, 30, 150, 270)
    ]
    shafts, heads, wing = "", "", size * 0.3
    for (x, y), (end_x, end_y) in pairwise(corners):
        across, down = end_x - x, end_y - y
        length = math.hypot(across, down)
        side_x, side_y = -down / length * wing, across / length * wing
        shafts += polyline([(x + across * part, y + down * part) for part in (0.16, 0.62)])
        back_x, back_y = x + across * 0.6, y + down * 0.6
        tip = (x + across * 0.9, y + down * 0.9)
        heads += polyline([tip, (back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y)]) + "Z"
    line, light, edge = canvas.tones.line, canvas.tones.light, max(1.0, size * 0.1)
    rim = f'<path d="{heads}" fill="{line}" stroke="{line}" stroke-width="{text(2 * edge)}"/>'
    face = "".join(
        f'<path d="{heads}" fill="{color}" opacity="{opacity}"/>' + stroke(shafts, color, size * 0.26, opacity)
        for color, opacity in ((light, 1), ("#ffffff", 0.45))
    )
    return stroke(shafts, line, size * 0.26 + 2 * edge) + rim + face


_PAINTERS: Mapping[str, Callable[[TextureCanvas], IconDrawing]] = {
    "wooden": textures.wood,
    "metal": metal,
    "glass": glass,
    "plastic": plastic,
    "fluffy": fur,
    "fabric": textures.fabric,
    "ceramic": ceramic,
    "leather": textures.leather,
    "paper": textures.paper,
    "stone": textures.stone,
    "brick": textures.brick,
}

MATERIALS = tuple(_PAINTERS)  # The materials that can be drawn
LINED = ("glass", "stone", "brick")
"""The materials over which the lines of an icon are seen, also of one that is bent into a shape."""

ALIASES = {"metallic": "metal"}  # Other words for them: as a concept, metal is called metallic
_NATURAL_TONES = {
    "wooden": Tones(body="#b9834a", dark="#93612c", light="#d9ab74", line="#3a2108", ink="#6b421a"),
    "metal": Tones(body="#9aa3ad", dark="#6e7883", light="#c9d0d7", line="#23282e", ink="#444c55"),
    "glass": Tones(body="#8fc4d6", dark="#5f9db3", light="#c3e2ec", line="#1d4452", ink="#376b7c"),
    "brick": Tones(body="#b4492f", dark="#8f3420", light="#cf7458", line="#3d150b", ink="#6b2514"),
}


def natural_tones(material: str) -> Tones | None:
    """Return the tones of an uncoloured object of a material; None if the material has no tones of its own."""
    tones = _NATURAL_TONES.get(_material(material))
    if tones is not None:
        return tones
    color = {"stone": "gray", "ceramic": "white", "paper": "white", "leather": "brown"}.get(_material(material))
    return palette().colors[color] if color else None


def apply(drawing: IconDrawing, material: str, tones: Tones, key: str) -> IconDrawing:
    """Render a drawing as made of the given material."""
    word = _material(material)
    return _PAINTERS[word](TextureCanvas(drawing, tones, key, word))


def _material(material: str) -> str:
    word = ALIASES.get(material, material)
    if word not in _PAINTERS:
        raise FormalimgError(f"there is no drawing of the material {material!r}: use one of {', '.join(MATERIALS)}")
    return word
