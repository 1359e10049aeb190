"""Surfaces that light shows: metal, glass, plastic, ceramic; and fur, which also changes the outline."""

from __future__ import annotations

import math

from formalimg.scenes.drawn.icon_drawing import IconDrawing
from formalimg.scenes.drawn.textures import PALE, TextureCanvas, dot, polyline, stroke, text


def metal(canvas: TextureCanvas) -> IconDrawing:
    """Bands of reflected light, brushed hairlines, and rivets along the edge."""
    frame, unit, tones, name = canvas.drawing.frame, canvas.unit, canvas.tones, f"{canvas.key}-bands"
    stops = [
        (0, tones.dark, 0.75), (0.16, tones.light, 0.6), (0.24, "#ffffff", 0.95), (0.3, tones.light, 0.5), (0.42, tones.dark, 0.3),
        (0.55, tones.dark, 0.85), (0.63, tones.light, 0.5), (0.7, "#ffffff", 0.85), (0.74, tones.light, 0.4), (0.9, tones.dark, 0.6),
        (1, tones.ink, 0.6),
    ]  # fmt: skip
    gradient = f'<linearGradient id="{name}" x1="0" y1="0" x2="1" y2="0.55">' + "".join(
        f'<stop offset="{at}" stop-color="{color}" stop-opacity="{opacity}"/>' for at, color, opacity in stops
    )
    marks = [_all(canvas, f"url(#{name})")]
    lines: dict[str, list[str]] = {"#ffffff": [], tones.ink: []}
    y = frame.top + 0.5
    while y < frame.top + frame.height:
        color = canvas.random.choice(tuple(lines))
        x = frame.left + frame.width * canvas.random.uniform(-0.4, 0.8)
        lines[color].append(f"M{text(x, y)}h{text(frame.width * canvas.random.uniform(0.2, 0.6))}")
        y += max(1.4, unit * 0.16)
    marks += [stroke("".join(data), color, max(0.6, unit * 0.06), 0.4) for color, data in lines.items() if data]
    radius = max(1.7, unit * 0.26)
    for loop in canvas.inset(unit * 0.8, unit * 2.4):
        for point in loop:
            edge = f' stroke="{tones.line}" stroke-width="{text(max(0.8, radius * 0.3))}"'
            marks.append(dot(point.x, point.y, radius, tones.light, edge))
            marks.append(dot(point.x - radius * 0.25, point.y - radius * 0.3, radius * 0.42, "#ffffff"))
    return canvas.over("".join(marks), gradient + "</linearGradient>")


def glass(canvas: TextureCanvas) -> IconDrawing:
    """See-through: the ground shows, the edge is bright and double, and light runs across in bars."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    outlines = "".join(
        stroke(line, tones.line, max(1.2, unit * 0.14)) for line in canvas.drawing.silhouette.splitlines()
    )
    below = f'<g opacity="0.5">{canvas.drawing.body}</g>'
    marks = []
    width = frame.width + frame.height
    for start, thick in ((0.16, 0.075), (0.28, 0.03), (0.6, 0.1), (0.74, 0.035)):
        left, right = frame.left + start * width, frame.left + (start + thick) * width
        lean = frame.height
        top, bottom = frame.top, frame.top + frame.height
        corners = [(left, top), (right, top), (right - lean, bottom), (left - lean, bottom)]
        marks.append(f'<path d="{polyline(corners)}Z" fill="#ffffff" opacity="0.7"/>')
    for loop in canvas.mask.eroded(unit * 0.5).loops():
        if len(loop) > 12:
            marks.append(stroke(polyline(loop) + "Z", "#ffffff", max(1.1, unit * 0.16), 0.9))
    drawing = canvas.over("".join(marks), below=below)
    return IconDrawing(frame, drawing.body + f'<g opacity="0.8">{outlines}</g>', drawing.silhouette, drawing.defs)


def plastic(canvas: TextureCanvas) -> IconDrawing:
    """Gloss that follows the edge, a bright window of light, and the triangle of arrows moulded into the middle."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    return canvas.over(_gloss(canvas) + _arrows(canvas))


