import { post, abort } from "./playground-client.js";
import { clauseRow, counted, dataOf, make, MAX_BYTES, overlay, problemLine, takeFiles } from "./playground-elements.js";

const PAUSE = 250; // milliseconds without a key, after which what was written is looked at
const IMAGE_NAME = /\.(png|jpe?g|webp)$/i;

const at = (id) => document.getElementById(id);
const [formula, vocabulary, semantics, style, scene] = ["formula", "vocabulary", "semantics", "style", "scene"].map(at);
const empty = at("stage").firstElementChild;

let sound = false; // is the formula, as it stands, without problems?
let seed = 0; // of the next witness
let ownClauses = []; // the clauses of the formula, judged by nothing
let subject = null; // what is verified: the scene as it is written, or an image until somebody has seen the scene in it
let wantedStyle = ""; // the style in the URL, until there is a choice

// The URL holds the whole query, so that it can be shared.
const query = () => ({ formula: formula.value, vocabulary: vocabulary.value, semantics: semantics.value, style: at("style-choice").hidden ? "" : style.value });
const updateUrl = () => {
  const values = query();
  if (values.semantics === "strict") values.semantics = "";
  values.style ||= wantedStyle;
  const parameters = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  history.replaceState(null, "", `/playground?${parameters}${location.hash}`);
};
const choose = (list, value) => { if ([...list.options].some((option) => option.value === value)) list.value = value; };

// The formula: its problems, or what it is made of.
const select = (problem) => {
  const place = (offset) => [...formula.value].slice(0, offset).join("").length; // the site counts characters, not their halves
  formula.focus();
  formula.setSelectionRange(place(problem.start), place(Math.max(problem.end, problem.start + 1)));
};
const showClauses = (clauses) => at("clauses").replaceChildren(...clauses.map(clauseRow));
const showStyles = (styles) => {
  at("style-choice").hidden = !styles.length;
  if (!styles.length) return;
  const before = style.value || wantedStyle;
  style.replaceChildren(...["", ...styles].map((word) => Object.assign(make("option", word || "not known"), { value: word })));
  choose(style, before);
  wantedStyle = "";
};
const measures = (reply) => {
  if (reply.error) return reply.error;
  if (!sound) return counted(reply.problems.length + reply.more, "problem") + (reply.more ? `, of which the first ${reply.problems.length}:` : ":");
  const parts = reply.components.length > 1 ? ` in ${reply.components.length} components (${reply.components.join(" + ")})` : "";
  return `K ${reply.k === null ? "is not known" : `= ${reply.k}`}: ${counted(reply.variables, "variable")}${parts}` + (reply.clauses ? `, ${counted(reply.clauses.length, "clause")}` : "");
};
const showFormula = (reply) => {
  sound = !reply.error && !reply.problems.length;
  formula.setAttribute("aria-invalid", String(!sound));
  at("measures").textContent = measures(reply);
  at("measures").classList.toggle("wrong", !sound);
  at("problems").replaceChildren(...(reply.problems ?? []).map((problem) => problemLine(problem, select)));
  at("reading").hidden = !sound;
  at("solve").disabled = !(sound && reply.solvable);
  at("unsolvable").hidden = !sound || reply.solvable;
  if (!sound) return;
  at("words").textContent = reply.words || `None: ${reply.wordless}.`;
  at("words").classList.toggle("quiet", !reply.words);
  at("kinds").textContent = Object.entries(reply.kinds).map(([kind, number]) => `${number} ${kind}`).join(", ");
  at("unlisted").hidden = !reply.unlisted;
  at("unlisted").textContent = reply.unlisted;
  ownClauses = reply.clauses ?? [];
  showClauses(ownClauses);
  showStyles(reply.styles);
};
const showNoFormula = () => {
  sound = false;
  formula.removeAttribute("aria-invalid");
  at("measures").textContent = "";
  at("problems").replaceChildren();
  at("reading").hidden = at("unsolvable").hidden = at("solve").disabled = true;
};
const check = async () => {
  updateUrl();
  abort("check", "verify", "solve");
  if (!formula.value.trim()) { showNoFormula(); showVerdict(null); return; }
  const reply = await post("check", query());
  if (!reply) return;
  showFormula(reply);
  if (!sound) showVerdict(null);
  else if (subject) await verify();
};

