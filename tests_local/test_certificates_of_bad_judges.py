"""Three deliberately bad chat models over HTTP: the certificate names the fault of each, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.bad_judges import KnowingModel, Say, always_yes, blind_to_relations, swayed_by_text, truly
from tests.support.loopback import Loopback
from tests.support.remote_models import stand_alone

from formalimg.judges.certificates.measurement import certify_judge
from formalimg.judges.factory import open_judge

SCENES, SEED = 40, 7


@pytest.fixture(scope="module")
def model() -> KnowingModel:
    return KnowingModel("natural", SCENES, SEED)


FAULTS: dict[Say, str] = {
    truly: "no fault found",
    always_yes: "answers yes to almost everything",
    blind_to_relations: "does not see relations",
    swayed_by_text: "swayed by text in the image",
}


@pytest.mark.parametrize("say", FAULTS)
def test_each_fault_is_named(say: Say, model: KnowingModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    model.say = say
    with Loopback(reply=model) as server:
        judge = open_judge("natural", "openai/looker", {"base_url": f"{server.url}/v1", "cache": "off"})
        found = certify_judge(judge, "natural", SCENES, SEED)
    assert found.unscored == {}
    named = [fault for fault in FAULTS.values() if any(each.startswith(fault) for each in found.findings)]
    assert named == [FAULTS[say]], found.findings
