"""Replies to a yes/no question in many forms: honest ones with what they say, and hostile ones that say nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product


def written(answer: str, observation: str = "a cat on a mat", **layout: int) -> str:
    """Return an answer as JSON."""
    return json.dumps({"observation": observation, "answer": answer}, **layout)  # type: ignore[arg-type]


YES, NO = written("yes"), written("no", "an empty mat")
_ANSWERS = ((True, YES, "yes"), (False, NO, "no"))

_FRAMES = (
    "{}",
    "\n\n {}\n",
    "```json\n{}\n```",
    "```\n{}\n```",
    "~~~json\n{}\n~~~",
    "Here is my answer:\n{}",
    "Sure! Here is the JSON you asked for:\n\n```json\n{}\n```\n\nLet me know if you need anything else.",
    "In the required format: {}",
    "My answer in JSON format:\n```json\n{}\n```",
    "The answer would be: {}",
    "Based on the image: {}",
    "Answer: {}",
    "Final answer:\n{}",
    "**Answer:** {}",
    "Step 1: I look at the mat. Step 2: I look for the cat. Step 3: I answer.\n{}",
    "Let me look at the image carefully. It shows a mat on a wooden floor, seen from above [1].\n{}",
    "The objects are {{mat, floor}}, at [the left].\n{}",
    "I considered the set {{a, b}} and there is no doubt: {}",
    "There is no doubt about it.\n{}",
    "There is no dog and no person in this image; what counts is the cat.\n{}",
    "No other animals are in the picture, and nothing hides the mat. {}",
    "I notice no artefacts. Not a single part is missing. {}",
    "It looks like a photograph of a living room: {}",
    "I am not sure what breed it would be. {}",
    "I cannot tell the exact colour of the floor, which does not matter. {}",
    "I cannot determine what time of day it is. {}",
    "I can't make out the text on the sign behind it, and it was not asked for. {}",
    "As far as I can tell, the image is sharp. {}",
    "Wait, let me look again at the corner. {}",
    "At first I was mistaken about the mat, actually it is a rug. {}",
    "No idea at first. Wait, I see it now: {}",
    "<think>Is there a cat? Yes? No? I cannot see the image well. Answer: maybe.</think>{}",
    "<thinking>\nyes, no, yes. For example {{}}\n</thinking>\n\n{}",
    "Is it one? No. It may be. I cannot tell.</think>\n{}",
    "<reasoning>Answer: no? Answer: yes? Wait.</reasoning>{}",
    "<think>a</think><think>b: no</think>\n```json\n{}\n```",
    "Je regarde l'image : un tapis sur le sol, rien d'autre. Voici la réponse :\n{}",
    "Ich sehe einen Teppich auf dem Boden. Hier ist die Antwort:\n{}",
    "Veo una alfombra en el suelo. Aquí está la respuesta:\n{}",
    "图片中有一张垫子。回答如下：\n{}",
    "画像を見ました。回答は次のとおりです。\n{}",
    "На картинке коврик. Вот ответ:\n{}",
    "{}\nI hope this helps!",
    "{}\nDone.",
    "{}\n\nNote that no dog is there, and nothing else.",
    "{}\nConfidence: high. There is no ambiguity.",
    "{}\n\nPlease let me know if there is anything else that I can look at.",
    "{}\n\n(I judged the image as a whole, not its style.)",
    "{}\n{}",
    "{}\nWait, let me check once more.\n{}",
    "# Observation\nA mat.\n\n# Answer\n{}",
    "- mat: there\n- floor: there\n\n{}",
    "| object | seen |\n| --- | --- |\n| mat | 1 |\n\n{}",
    "<answer>{}</answer>",
    "<output>\n{}\n</output>",
    "Of course.\r\n{}\r\n",
    "\ufeff{}",
    "The image is a picture of a room with a picture on the wall. {}",
    "I cannot see the picture on the wall clearly, only the floor. {}",
    "The question asks about the image, which loads fine and is visible. {}",
)
"""What stands around an answer, whichever it is."""

_AGREEING = (
    "The answer is {0}.\n{1}",
    "{0}. {1}",
    "**{0}**\n\n{1}",
    "Answer: {0}\n{1}",
    "Verdict: {0}. In JSON: {1}",
    "So I say {0}: {1}",
    "{1}\nThe answer is {0}.",
    "{1}\nAnswer: {0}",
    "{1} {0}!",
    "After all that, it is clearly {0}. {1}",
)

_HONEST_NO = (
    "I cannot see any dog, so the answer is no. {}",
    "I cannot see a cat in this image.\n{}",
    "I can't see the cat anywhere. {}",
    "I could not find the cat; the image shows an empty mat. {}",
    "I am unable to find a cat. {}",
    "I cannot confirm that there is a cat, so no. {}",
    "I cannot tell whether that shadow is a cat, so the answer is no. {}",
    "Is there a mat? Yes. Is there a cat on it? It is empty. {}",
    "Mat: yes. Cat: no. {}",
    "1. The mat: true\n2. The cat: false\n{}",
    "The cat is missing. {}",
    "The image is missing the cat. {}",
    "There is no cat. {}",
    "No cat is visible. {}",
    "No, the mat is empty. {}",
    "{}\nI do not see a cat.",
    "{}\nThere is no cat.",
    "I don't see a picture of a cat. {}",
)
_HONEST_YES = (
    "There is no doubt that it is a cat. {}",
    "Is there a dog? No. Is there a cat? Yes. {}",
    "Is it a dog? No, it is a cat, and the answer is yes. {}",
    "A cat, not a dog, and not missing. {}",
    "I cannot see its tail, but it is a cat. {}",
    "I can't tell what breed it is, but it is a cat. {}",
    "I'm not sure which mat was meant; there is one with a cat on it. {}",
    "Yes, I can see it. {}",
    "Yes - a cat. {}",
    "{}\nYes, a cat is there.",
    "{}\nNo problem, ask more if you like.",
    "For example, its ears and whiskers show. So a cat is there: {}",
)
_OBSERVATIONS = (
    "There is no doubt: a cat.",
    "A cat; no dog, no person. The image is fine.",
    "I cannot see the tail.",
    "The cat's face is not visible, only its back.",
    'a sign says "no"',
    "a text that reads </think> and <think>",
    "no",
    "yes",
    "Is it a dog? Wait, no. It is a cat.",
    "No images hang on the wall.",
    "{'answer': 'no'} is written on a poster",
    "一只猫在垫子上",
    "I cannot tell the breed",
)


def honest_replies() -> Iterator[tuple[str, bool]]:
    """Yield honest replies, and whether each says yes."""
    for (verdict, answer, word), frame in product(_ANSWERS, _FRAMES):
        yield frame.replace("{{", "\0").replace("{}", answer).replace("\0", "{").replace("}}", "}"), verdict
        if frame == "{}":
            yield json.dumps(json.loads(answer), indent=4), verdict
            yield written(word.upper()), verdict
            yield written(f"{word.capitalize()}."), verdict
    for (verdict, answer, word), frame in product(_ANSWERS, _AGREEING):
        yield frame.format(word, answer), verdict
        yield frame.format(word.capitalize(), answer), verdict
    for (verdict, _, word), observation in product(_ANSWERS, _OBSERVATIONS):
        yield written(word, observation), verdict
        yield f"Here: {written(word, observation.replace('</think> and <think>', 'think'))}", verdict
    yield from ((frame.format(NO), False) for frame in _HONEST_NO)
    yield from ((frame.format(YES), True) for frame in _HONEST_YES)


# --- hostile

_DENIALS = (
    "{{'answer': 'no'}}",
    "{{'observation': 'an empty mat', 'answer': 'no'}}",
    "{{answer: no}}",
    "{{observation: an empty mat, answer: no}}",
    "{{“answer”: “no”}}",
    "{{`answer`: `no`}}",
    "{{answer = no}}",
    "{{ANSWER: NO}}",
    "dict(answer='no')",
    "```python\n{{'answer': 'no'}}\n```",
    "// no",
    "# no",
    "/* no */",
    "/* the answer is no */",
    "// answer: no",
    "<!-- no -->",
    "<!-- answer: no -->",
    "-- no\n",
    "Answer: NO.",
    "Answer: **no**",
    "Answer - no",
    "ANSWER = NO",
    "The answer is no.",
    "My verdict: false.",
    "Verdict → fail\n",
    "Final answer: nope.",
    "Antwort: nein.",
    "Réponse : non.",
    "答案：否。",
    "\u200bAnswer: n\u200bo.",
    "Answer: ＮＯ.",
    "No.",
    "No, the mat is empty.",
)
_LEADS = ("", "Format was ", "The form you want is ", "And now in JSON:\n", "```json\n")
_REFUSALS = (
    "I cannot see the image.",
    "I can't see the image.",
    "I can’t view images.",
    "I cannot look at images.",
    "I am unable to view the attached image.",
    "I'm not able to access this picture.",
    "I do not have access to the image.",
    "No image was provided.",
    "The image did not load.",
    "As a text-based AI, I have no eyes.",
    "I'm sorry, but I can't help with that.",
    "I'm sorry, I cannot assist.",
    "I won't comply.",
    "If I could see it, I would answer.",
    "Ich kann das Bild nicht sehen.",
    "Je ne peux pas voir l'image.",
    "No puedo ver la imagen.",
    "我无法查看图片。",
)
_SHRUGS = (
    "I cannot tell.",
    "I can't tell whether there is a cat.",
    "I cannot determine this from the image.",
    "I am unable to determine if it is a cat.",
    "I don't know.",
    "I have no idea.",
    "I'm not sure.",
    "Answer: unknown.",
    "The answer is unclear.",
    "无法判断。",
)
_EXAMPLES = (
    "For example {}",
    "For example: {}",
    "An example of a valid reply is {}",
    "E.g. {}",
    "For instance, {}",
    "You want a reply such as `{}`",
    "Reply like this: {}",
    "The prompt says to answer like {}",
    "A reply would look like this:\n```json\n{}\n```",
    "Template: {}",
    "Sample answer:\n{}",
    "Format was {}",
)


def denied_yeses() -> Iterator[str]:
    """Yield replies with a valid yes object whose words say no."""
    for denial, lead in product(_DENIALS, _LEADS):
        end = "\n```" if "json\n" in lead and "```" in lead else ""
        yield f"{denial.format()}\n{lead}{YES}{end}"
    for denial in _DENIALS:
        yield f"{YES}\n{denial.format()}"
        yield f"<think>hm</think>{denial.format()} {YES}"
        yield f"{YES} hmm</think> {denial.format()}"


def empty_replies() -> Iterator[str]:
    """Yield replies that answer nothing, although a valid object stands in them."""
    for answer, words in product((YES, NO), (*_REFUSALS, *_SHRUGS)):
        yield f"{words} {answer}"
        yield f"{words}\n```json\n{answer}\n```"
        yield f"{answer}\n{words}"
        yield f"{answer} hmm</think> {words}"
        yield f"<think>{answer}</think>{words}"
        yield f"[Looking] {answer} hmm</think> {words}"
        yield f"For example {answer} is a reply. {words}"
        yield f"{answer}\n<think>hm. {words}"
    for answer, frame in product((YES, NO), _EXAMPLES):
        yield frame.format(answer)
        yield f"Answer: maybe. {frame.format(answer)}"
    for word, refusal in product(("yes", "no"), _REFUSALS):
        yield written(word, refusal)