def _arrows(canvas: TextureCanvas) -> str:
    """The triangle of three arrows of recyclable plastic, as large as fits the widest part."""
    mask, radius = canvas.mask, 0.0
    best = (0.0, 0.0)
    cells = mask
    while cells.cells.any():  # the last cells that erosion leaves are the middle of the widest part
        rows, columns = cells.cells.nonzero()
        row, column = float(rows.mean()), float(columns.mean())
        nearest = ((rows - row) ** 2 + (columns - column) ** 2).argmin()
        best = (
            mask.frame.left + (float(columns[nearest]) - 0.5) * mask.cell,
            mask.frame.top + (float(rows[nearest]) - 0.5) * mask.cell,
        )
        radius += mask.cell
        cells = cells.eroded(mask.cell)
    size = min(radius * 0.72, canvas.unit * 3.2)
    x, y = best
    lines, heads = [], []
    for third in range(3):
        turn = math.radians(-90 + 120 * third)
        corner = x + size * math.cos(turn), y + size * math.sin(turn)
        onward = math.radians(-90 + 120 * (third + 1))
        end = x + size * math.cos(onward), y + size * math.sin(onward)
        def along(part: float) -> tuple[float, float]:
            return corner[0] + (end[0] - corner[0]) * part, corner[1] + (end[1] - corner[1]) * part
        lines.append(polyline([along(0.16), along(0.62)]))
        dx, dy = (end[0] - corner[0]) / (size * 1.732), (end[1] - corner[1]) / (size * 1.732)
        tip, back = along(0.9), along(0.6)
        wing = size * 0.3
        heads.append(polyline([tip, (back[0] - dy * wing, back[1] + dx * wing), (back[0] + dy * wing, back[1] - dx * wing)]) + "Z")
    shaft, edge = size * 0.26, max(1.0, size * 0.1)
    data, tips = "".join(lines), "".join(heads)
    under = f'<path d="{tips}" fill="{canvas.tones.line}" stroke="{canvas.tones.line}" stroke-width="{text(2 * edge)}"/>'
    return (
        stroke(data, canvas.tones.line, shaft + 2 * edge) + under + stroke(data, canvas.tones.light, shaft)
        + f'<path d="{tips}" fill="{canvas.tones.light}"/>'
    )


