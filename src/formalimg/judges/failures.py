"""Failures of an image as short English sentences, for the viewer, reports, notebooks and the command line.

For formulas, the scene stored by the judge decides which sentence is true; if none is certain, the wording of the
clause is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges.clause_sentences import JudgedScene, ScenePhrases, SceneSentence, parse_clause
from formalimg.language.lexicon import WordingError, lexicon_of, with_classes
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import try_parse
from formalimg.logic.syntax import Atom, Value, atoms
from formalimg.logic.vocabulary import VocabularyError, vocabulary, vocabulary_names
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Benchmark, Part, Unscored, Verdict

_TOGETHER = "not all that is asked of the objects holds at once"
_NO = "the judge says no"
_ANSWERED = 0.5  # Where questions have probabilities, an answer is the right one from this on


class FailureSentence(NamedTuple):
    """A sentence that describes a failure, with the parts and objects it refers to."""

    text: str  # the sentence, without a full stop
    # which parts of the verdict it explains, by their numbers; none if it is about the whole
    parts: tuple[int, ...] = ()
    # which objects of the stored scene it speaks of, by their numbers; none if what is missing is not there
    objects: frozenset[int] = frozenset()


def failure_sentences(verdict: Verdict | Unscored, suite: Benchmark, formula: str = "") -> tuple[FailureSentence, ...]:
    """Describe all failures of an image as unique sentences, or return () if it passed."""
    if isinstance(verdict, Unscored):
        return (FailureSentence(": ".join(filter(None, [verdict.reason, verdict.detail]))),)
    explanation = verdict.evidence.get("explanation")
    explained = explanation if isinstance(explanation, str) else ""
    if "rule" in verdict.evidence:  # no judge looked at it, as at a blank image
        return (FailureSentence(explained or f"failed by rule: {verdict.evidence['rule']}"),)
    scene = _read_judged_scene(verdict, suite, formula) if formula else None
    sentences: dict[str, FailureSentence] = {}
    for number in find_failed_parts(verdict):
        for text, objects in _explain_part(verdict, number, suite, formula, scene):
            earlier = sentences.get(text, FailureSentence(text))
            sentences[text] = FailureSentence(text, (*earlier.parts, number), earlier.objects | objects)
    if not sentences and not verdict.passed:
        return (FailureSentence(explained or _NO),)
    return tuple(sentences.values())


def failure_text(verdict: Verdict | Unscored, suite: Benchmark, formula: str = "") -> str:
    """Join the failures of an image as one line, or return an empty string if it passed."""
    return "; ".join(sentence.text for sentence in failure_sentences(verdict, suite, formula))


def find_failed_parts(verdict: Verdict) -> list[int]:
    """Return the indices of the failed parts."""
    below = [number for number, part in enumerate(verdict.parts) if part.score < 1]
    if all(part.p_yes is None for part in verdict.parts):
        return below
    return [number for number in below if verdict.parts[number].score < _ANSWERED] or ([] if verdict.passed else below)


def _explain_part(
    verdict: Verdict, number: int, suite: Benchmark, formula: str, scene: JudgedScene | None
) -> Iterable[SceneSentence]:
    part = verdict.parts[number]
    if formula and part.name.startswith("("):
        return (scene is not None and scene.sentences(number)) or [_explain_clause(part, formula, suite, scene)]
    if "reader" in verdict.evidence:  # what was read says more than a question with its answer
        return [SceneSentence(part.reason)]
    sentences = suite.explain_failure(part, verdict)
    return _explain_question(part, verdict) if sentences is None else sentences


# --- formulas


def _read_judged_scene(verdict: Verdict, suite: Benchmark, formula: str) -> JudgedScene | None:
    """Combine the formula's clauses with the judge's stored scene, or return None if it is missing or unreadable."""
    bindings, style = verdict.evidence.get("bindings"), verdict.evidence.get("style")
    scene = read_stored_scene(verdict, suite)
    parsed, _ = try_parse(formula)
    if scene is None or parsed is None or not isinstance(bindings, Mapping):
        return None
    name = suite.vocabulary or _vocabulary_of(formula)
    classes = [
        value.text
        for atom in atoms(parsed)
        for value in atom.arguments
        if atom.predicate == "Is" and isinstance(value, Value)
    ]
    try:
        words = with_classes(lexicon_of(parsed, name), classes)
        phrases = ScenePhrases(scene, words, vocabulary(name))
    except (WordingError, VocabularyError):
        return None
    if not all(label in words.nouns for label in classes):  # two classes of one noun
        return None
    binding = {str(name).removeprefix("?"): obj for name, obj in bindings.items() if isinstance(obj, int)}
    if "style" in verdict.evidence and not style:
        from formalimg.drawing.truth import PLAIN_STYLE

        style = PLAIN_STYLE
    clauses = [parse_clause(part.name) for part in verdict.parts]
    return JudgedScene(clauses, binding, phrases, style if isinstance(style, str) else "")


def read_stored_scene(verdict: Verdict | Unscored, suite: Benchmark) -> Scene | None:
    """Return the scene stored by the judge, or None if it is missing or unreadable."""
    try:
        scene = Scene.from_json(verdict.evidence["scene"]) if "scene" in verdict.evidence else None
    except SceneError:
        return None
    depth, style = verdict.evidence.get("depth"), verdict.evidence.get("style")
    if scene is None or suite.world != "drawn" or not isinstance(depth, list):
        return scene
    if sorted(depth, key=str) != sorted(range(len(scene)), key=str):
        return None
    from formalimg.drawing.scene import DrawnScene  # here, because most scenes are not drawn
    from formalimg.drawing.truth import complete_scene

    try:
        return complete_scene(DrawnScene(scene, style if isinstance(style, str) else None, tuple(depth)))
    except (FormalimgError, LookupError, ValueError):  # a run may come from anywhere
        return None


def _vocabulary_of(formula: str) -> str:
    """Return the name of the vocabulary that a free prompt's formula uses."""
    *rest, last = vocabulary_names()
    return next((name for name in rest if "(Has " in formula and "Has" in vocabulary(name).predicates), last)


