"""Replies that are hard to read, in families that grow with a size, and everything that reads a model's reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot
from formalimg.benchmarks.cfworld import judge as score_judge
from formalimg.benchmarks.cfworld.authoring.choices import Law, collect_outcomes
from formalimg.benchmarks.cfworld.authoring.group_task import parse_group
from formalimg.benchmarks.cfworld.authoring.prompt_tasks import apply_description, parse_pair
from formalimg.benchmarks.cfworld.authoring.question_task import parse_questions
from formalimg.benchmarks.cfworld.authoring.templates import (
    DescriptionAnswer,
    GroupAnswer,
    PairAnswer,
    QuestionAnswer,
    ScoresAnswer,
)
from formalimg.benchmarks.cfworld.items import builtin_groups, items_of_groups
from formalimg.benchmarks.conceptmix.authoring.checks import check_caption, check_questions, complete_binding_from
from formalimg.benchmarks.conceptmix.authoring.templates import (
    BindingAnswer,
    CaptionAnswer,
    QuestionsAnswer,
    draw_mixture,
    make_mixture,
)
from formalimg.benchmarks.conceptmix.captions.mentions import find_mentions
from formalimg.benchmarks.conceptmix.completion import complete_binding
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.formal.authoring.checks import check_formula
from formalimg.benchmarks.formal.authoring.templates import Assignment
from formalimg.judges import clause_judge, question_judge
from formalimg.judges.boxes import box_convention
from formalimg.judges.grounders import vlm
from formalimg.language.parser import parse_prompt
from formalimg.models.base import ImageRequest
from formalimg.models.builtin.baselines import compose_layout
from formalimg.models.builtin.planner import PlannedLayout
from formalimg.models.structured_output import ParseFailure, parse_answer
from formalimg.scenes.scene import Scene

Family: TypeAlias = Callable[[int], str]
"""From a number of characters to a text of about that length."""

Reader: TypeAlias = Callable[[str], object]
"""Whatever reads text that a model wrote."""


def _repeat(piece: str) -> Family:
    return lambda size: piece * (size // len(piece))


def _after(start: str, piece: str, end: str = "") -> Family:
    return lambda size: start + piece * ((size - len(start) - len(end)) // len(piece)) + end


YES = '{"observation": "a cat", "answer": "yes"}'

FAMILIES: Mapping[str, Family] = {
    "<think>": _repeat("<think>"),
    "</think>": _repeat("</think>"),
    "<think> and <thinking> in turn": _repeat("<think><thinking>"),
    "pairs of think tags": _repeat("<think></think>"),
    "tags that do not match": _repeat("<think></thinking>"),
    "thinking, then an answer": _after("", "<think>hm ", YES),
    "an answer, then thinking": _after(YES, "<think>"),
    "double quotes": _repeat('"'),
    "yes and quotes": _after("yes", '"', "!"),
    "yes, blanks and quotes": _after('"yes', " '", "!"),
    "single quotes": _repeat("'"),
    "backslashes": _repeat("\\"),
    "escaped quotes": _repeat('\\"'),
    "opening braces": _repeat("{"),
    "braces and quotes": _repeat('{"'),
    "opening brackets": _repeat("["),
    "lists in lists": _repeat("[1,"),
    "lists of words in lists": _repeat('["a",'),
    "lists that never end": _repeat('[",'),
    "deep lists, then numbers": lambda size: "[" * 900 + _repeat("0,")(size - 900),
    "objects in objects": _repeat('{"a":'),
    "objects in lists": _repeat('[{"a":'),
    "empty objects": _repeat("{}"),
    "empty lists": _repeat("[]"),
    "small objects": _repeat('{"a": 1} '),
    "answers over and over": _repeat(YES),
    "answers in a list": lambda size: f"[{_repeat(f'{YES},')(size)}{YES}]",
    "code fences": _repeat("```"),
    "code fences with JSON": _repeat('```json\n{"answer": '),
    "commas": _repeat(","),
    "colons": _repeat(":"),
    "yes no": _repeat("yes no "),
    "corrections": _after(YES, " Wait, no."),
    "verdicts after the answer": _after(YES, "\nAnswer: yes"),
    "digits": _repeat("7"),
    "a long integer": _after('{"score": ', "7", "}"),
    "a long fraction": _after('{"score": 0.', "7", "}"),
    "a minus before each digit": _repeat("-1"),
    "decimals": _repeat("0.1."),
    "blanks": _repeat(" "),
    "braces and blanks": _repeat("{" + " " * 99),
    "line ends": _repeat("\n"),
    "line ends in braces": _after("{", "\n"),
    "a string that never ends": _after('{"observation": "', "a"),
    "many fields": lambda size: "{" + ",".join(f'"{n}": {n}' for n in range(size // 16)) + "}",
    "one field twice, at the end": lambda size: (
        "{" + ",".join(f'"{n}": {n}' for n in range(size // 16)) + ',"x": 1, "x": 2}'
    ),
    "letters of many alphabets": _repeat("я猫é😀ſ"),
    "accents on accents": _repeat("\u0301"),
    "controls": _repeat("\x00\x1b"),
    "true and false": _repeat("true,false,"),
    "articles": _repeat("the "),
    "cats": _repeat("a red cat "),
    "sentences": _repeat("A cat. "),
    "full stops": _repeat(". "),
    "parentheses": _repeat("( "),
    "parentheses that close": _repeat(" )"),
    "formulas": _repeat("(exists ?a (and "),
    "one long word": _repeat("a"),
    "hyphens": _repeat("a-"),
    "apostrophes": _repeat("a'"),
    "words with numbers": _repeat("1x1 "),
}


# --- answers of the wanted form, with very many entries


def _listed(before: str, entry: Callable[[int], object], after: str = "}") -> Family:
    def build(size: int) -> str:
        count = size // (len(json.dumps(entry(0))) + 2)
        return f"{before}[{', '.join(json.dumps(entry(n)) for n in range(count))}]{after}"

    return build


def _seen(box: Callable[[int], list[float]], label: Callable[[int], str] = lambda n: "cup") -> Family:
    return _listed('{"objects": ', lambda n: {"label": label(n), "color": "red", "box_2d": box(n)})


def _spread(n: int) -> list[float]:
    x, y = n % 97 * 10, n // 97 % 97 * 10
    return [x, y, x + 9, y + 9]


def _shifted(n: int) -> list[float]:
    return [n % 70, n // 70 % 70, 500 + n % 83, 500 + n // 83 % 83]


LONG_ANSWERS: Mapping[str, Family] = {
    "boxes side by side": _seen(_spread),
    "boxes of two classes": _seen(_spread, lambda n: ("cup", "pen")[n % 2]),
    "boxes in one place": _seen(lambda n: [100, 100, 200, 200]),
    "boxes in nearly one place": _seen(_shifted),
    "boxes of two classes in nearly one place": _seen(_shifted, lambda n: ("cup", "pen")[n % 2]),
    "boxes in boxes": _seen(lambda n: [0, 0, 2 + n % 998, 2 + n // 998 % 998]),
    "boxes of unknown classes": _seen(_spread, lambda n: f"thing {n}"),
    "boxes that are wrong": _seen(lambda n: [9, 9, 1, 1]),
    "boxes of many numbers": _seen(lambda n: list(range(40))),
    "entries of another form": _listed('{"objects": ', lambda n: 1),
    "answers of another form": _listed('{"answers": ', lambda n: 1),
    "numbered answers": _listed('{"answers": ', lambda n: {"number": n, "observation": "", "answer": "yes"}),
    "numbered scores": _listed('{"answers": ', lambda n: {"number": n, "reasoning": "", "score": 1}),
    "clauses": _listed(
        '{"observations": [], "fulfilled": true, "clauses": ',
        lambda n: {"clause": f"({n})", "because": "", "holds": True},
    ),
    "the same clause": _listed(
        '{"observations": [], "fulfilled": true, "clauses": ',
        lambda n: {"clause": "(Is ?x 'cat')", "because": "", "holds": bool(n % 2)},
    ),
    "satisfied clauses": _listed('{"satisfies_constraint": true, "satisfied_clauses": ', lambda n: f"({n})"),
    "fields that nobody asked for": _listed(
        '{"observation": "", "answer": "yes", "more": ', lambda n: {"verdict": "yes", "n": n}
    ),
    "things of a binding": _listed('{"objects": ', lambda n: {"id": n + 1, "item": "cat"}),
    "questions": _listed('{"questions": ', lambda n: "Is there a cat?"),
    "questions with scores": _listed(
        '{"thoughts": "", "questions": ',
        lambda n: {"dimension": "logic", "question": "Is it?", "criteria": "1: yes, 0: no"},
    ),
}


# --- readers

FRAME = vlm.BoxFrame(box_convention(""), 1000, 1000)
CLAUSES = ("(Is ?x 'cat')", "(Is ?y 'dog')")


def read_clauses(text: str, answer_type: type[Any] = clause_judge.ClauseAnswer) -> object:
    answer = parse_answer(text, answer_type)
    if isinstance(answer, ParseFailure):
        return answer
    findings = clause_judge.read_findings(answer, CLAUSES)
    return clause_judge.find_problem(findings, CLAUSES, allow_unknown=True) or findings.contradiction()


def read_questions(text: str, answer_type: type[Any] = question_judge.YesNoAnswer) -> object:
    answer = parse_answer(text, answer_type)
    return answer if isinstance(answer, ParseFailure) else question_judge.find_problem(answer, 3)


def read_scores(text: str, answer_type: type[Any] = score_judge.NumberedScores) -> object:
    answer = parse_answer(text, answer_type)
    return answer if isinstance(answer, ParseFailure) else score_judge.find_problem(answer, 3)


def read_boxes(text: str) -> object:
    answer = parse_answer(text, vlm.SeenThings)
    if isinstance(answer, ParseFailure):
        return answer
    problem = vlm.find_problem(answer, FRAME)
    if problem is not None:
        return problem
    return vlm.resolve_objects([(("cup", "pen"), answer)], FRAME, ["red"])


def read_layout_plan(text: str) -> object:
    answer = parse_answer(text, PlannedLayout)
    if isinstance(answer, ParseFailure):
        return answer
    return Scene.from_json({"objects": [obj.model_dump() for obj in answer.objects]})


@cache
def _mixture() -> Any:
    plan, pools = AuthoringPlan("conceptmix", (3,), 1), load_pools()
    drawn = draw_mixture(plan, pools, Slot(0, 3), 0)
    binding = complete_binding(drawn.binding, drawn.rng)
    return make_mixture(drawn.concepts, binding, pools), pools


def _caption(text: str) -> object:
    return check_caption(CaptionAnswer(possible=True, why=text, caption=text), *_mixture())


def _binding(text: str) -> object:
    mix, pools = _mixture()
    answer = parse_answer(text, BindingAnswer)
    if isinstance(answer, ParseFailure):
        objects = [*mix.binding.to_json()["objects"], {"id": len(mix.binding.objects) + 1, "item": text}]
        answer = BindingAnswer.model_validate({**mix.binding.to_json(), "objects": objects})
    return complete_binding_from(mix.binding, answer, pools)


def _questions(text: str) -> object:
    mix, pools = _mixture()
    answer = parse_answer(text, QuestionsAnswer)
    if isinstance(answer, ParseFailure):
        return check_questions([f"Is {text}?"] * len(mix.concepts), mix, pools)
    return check_questions(answer.questions, mix, pools)


def _pair(text: str) -> object:
    return parse_pair(PairAnswer(thoughts="", a=text, rare=text, common=text, rare_prompt=text, common_prompt=text))


@cache
def _outcome() -> Any:
    return collect_outcomes(items_of_groups(builtin_groups()[:1]))[0]


def _description(text: str) -> object:
    named = _outcome()
    quoted = named.outcome or text
    said = f"{text[:1].upper()}{text[1:]}."
    return [
        apply_description(DescriptionAnswer(thoughts="", outcome=outcome, named=[text, text], described=said), named)
        for outcome in (quoted, text)
    ]


def _group(text: str) -> object:
    texts = ("changed", "factual", "implicit", "outcome", "described", "shows_factual", "shows")
    fields: dict[str, Any] = dict.fromkeys(texts, text)
    answer = GroupAnswer(thoughts=text, discipline="physics", branch="optics", **fields)
    return parse_group(answer, Law("Light is fast.", "physics", "optics"), "law-1")


def _weighted(text: str) -> object:
    answer = parse_answer(text, ScoresAnswer)
    if isinstance(answer, ParseFailure):
        given = [QuestionAnswer(dimension="logic", question=f"{text}?", criteria=text)] * 3
    else:
        given = answer.questions
    return parse_questions(given, "A cat on a mat.")


def _formula(text: str) -> object:
    offered = Assignment("knolling", 1, ("exists",), ("cup",), {"color": ("red",)}, ("Has",))
    return check_formula(text, offered)


def _prompt(text: str) -> object:
    from formalimg.language.lexicon import WordingError

    try:
        return parse_prompt(text, "knolling")
    except WordingError as error:
        return error


def _score(text: str) -> object:
    entry = score_judge.NumberedScore(number=1, reasoning=text, score=text)
    return score_judge.parse_score(text), score_judge.find_problem(score_judge.NumberedScores(answers=[entry]), 1)


def _yes_no(text: str) -> object:
    answer = question_judge.YesNoAnswer(observation=text, answer=text)
    return question_judge.find_problem(answer, 1), question_judge.parse_yes_no(f"yes{text}")


READERS: Mapping[str, Reader] = {
    "yes or no": read_questions,
    "numbered yes or no": lambda text: read_questions(text, question_judge.NumberedAnswers),
    "clauses": read_clauses,
    "satisfied clauses": lambda text: read_clauses(text, clause_judge.PublishedAnswer),
    "numbered scores": read_scores,
    "published scores": lambda text: read_scores(text, score_judge.score_answer_type(3)),
    "boxes": read_boxes,
    "planned layout": read_layout_plan,
    "the word yes or no": _yes_no,
    "one score": _score,
    "one clause": clause_judge.normalize_clause,
    "caption to write": _caption,
    "binding": _binding,
    "questions to write": _questions,
    "pair": _pair,
    "description": _description,
    "group": _group,
    "weighted questions": _weighted,
    "formula": _formula,
    "prompt": _prompt,
    "mentions in a caption": find_mentions,
    "layout in a prompt": lambda text: compose_layout(ImageRequest("1", 0, text, 0)),
}
