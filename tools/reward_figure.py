"""A figure of what a model learns from rewards, round by round, from the logs of `examples/train_with_reward.py`.

python tools/reward_figure.py "dense reward=formalimg.csv" "vacuous credit=vacuous.csv" --out docs/images
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from formalimg.reports.figures.plots import LinePanel, PanelChart, Point, Series, numbered_style, panel_chart
from formalimg.reports.figures.svg import write_figures

PANELS = {"Easy": "Easy", "Medium": "Medium", "Hard": "Hard", "unread": "not read"}
"""Columns of a log, and what stands above their panels."""

ROUNDS = 3
"""So many rounds make a point: each round has other prompts, and its numbers vary."""


def read_log(path: Path) -> dict[str, dict[str, Point]]:
    """Return for each column its means over some rounds, by the last of these."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    parts = [rows[start : start + ROUNDS] for start in range(0, len(rows) - ROUNDS + 1, ROUNDS)]
    return {
        column: {part[-1]["round"]: Point(sum(float(row[column]) for row in part) / ROUNDS) for part in parts}
        for column in PANELS
    }


def main() -> None:
    """Write the figure."""
    parser = argparse.ArgumentParser(description="Draw what a model learns from rewards.")
    parser.add_argument("logs", nargs="+", metavar="NAME=CSV")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the figure")
    args = parser.parse_args()
    logs = {name: read_log(Path(path)) for name, path in (one.split("=", 1) for one in args.logs)}
    styles = {name: numbered_style(number) for number, name in enumerate(logs)}
    rounds = {last: None for log in logs.values() for points in log.values() for last in points}
    panels = tuple(
        LinePanel(title, tuple(Series(name, styles[name], log[column]) for name, log in logs.items()))
        for column, title in PANELS.items()
    )
    note = f"Images of prompts that are new in each round. Each point is the mean of {ROUNDS} rounds."
    title = "What passes, and what cannot be read, while a model learns from a reward"
    chart = PanelChart(title, note, tuple(rounds), panels, "percent of images", "round")
    print(*write_figures([panel_chart("tiny-reward", chart)], args.out, ["png"]), sep="\n")


if __name__ == "__main__":
    main()