def _explain_clause(part: Part, formula: str, suite: Benchmark, scene: JudgedScene | None) -> SceneSentence:
    """Return the English wording of a failed clause, or a generic sentence for a whole formula."""
    if part.kind == "formula":
        return SceneSentence(_TOGETHER)
    clause = parse_clause(part.name)
    if scene is not None and clause is not None and isinstance(clause.claim, Atom) and clause.claim.predicate == "Is":
        return SceneSentence(_TOGETHER)  # there is such an object, so "there is a cup" would not be what failed
    words = clause_words(part.name, formula, suite)
    counted = _NEEDED.fullmatch(part.reason) if part.kind == "count" else None
    if counted and not words:
        return SceneSentence(reason_by_count(part.reason))
    words = re.sub(r"^There (?:is|are) ", "", words or part.name)
    words = words if words.startswith("(") else words[:1].lower() + words[1:]
    return SceneSentence(f"not shown: {words}" + (f"; {counted[2]} found" if counted else ""))


def clause_words(clause: str, formula: str, suite: Benchmark) -> str:
    """Return a clause as English without a full stop, or an empty string if it has no wording."""
    return _word_clause(clause, formula, suite.vocabulary or _vocabulary_of(formula))


@lru_cache(maxsize=4096)
def _word_clause(clause: str, formula: str, vocabulary: str) -> str:
    """Return the cached English wording of a clause, or an empty string if it has none."""
    from formalimg.language.realization import clause_in_words  # here, because scenes explain most failures

    try:
        return clause_in_words(clause, formula, vocabulary).removesuffix(".")
    except (FormulaError, WordingError):
        return ""


_NEEDED = re.compile(r"(?:.*: )?(.+ (?:needed|allowed)), (none|\d+) found(?:: .*)?")


def reason_by_count(reason: str) -> str:
    """Rephrase a reason about a count to begin with the number found, and leave other reasons unchanged."""
    counted = _NEEDED.fullmatch(reason)
    if counted is None:
        return reason
    if counted[2] == "none" and (single := re.fullmatch(r"1 (.+) needed", counted[1])):
        return f"no {single[1]} found"
    return f"{counted[2]} found, {counted[1]}"


# --- questions


def _explain_question(part: Part, verdict: Verdict) -> Iterator[SceneSentence]:
    if part.reason.startswith(("not asked", "counts as failed")):
        return
    if not part.name.endswith("?"):
        yield SceneSentence(f"{part.name}: {part.score:.2f} of 1" if part.score else f"not shown: {part.name}")
        return
    answers = verdict.evidence.get("observations")
    for entry in answers if isinstance(answers, list) else ():
        if isinstance(entry, Mapping) and entry.get("question") == part.name and entry.get("answer") in ("yes", "no"):
            yield SceneSentence(f"{part.name} {str(entry['answer']).capitalize()}")
            return
    yield SceneSentence(f"{part.name} Not as asked")