def ceramic(canvas: TextureCanvas) -> IconDrawing:
    """Pottery: a glaze over bare clay at the foot, a painted band of zigzags and dots, and gloss along the edge."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    left, right, bottom = frame.left, frame.left + frame.width, frame.top + frame.height
    edge = bottom - frame.height * 0.17
    waves = math.ceil(frame.width / (unit * 3)) + 1
    ebb = "".join(f"q{text(unit * 1.5, unit * (0.7 if number % 2 else -0.7), unit * 3, 0)}" for number in range(waves))
    clay = f"M{text(left, edge)}{ebb}V{text(bottom)}H{text(left)}Z"
    marks = [f'<path d="{clay}" fill="#cf9566" stroke="#7a4a26" stroke-width="{text(max(1, unit * 0.14))}"/>']
    rings = "".join(f"M{text(left, edge + unit * step)}H{right}" for step in (0.9, 1.5, 2.1, 2.7))
    marks.append(stroke(rings, "#7a4a26", max(0.8, unit * 0.08), 0.6))
    paint = "#27469c" if tones.body in PALE else "#ffffff"
    for middle in (0.33, 0.62):
        y, high = frame.top + frame.height * middle, unit * 0.62
        lines = f"M{text(left, y - high * 1.7)}H{right}M{text(left, y + high * 1.7)}H{right}"
        teeth = "".join(f"l{text(unit * 0.8, high * (-2 if number % 2 else 2))}" for number in range(math.ceil(frame.width / unit * 1.3)))
        marks.append(stroke(lines, paint, max(1.2, unit * 0.22), 0.95))
        marks.append(stroke(f"M{text(left, y - high)}{teeth}", paint, max(1.2, unit * 0.22), 0.95))
        for number in range(math.ceil(frame.width / unit * 0.65)):
            marks.append(dot(left + unit * 1.6 * number, y + high * 0.75, unit * 0.2, paint))
    return canvas.over("".join(marks) + _gloss(canvas))


def _gloss(canvas: TextureCanvas) -> str:
    unit, marks = canvas.unit, []
    for loop in canvas.inset(unit * 0.75, unit * 0.3)[:3]:
        run: list[tuple[float, float]] = []
        for point in [*loop, *loop[: len(loop) // 3]]:
            lit = -point.out_x - point.out_y > 0.75
            if lit:
                run.append((point.x, point.y))
            elif len(run) > 4:
                marks.append(stroke(polyline(run[1:-1]), "#ffffff", unit * 0.5, 0.92))
            if not lit:
                run = []
    return "".join(marks)


def fur(canvas: TextureCanvas) -> IconDrawing:
    """Tufts all along the outline, for which the drawing shrinks, and hair that falls over all of it."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    long = unit * 1.05
    wide, high = (frame.width - 2 * long) / frame.width, (frame.height - 2 * long) / frame.height
    bound = unit * 0.24

    def shrunk(x: float, y: float) -> tuple[float, float]:
        return frame.left + long + (x - frame.left) * wide, frame.top + long + (y - frame.top) * high

    def within(x: float, y: float) -> tuple[float, float]:
        return (
            min(max(x, frame.left + bound), frame.left + frame.width - bound),
            min(max(y, frame.top + bound), frame.top + frame.height - bound),
        )

    tufts, locks = [], ""
    for loop in canvas.inset(0, unit * 0.72):
        roots = [shrunk(point.x, point.y) for point in loop]
        edge = f"M{text(*roots[0])}"
        for point, (x, y), end in zip(loop, roots, [*roots[1:], roots[0]], strict=True):
            reach = long * canvas.random.uniform(0.8, 1.05)
            lean = canvas.random.uniform(0.25, 0.6) * reach * (1 if point.out_x > 0 else -1)
            tip = within(x + point.out_x * reach - point.out_y * lean, y + point.out_y * reach + point.out_x * lean)
            swell = within(x + point.out_x * reach * 0.75, y + point.out_y * reach * 0.75)
            edge += f"Q{text(*swell, *tip)}Q{text((tip[0] + end[0]) / 2, (tip[1] + end[1]) / 2, *end)}"
            locks += f"M{text(x - point.out_x * reach * 0.8, y - point.out_y * reach * 0.8)}Q{text(x, y, *tip)}"
        tufts.append(edge + "Z")
    pen = max(1.1, unit * 0.1)
    rim = "".join(f'<path d="{data}" fill="{tones.body}" stroke="{tones.line}" stroke-width="{text(pen)}"/>' for data in tufts)
    shrink = f"matrix({wide:.5f} 0 0 {high:.5f} {frame.left * (1 - wide) + long:.3f} {frame.top * (1 - high) + long:.3f})"
    hair = stroke(locks, tones.body, unit * 0.44) + stroke(locks, tones.ink, max(0.7, unit * 0.06), 0.45)
    falling: dict[str, str] = {tones.ink: "", tones.light: "", tones.dark: ""}
    mask, step = canvas.mask.eroded(unit * 0.3), unit * 0.6
    for row in range(math.ceil(frame.height / step)):
        for column in range(math.ceil(frame.width / step)):
            x = frame.left + (column + canvas.random.random()) * step
            y = frame.top + (row + canvas.random.random()) * step
            if mask.contains(x, y):
                lean, length = canvas.random.uniform(-0.35, 0.35) * unit, canvas.random.uniform(0.6, 1.1) * unit
                color = canvas.random.choice(tuple(falling))
                falling[color] += f"M{text(*shrunk(x, y))}q{text(lean, length * 0.4, lean * 0.4, length)}"
    hair += "".join(stroke(data, color, max(1.0, unit * 0.11), 0.75) for color, data in falling.items() if data)
    body = f'{rim}<g transform="{shrink}">{canvas.drawing.body}</g>{hair}'
    return IconDrawing(frame, body, "\n".join(tufts), canvas.drawing.defs)


def _all(canvas: TextureCanvas, paint: str) -> str:
    frame = canvas.drawing.frame
    return f'<rect x="{frame.left}" y="{frame.top}" width="{frame.width}" height="{frame.height}" fill="{paint}"/>'
