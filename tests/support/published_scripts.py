"""Scripts of the form that authors publish, in words of our own; and texts in scripts, evaluated as Python would."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

OFFICIAL = Path(__file__).parents[3] / "shared" / "official"

_KNOLLING = '''
PROMPT_GROUNDING = """
Look for {object_classes} in the picture; colours are {colors}.

{{
  "objects": [ {{"label": "One of {object_classes2}", "color": "One of {colors2}"}}, ... ]
}}
"""

prompts_generate = """
Write one.\\x20
{dsl}
{{ "parameters": {{}} }}
{instruction}
{{ "natural_language_description": "...", "dsl_representation": "..." }}
"""

prompt_style = """
[Style]
1. From above {always}.
[Description]:
"""

prompt_style_diffusion = """
Plain.
"""

prompt_style_llm = """
Plan it with {objs} in {colors}:
[ {{ "label": "..." }} ]
**Words:**
"""

prompt_check = """Check it by {dsl}:
{sample_to_check}
{{ "is_contradictory": ... }}
"""
'''

_NATURAL = '''
prompts_generate = """Write a scene.
{dsl}
{instruction}
"""

prompts_eval = """Is it so?
\\t{nl}

{cnf}
```json
{{
  "satisfies_constraint": <true_or_false>
}}
```
"""

prompt_check_v7 = """An older one: {dsl} {sample_to_check}"""

prompt_check_v8 = """Check the scene by {dsl}:
{sample_to_check}
"""
'''

_GRADING = r"""
import base64

def gpt_grading(image_path, question):
    payload = {"messages": [{"content": [{"type": "text", "text": f"{question} Another script."}]}]}

