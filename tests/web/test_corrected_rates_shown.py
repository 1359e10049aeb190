"""The page of a run whose images people have labelled: raw and corrected rates side by side."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient

from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site
from tests.human_eval.labelled_runs import lenient_run, rate_truly
from tests.human_eval.rated_runs import opened


def test_a_given_study_corrects_its_run_alone(tmp_path: Path) -> None:
    for name in ("rated", "other"):
        lenient_run(tmp_path / "runs" / name, 40)
    with opened(tmp_path / "runs" / "rated") as runs:
        made = create_study(tmp_path / "elsewhere", runs, "likert", raters=1, per_image=1, per_level=5)
    with open_study(made.folder) as study:
        rate_truly(study, "rater-1")
    site = Site(tmp_path / "runs", [made.folder])
    with TestClient(create_viewer_app(site, token=None), base_url="http://127.0.0.1:8421") as visitor:
        pages = {name: visitor.get(f"/run?run={name}").text for name in ("rated", "other")}
    assert "<h2>Corrected by human labels</h2>" in pages["rated"]
    assert re.search(r"all images</th>(?:<td[^>]*>.*?</td>){2}<td[^>]*>20<", pages["rated"], re.DOTALL)
    assert "Corrected by human labels" not in pages["other"]
    assert "without human labels: `formalimg report --human` corrects them" in pages["other"]
