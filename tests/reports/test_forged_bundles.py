"""Forged bundles: each forgery is found, or what was forged is listed as what only a cited digest proves."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image

import formalimg
from formalimg.models.python_function import CallableModel
from formalimg.reports.sharing.bundle import write_bundle
from formalimg.reports.sharing.bundle_verification import verify_bundle
from tests.reports import forged_bundles as forged
from tests.reports.forged_bundles import Forger, write_forged
from tests.reports.planted_changes import read_files
from tests.support.command import formalimg as command

GOLDEN = Path(__file__).parents[1] / "golden" / "runs"
VERSION = "formalimg 1"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory, reader_run: Path) -> dict[str, Path]:
    """Bundles with images, by what is in them."""
    root = tmp_path_factory.mktemp("forged")
    folders = {"knolling": reader_run, "adaptive": _adaptive_run(root / "adaptive")}
    for name, stored in {"conceptmix": "conceptmix", "cf-world": "cf-world", "grounded": "knolling-grounded"}.items():
        folders[name] = root / stored
        shutil.copytree(GOLDEN / stored, root / stored)
    paths = {name: root / f"{name}.zip" for name in folders}
    for name, folder in folders.items():
        write_bundle([folder], paths[name], VERSION, images=True)
    return paths


def _adaptive_run(folder: Path) -> Path:
    def judge(image: Image.Image, item: Any) -> bool:
        return int(item.id) % 5 > 0

    model = CallableModel(lambda prompt: Image.radial_gradient("L"), name="python/gradient")
    options: dict[str, Any] = {"levels": [1, 2], "per_level": 10, "size": 64, "adaptive": True, "progress": False}
    formalimg.run("knolling", model, folder=folder, judge=judge, **options)
    return folder


class Forgery(NamedTuple):
    """A forgery: in which bundle, what is done, and what verification says: a difference, or what it cannot prove."""

    of: str
    forge: Callable[[Forger], None]
    says: str
    only_by_digest: bool = False


FORGERIES = {
    "passed, against parts and answers": Forgery(
        "conceptmix", forged.passed_alone, "stored as passed, and its raw answers make it failed"
    ),
    "parts, with answers in code fences": Forgery(
        "conceptmix", forged.fenced_answers, "is stored as 1, and its raw answers make it 0"
    ),
    "scores of CF-World": Forgery("cf-world", forged.raw_scores, "is stored as 1, and its raw answers make it 0"),
    "the scene left out": Forgery("knolling", forged.no_scene, "has no scene, which this judge always stores"),
    "the scene of the witness": Forgery("knolling", forged.witness, "the image makes it"),
    "failures as absent": Forgery("knolling", forged.absent, "builtin/reader leaves no image absent"),
    "a prompt": Forgery("knolling", forged.easier_prompts, "is not the one of knolling that ships"),
    "the level of a failure": Forgery("cf-world", forged.moved_level, "is not the one of cf-world that ships"),
    "failed items deleted": Forgery(
        "knolling", forged.deleted_items, "a choice of the 2,000 of knolling", only_by_digest=True
    ),
    "a sample as a copy of a better one": Forgery(
        "conceptmix", forged.copied_sample, "each is the same file as another image", only_by_digest=True
    ),
    "images of two items swapped": Forgery("knolling", forged.swapped_images, "the image makes it"),
    "how the judge was asked": Forgery("conceptmix", forged.other_requests, "its raw answers give no verdict"),
    "passed just below the threshold": Forgery(
        "cf-world", forged.threshold, "stored as passed, and its raw answers make it failed"
    ),
    "weights of parts": Forgery("cf-world", forged.part_weights, "has the weight 90, and its raw answers make it"),
    "weights of questions and parts": Forgery(
        "cf-world", forged.item_weights, "is not the one of cf-world that ships with formalimg"
    ),
    "report.json alone": Forgery("knolling", forged.report_alone, "overall.value is 1.0, and the verdicts make"),
    "the seed": Forgery("knolling", forged.other_seed, "its seed does not follow from the seed of the run"),
    "verdicts of a second judge": Forgery(
        "conceptmix", forged.second_judge, "python/expert, a judge that is not part of formalimg", only_by_digest=True
    ),
    "a score that is no number": Forgery("conceptmix", forged.not_a_number, "they cannot be read"),
    "failures as not understood": Forgery(
        "conceptmix", forged.unscored_with_evidence, "stored as unscored, and its raw answers make it failed"
    ),
    "failures as calls without an answer": Forgery(
        "conceptmix", forged.unscored_without_evidence, "says so and stored nothing else", only_by_digest=True
    ),
    "failures as refused, with their images": Forgery(
        "knolling", forged.refused_by_verdict, "it is unscored (refused), and its image was made"
    ),
    "answers as refused, with their images": Forgery(
        "conceptmix", forged.refused_by_verdict, "it is unscored (refused), and its image was made"
    ),
    "a rule that nobody has": Forgery("conceptmix", forged.other_rule, "which its judge does not have"),
    "the size of images": Forgery("knolling", forged.wider_images, "its record has 512 x 256 pixels, and it has 256"),
    "a file beside those of a run": Forgery("knolling", forged.file_of_the_run, "it belongs to no run of the bundle"),
    "costs": Forgery("conceptmix", forged.no_costs, "costs and durations", only_by_digest=True),
    "ratings of people added": Forgery("knolling", forged.human_labels, "it belongs to no run of the bundle"),
    "a look of an adaptive run": Forgery("adaptive", forged.better_looks, "as passed, and its verdict does not"),
    "failures as never made": Forgery("knolling", forged.never_made, "nobody has tried to make them"),
    "rules that no judge has": Forgery("conceptmix", forged.rules_of_the_judge, "judging_rules is 7, not 1"),
    "a judge with other settings, and witnesses": Forgery(
        "knolling", forged.other_version, "settings are not those of builtin/icons for knolling in this version"
    ),
    "a chat model without its prompts": Forgery(
        "grounded", forged.no_prompts, "it is a chat model, and its settings have no prompt"
    ),
    "raw answers made up": Forgery(
        "conceptmix", forged.made_up_answers, "openai/looker gave these raw answers", only_by_digest=True
    ),
    "failures as refused": Forgery(
        "knolling", forged.refused, "the run says that they are refused", only_by_digest=True
    ),
    "another model": Forgery(
        "conceptmix", forged.other_model, "that openai/gpt-image-9 made them", only_by_digest=True
    ),
    "witnesses, and the images left out": Forgery(
        "knolling", forged.witness_without_images, "they are not in the bundle, only their digests", only_by_digest=True
    ),
}


@pytest.mark.parametrize("name", ["conceptmix", "cf-world", "grounded", "knolling", "adaptive"])
def test_what_was_not_forged_is_not_called_so(bundles: dict[str, Path], name: str) -> None:
    check = verify_bundle(bundles[name])
    assert check.findings == []
    assert check.is_complete
    assert check.unproven


@pytest.mark.parametrize("kind", list(FORGERIES))
def test_a_forgery_is_found_or_what_it_claims_is_listed_as_unproven(
    bundles: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    forgery = FORGERIES[kind]
    genuine = bundles[forgery.of]
    path = write_forged(genuine, tmp_path / "forged.zip", forgery.forge)
    check = verify_bundle(path)
    told = check.unproven if forgery.only_by_digest else (*check.findings, *check.missing)
    assert any(forgery.says in str(one) for one in told), "\n".join(map(str, (*check.findings, *check.unproven)))
    assert check.is_complete == forgery.only_by_digest
    cited = hashlib.sha256(read_files(genuine)["bundle.json"]).hexdigest()
    (finding,) = verify_bundle(path, cited).findings
    assert "was cited" in finding.text


def test_the_command_never_says_that_nothing_differs_without_what_it_did_not_compute(
    bundles: dict[str, Path], tmp_path: Path
) -> None:
    said = command("share", "verify", str(bundles["conceptmix"]))
    assert said.code == 0
    assert "not computed again: verdicts (20): that openai/looker gave these raw answers" in said.out
    assert "nothing differs in what was computed again; without a cited digest" in said.out
    stopped = write_forged(bundles["knolling"], tmp_path / "stopped.zip", forged.never_made)
    said = command("share", "verify", str(stopped))
    assert said.code == 1
    assert "not complete: " in said.out
    told = json.loads(command("share", "verify", str(stopped), "--json").out)
    assert told["is_complete"] is False
    assert told["missing"][0]["what"] == "planned images"


def test_a_sample_of_many_images_says_how_many(bundles: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.reports.sharing.bundle_verification.MAX_IMAGES_JUDGED", 2)
    check = verify_bundle(bundles["knolling"])
    assert (check.by_image, check.images_to_judge > 2) == (2, True)
    assert any("were not in the sample" in str(one) for one in check.unproven)
    everything = verify_bundle(bundles["knolling"], all_images=True)
    assert everything.by_image == everything.images_to_judge == check.images_to_judge


def test_the_size_of_an_image_that_is_not_there_takes_no_memory(bundles: dict[str, Path], tmp_path: Path) -> None:
    def enlarge(forger: Forger) -> None:
        for name in [name for name in forger.files if "/images/" in name]:
            del forger.files[name]
        for number, row in enumerate(forger.tables["pictures"]):
            row.update(width=8_000 + number, height=8_000)

    path = write_forged(bundles["grounded"], tmp_path / "large.zip", enlarge)
    start = time.process_time()
    assert verify_bundle(path).findings  # boxes in pixels are elsewhere
    assert time.process_time() - start < 3