def gpt_grading_azure(logprobs, image_path, full_sentence, question):
    response = complete(
        messages=[
            {"role": "user", "content": [
                {"type": "text", "text": f"{question} Say \"Yes\" or \"No\"."},
                {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{base64_image}"}},
            ]}
        ],
        max_tokens=1,
    )
"""

_GEMINI = '''
def process_single_image_batch(client, image_path, questions_list, level):
    base_q_text = ""
    for idx, q in enumerate(questions_list):
        base_q_text += f'\\nQuestion ID "{idx + 1}":\\nQuestion: {q["question"]}\\nCriteria: {q["criteria"]}\\n---'
    if level.lower() == "l1":
        system_prompt = """You are kind.
{
"1": { "score": 1.0 }
}"""
        user_content_text = f"""Rate it.\\x20

{base_q_text}"""
    else:
        system_prompt = """You are curious.
{
"1": { "score": 0.8 }
}"""
        user_content_text = f"""Rate the other world:
{base_q_text}"""
'''

_QWEN = '''
def main():
    for task in tasks:
        q_text = ""
        for idx, q in enumerate(questions):
            q_text += f'\\nQuestion ID: "{idx + 1}"\\nQuestion: {q["question"]}\\nCriteria: {q["criteria"]}\\n---'
        if task['level'].lower() == 'l1':
            system_prompt = """You are fair.
            {
            "1": {"score": 1.0}
            }"""

            user_content = f"""Rate it.\\x20
            {task['base_q_text']}"""

        else:
            system_prompt = """You are strict.
            {
            "1": {"score": 0.0}
            }"""

            user_content = f"""Rate it harshly:
            {task['base_q_text']}"""

        if task['retry_count'] > 0:
            user_content += "\\n\\n[ERROR] Once more."
'''

_RULES = '''
def main():
    unified_system_prompt = """Be objective.
        { "1": {} }"""
    for task in tasks:
        user_content = f"""Is the rule kept?
                    {task['base_q_text']}"""
        user_content += "\\n\\n[ERROR] Once more."
'''

_ATTRIBUTES = '''
def main():
    unified_system_prompt = """Look for both.

    {
      "score": 1.0
    }"""
    for task in tasks:
        q = task['q_data']
        user_content = f"""About:
                    Prompt: "{q['prompt']}"
                    A: "{q['A']}", B: "{q['B']}"
                    """
        user_content += "\\n\\n[ERROR] Once more."
'''

_GENERATOR = '''
PROMPT_TEMPLATE = """# Questions
{input_prompt}
{assessment_points}
SECTION[ {{ "weight": 15 }} ]
"""

D3_FACTUAL = """### Ours"""

D3_COUNTERFACTUAL = """### Of the {other} world"""

def call_gemini(input_prompt, assessment_points, level):
    messages = [{"role": "system", "content": "You answer in a list."}, {"role": "user", "content": final_prompt}]

def prepare_prompts(data, tokenizer):
    messages = [{"role": "system", "content": "You answer in a list: '['."}, {"role": "user", "content": content}]
'''

_UTILS = r"""
def load_configs_new(chat_api, k):
    refine_config_prompt = 'Fill the gaps of:\n' + json.dumps(initail_config) + '\n' + 'Is any "?" left?'
    completion = chat_api(messages=[{"role": "user", "content": refine_config_prompt}])
    json_only_prompt = 'The JSON alone?'

def generate_sentence(chat_api, skills, descriptions, json_config=None):
    k = len(descriptions)
    prompt = "Describe:\n"
    for description in descriptions:
        prompt += f"* {description}\n"
    if json_config:
        prompt += "And:\n```json" + json.dumps(json_config) + "```\n"
    prompt += "Say \"WRONG\" if you must. "
    verification = "Is {it} right?"
    if json_config:
        question_generation = f"Ask {k} questions, such as \"Is there {skills[0]}?\"."
    else:
        question_generation = f"Ask of {skills[0]}."
"""

SCRIPTS: Mapping[str, Mapping[str, str]] = {
    "formalimg": {
        "src/tasks/knolling/prompts/prompts.py": _KNOLLING,
        "src/tasks/natural/prompts/prompts.py": _NATURAL,
        "configs/dsl_knolling.json": '{\n    "vocabulary": {"object_classes": ["cup"]}\n}\n',
        "configs/dsl_natural.json": '{"predicates": {}}',
    },
    "conceptmix": {"dynamix/grading/gpt_grading.py": _GRADING, "dynamix/utils.py": _UTILS},
    "cf-world": {
        "scripts/score/gemini.py": _GEMINI,
        "scripts/score/qwen3vl-235b.py": _QWEN,
        "scripts/score/rule_decouple.py": _RULES,
        "scripts/score/attribute_decouple.py": _ATTRIBUTES,
        "scripts/generate_eval/gemini.py": _GENERATOR.replace("SECTION", "{dimension_3_section}\n"),
        "scripts/generate_eval/rule_decouple.py": _GENERATOR.replace("SECTION", ""),
    },
}
"""Files of each benchmark, by their paths in its repository."""


def write_scripts(folder: Path, name: str) -> Path:
    """Write the scripts of a benchmark in words of our own."""
    for path, text in SCRIPTS[name].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def authors_scripts(name: str) -> Path:
    """Return the folder of a benchmark's published scripts; skip the test where they do not lie beside the checkout."""
    folder = OFFICIAL / name
    if not all((folder / path).is_file() for path in SCRIPTS[name]):
        pytest.skip(f"the scripts of {name} are not at {folder}: copy {', '.join(SCRIPTS[name])} there")
    return folder


def script_text(path: Path, name: str, number: int = 0, **values: Any) -> str:
    """Return the n-th text that a script gives to a name or key, as Python evaluates it with these values."""
    tree = ast.parse(path.read_bytes())
    texts = sorted(_texts(tree, name), key=lambda node: node.lineno)
    return str(eval(compile(ast.Expression(texts[number]), str(path), "eval"), {"__builtins__": {}}, values))


def _texts(tree: ast.AST, name: str) -> list[ast.expr]:
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in node.targets):
            found.append(node.value)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            found.append(node.value)
        if isinstance(node, ast.Dict):
            found += [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == name
            ]
    return [value for value in found if isinstance(value, ast.JoinedStr | ast.Constant | ast.BinOp)]
