import { abort, post } from "./playground-client.js";
import { clauseRow, dataOf, make, MAX_BYTES, takeFiles } from "./playground-elements.js";

const at = (id) => document.getElementById(id);
const [form, prompt, button] = ["scoring", "prompt", "score"].map(at);
let image = ""; // in base64

const ready = () => { button.disabled = !(image && prompt.value.trim()); };
const showError = (words) => { at("error").hidden = !words; at("error").textContent = words ?? ""; };
const clear = () => {
  abort("score");
  at("verdict").replaceChildren();
  at("parts").replaceChildren();
  at("waiting").textContent = "";
  at("parts-wrap").hidden = at("reason").hidden = true;
  showError("");
};

const FORMS = { formula: "read as a formula", questions: "by questions that a chat model wrote", text: "by its quoted text", whole: "by one question" };
const show = (reply) => {
  at("waiting").textContent = "";
  if (reply.error) { showError(reply.error); return; }
  const [sign, name] = reply.passed === null ? ["? unscored", "unscored"] : reply.passed ? ["✓ pass", "pass"] : ["✗ fail", "fail"];
  const how = [reply.score === null ? "" : `score ${reply.score.toFixed(2)}`, FORMS[reply.form] ?? "", `by ${reply.judge}`].filter(Boolean);
  at("verdict").append(make("b", sign, "outcome", name), make("span", how.join(", "), "quiet"));
  at("reason").hidden = !reply.reason;
  at("reason").textContent = [reply.reason, reply.advice, ...reply.warnings].filter(Boolean).join(". ");
  at("parts").replaceChildren(...[...reply.parts].sort((one, other) => one.holds - other.holds).map(clauseRow));
  at("parts-wrap").hidden = !reply.parts.length;
};
const score = async () => {
  clear();
  at("waiting").textContent = "scoring …";
  const reply = await post("score", { image, prompt: prompt.value });
  if (reply) show(reply);
};

const take = async (file) => {
  clear();
  image = "";
  if (file.size > MAX_BYTES) { showError(`${file.name} is too large: send no more than ${MAX_BYTES / 2 ** 20} MB`); ready(); return; }
  image = await dataOf(file);
  const before = at("stage").querySelector("img");
  if (before) URL.revokeObjectURL(before.src);
  at("stage").replaceChildren(Object.assign(make("img"), { src: URL.createObjectURL(file), alt: `Image: ${file.name}` }));
  ready();
};
takeFiles(at("file"), take);
prompt.addEventListener("input", () => { clear(); ready(); });
form.addEventListener("submit", (event) => { event.preventDefault(); if (!button.disabled) score(); });
addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !button.disabled) { event.preventDefault(); score(); } });