// The scene: its image, and the verdict on it.
const onStage = (...shown) => {
  const before = at("stage").querySelector("img")?.src;
  if (before?.startsWith("blob:")) URL.revokeObjectURL(before);
  at("stage").replaceChildren(...shown);
};
const showImage = (address, words, isDrawn = true) => {
  const held = make("div", "", "image");
  at("stage").classList.toggle("all-boxes", !isDrawn);
  held.tabIndex = 0;
  held.append(Object.assign(make("img"), { src: address, alt: words }));
  onStage(held);
  at("clear").hidden = false;
};
const showBoxes = async (boxes) => {
  const image = at("stage").querySelector("img");
  await image?.decode().catch(() => {});
  if (!image?.naturalWidth) return;
  image.parentElement.querySelector("svg")?.remove();
  image.after(overlay(boxes, image.naturalWidth, image.naturalHeight));
};
const showError = (words) => { at("error").hidden = !words; at("error").textContent = words ?? ""; };
const showVerdict = (reply) => {
  at("verdict").replaceChildren();
  at("verdict").classList.remove("stale");
  at("warnings").replaceChildren(...(reply?.warnings ?? []).map((words) => make("li", words)));
  showError(reply?.error);
  at("proof").hidden = !reply || "error" in reply;
  if (at("proof").hidden) { at("stage").querySelector("svg")?.remove(); showClauses(ownClauses); return; }
  const by = subject?.by && `seen by ${subject.by}`;
  at("verdict").append(
    make("b", reply.passed ? "✓ holds" : "✗ does not hold", "outcome", reply.passed ? "pass" : "fail"),
    make("span", [counted(reply.objects, "object"), semantics.value, by].filter(Boolean).join(", "), "quiet"),
  );
  at("proof-title").textContent = reply.passed ? "Proof" : "Why not";
  at("explanation").textContent = reply.explanation;
  showClauses(reply.clauses ?? ownClauses);
  showBoxes(reply.boxes);
};
const verify = async () => {
  const shown = subject;
  const about = shown.image ? { image: shown.image } : { scene: scene.value, draws: !shown.isDrawn };
  const reply = await post("verify", { ...query(), ...about });
  if (!reply || shown !== subject) return false;
  if (!reply.error) {
    if (shown.isFile) scene.value = reply.scene;
    if (reply.image) showImage(reply.image, "The scene, drawn", reply.is_drawn);
    subject = { isDrawn: true, by: reply.by || shown.by };
  }
  showVerdict(reply);
  return true;
};
const take = async (file) => {
  abort("verify", "solve");
  showVerdict(null);
  if (file.size > MAX_BYTES) { showError(`${file.name} is too large: send no more than ${MAX_BYTES / 2 ** 20} MB`); return; }
  if (file.type.startsWith("image/") || IMAGE_NAME.test(file.name)) {
    subject = { isFile: true, image: await dataOf(file) };
    scene.value = "";
    showImage(URL.createObjectURL(file), `Image: ${file.name}`);
  } else {
    scene.value = await file.text();
    subject = { isFile: true, isDrawn: false };
    onStage(empty);
  }
  if (sound) await verify();
  else showError("this is verified as soon as there is a formula without problems");
};
const solve = async () => {
  abort("verify");
  showVerdict(null);
  at("verdict").textContent = "solving …";
  const reply = await post("solve", { ...query(), seed: seed++ });
  if (!reply) return;
  at("verdict").textContent = "";
  if (reply.error) { showError(reply.error); return; }
  if (reply.outcome !== "witness") {
    at("verdict").append(reply.outcome === "unknown" ? make("b", "not decided", "outcome") : make("b", "✗ unsatisfiable", "outcome", "fail"));
    showError(reply.words);
    return;
  }
  choose(style, reply.style);
  scene.value = reply.scene;
  showImage(reply.image, `Drawing of ${reply.words}`);
  subject = { isDrawn: true };
  if (await verify()) at("verdict").append(make("span", reply.words, "quiet"));
};

// Whoever writes is let finish; a verdict on the text before is marked as stale.
let pause = 0;
const later = (work) => { clearTimeout(pause); pause = setTimeout(work, PAUSE); };
const changed = () => {
  [sound, seed] = [false, 0];
  abort("check", "verify", "solve");
  at("verdict").classList.add("stale");
};
formula.addEventListener("input", () => { changed(); later(check); });
for (const one of [semantics, style]) one.addEventListener("change", () => { changed(); check(); });
vocabulary.addEventListener("change", () => { changed(); style.replaceChildren(); loadExamples(); check(); });
scene.addEventListener("input", () => {
  abort("verify", "solve");
  subject = scene.value.trim() ? { isDrawn: false } : null;
  later(() => (subject && sound ? verify() : check()));
});
at("solve").addEventListener("click", solve);
addEventListener("keydown", async (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  clearTimeout(pause);
  if (!sound) await check();
  if (!at("solve").disabled) solve();
});
takeFiles(at("file"), take);
at("clear").addEventListener("click", () => {
  abort("verify", "solve");
  subject = null;
  scene.value = "";
  onStage(empty);
  at("clear").hidden = true;
  showVerdict(null);
  formula.focus();
});
at("copy").addEventListener("click", async () => {
  scene.select();
  await navigator.clipboard?.writeText(scene.value).then(() => {
    at("copy").textContent = "Copied";
    setTimeout(() => { at("copy").textContent = "Copy"; }, 1500);
  }, () => {}); // where it may not be written to, the text is selected at least
});

// Formulas to begin with.
const loadExamples = async () => {
  const suite = vocabulary.value;
  const answer = await fetch(`/playground/examples?${new URLSearchParams({ vocabulary: suite })}`).catch(() => null);
  if (!answer?.ok || suite !== vocabulary.value) return;
  const { examples } = await answer.json();
  const links = examples.map((one) => Object.assign(make("a", one.k), { href: `/playground?${new URLSearchParams({ vocabulary: suite, formula: one.formula })}` }));
  at("examples").replaceChildren("examples, K =", ...links);
  at("examples").hidden = false;
};

const parameters = new URLSearchParams(location.search);
choose(vocabulary, parameters.get("vocabulary"));
choose(semantics, parameters.get("semantics"));
wantedStyle = parameters.get("style") ?? "";
formula.value = parameters.get("formula") ?? formula.value;
if (formula.value.trim()) check();
else showNoFormula();
loadExamples();
