import { ask, giveUp } from "./playground-asking.js";
import { clauseRow, counted, make, overlay, problemLine } from "./playground-making.js";

const PAUSE = 250; // milliseconds without a key, after which what was written is looked at
const LARGEST = 16 * 1024 * 1024; // bytes of a file
const PICTURES = /\.(png|jpe?g|webp)$/i;

const at = (id) => document.getElementById(id);
const [formula, vocabulary, semantics, style, scene] = ["formula", "vocabulary", "semantics", "style", "scene"].map(at);
const empty = at("stage").firstElementChild;

let sound = false; // is the formula, as it stands, without problems?
let seed = 0; // of the next witness
let ownClauses = []; // the clauses of the formula, judged by nothing
let subject = null; // what is verified: the scene as it is written, or an image until somebody has seen the scene in it
let wantedStyle = ""; // the style in the address, until there is a choice

// The address holds what is asked, so that it can be shared.
const question = () => ({ formula: formula.value, vocabulary: vocabulary.value, semantics: semantics.value, style: at("style-choice").hidden ? "" : style.value });
const keepAddress = () => {
  const kept = question();
  if (kept.semantics === "strict") kept.semantics = "";
  kept.style ||= wantedStyle;
  const query = new URLSearchParams(Object.entries(kept).filter(([, value]) => value));
  history.replaceState(null, "", `/playground?${query}${location.hash}`);
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
const measures = (told) => {
  if (told.error) return told.error;
  if (!sound) return counted(told.problems.length + told.more, "problem") + (told.more ? `, of which the first ${told.problems.length}:` : ":");
  const parts = told.components.length > 1 ? ` in ${told.components.length} components (${told.components.join(" + ")})` : "";
  return `K ${told.k === null ? "is not known" : `= ${told.k}`}: ${counted(told.variables, "variable")}${parts}` + (told.clauses ? `, ${counted(told.clauses.length, "clause")}` : "");
};
const showFormula = (told) => {
  sound = !told.error && !told.problems.length;
  formula.setAttribute("aria-invalid", String(!sound));
  at("measures").textContent = measures(told);
  at("measures").classList.toggle("wrong", !sound);
  at("problems").replaceChildren(...(told.problems ?? []).map((problem) => problemLine(problem, select)));
  at("reading").hidden = !sound;
  at("solve").disabled = !(sound && told.solvable);
  at("unsolvable").hidden = !sound || told.solvable;
  if (!sound) return;
  at("words").textContent = told.words || `None: ${told.wordless}.`;
  at("words").classList.toggle("quiet", !told.words);
  at("kinds").textContent = Object.entries(told.kinds).map(([kind, number]) => `${number} ${kind}`).join(", ");
  at("unlisted").hidden = !told.unlisted;
  at("unlisted").textContent = told.unlisted;
  ownClauses = told.clauses ?? [];
  showClauses(ownClauses);
  showStyles(told.styles);
};
const showNoFormula = () => {
  sound = false;
  formula.removeAttribute("aria-invalid");
  at("measures").textContent = "";
  at("problems").replaceChildren();
  at("reading").hidden = at("unsolvable").hidden = at("solve").disabled = true;
};
const check = async () => {
  keepAddress();
  giveUp("check", "verify", "solve");
  if (!formula.value.trim()) { showNoFormula(); showVerdict(null); return; }
  const told = await ask("check", question());
  if (!told) return;
  showFormula(told);
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
const showTrouble = (words) => { at("trouble").hidden = !words; at("trouble").textContent = words ?? ""; };
const showVerdict = (told) => {
  at("verdict").replaceChildren();
  at("verdict").classList.remove("stale");
  at("warnings").replaceChildren(...(told?.warnings ?? []).map((words) => make("li", words)));
  showTrouble(told?.error);
  at("proof").hidden = !told || "error" in told;
  if (at("proof").hidden) { at("stage").querySelector("svg")?.remove(); showClauses(ownClauses); return; }
  const by = subject?.by && `seen by ${subject.by}`;
  at("verdict").append(
    make("b", told.passed ? "✓ holds" : "✗ does not hold", "outcome", told.passed ? "pass" : "fail"),
    make("span", [counted(told.things, "thing"), semantics.value, by].filter(Boolean).join(", "), "quiet"),
  );
  at("proof-title").textContent = told.passed ? "Proof" : "Why not";
  at("explanation").textContent = told.explanation;
  showClauses(told.clauses ?? ownClauses);
  showBoxes(told.boxes);
};
const verify = async () => {
  const shown = subject;
  const about = shown.image ? { image: shown.image } : { scene: scene.value, draws: !shown.isDrawn };
  const told = await ask("verify", { ...question(), ...about });
  if (!told || shown !== subject) return false;
  if (!told.error) {
    if (shown.isFile) scene.value = told.scene;
    if (told.image) showImage(told.image, "The scene, drawn", told.is_drawn);
    subject = { isDrawn: true, by: told.by || shown.by };
  }
  showVerdict(told);
  return true;
};
const dataOf = (file) => new Promise((done) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => done("");
  reader.readAsDataURL(file);
});
const take = async (file) => {
  giveUp("verify", "solve");
  showVerdict(null);
  if (file.size > LARGEST) { showTrouble(`${file.name} is too large: send no more than ${LARGEST / 2 ** 20} MB`); return; }
  if (file.type.startsWith("image/") || PICTURES.test(file.name)) {
    subject = { isFile: true, image: await dataOf(file) };
    scene.value = "";
    showImage(URL.createObjectURL(file), `Image: ${file.name}`);
  } else {
    scene.value = await file.text();
    subject = { isFile: true, isDrawn: false };
    onStage(empty);
  }
  if (sound) await verify();
  else showTrouble("this is verified as soon as there is a formula without problems");
};
const solve = async () => {
  giveUp("verify");
  showVerdict(null);
  at("verdict").textContent = "solving …";
  const told = await ask("solve", { ...question(), seed: seed++ });
  if (!told) return;
  at("verdict").textContent = "";
  if (told.error) { showTrouble(told.error); return; }
  if (told.outcome !== "witness") {
    at("verdict").append(told.outcome === "unknown" ? make("b", "not decided", "outcome") : make("b", "✗ unsatisfiable", "outcome", "fail"));
    showTrouble(told.words);
    return;
  }
  choose(style, told.style);
  scene.value = told.scene;
  showImage(told.image, `Drawing of ${told.words}`);
  subject = { isDrawn: true };
  if (await verify()) at("verdict").append(make("span", told.words, "quiet"));
};

// Whoever writes is let finish; what was said of the text before is not shown as if it were of this one.
let pause = 0;
const later = (work) => { clearTimeout(pause); pause = setTimeout(work, PAUSE); };
const changed = () => {
  [sound, seed] = [false, 0];
  giveUp("check", "verify", "solve");
  at("verdict").classList.add("stale");
};
formula.addEventListener("input", () => { changed(); later(check); });
for (const one of [semantics, style]) one.addEventListener("change", () => { changed(); check(); });
vocabulary.addEventListener("change", () => { changed(); style.replaceChildren(); loadExamples(); check(); });
scene.addEventListener("input", () => {
  giveUp("verify", "solve");
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
at("file").addEventListener("change", (event) => { const [file] = event.target.files; if (file) take(file); event.target.value = ""; });
at("clear").addEventListener("click", () => {
  giveUp("verify", "solve");
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
const hasFile = (event) => Boolean(event.dataTransfer?.types.includes("Files"));
addEventListener("dragover", (event) => { if (hasFile(event)) { event.preventDefault(); document.body.classList.add("taking"); } });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("taking"); });
addEventListener("drop", (event) => {
  document.body.classList.remove("taking");
  if (!hasFile(event)) return;
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file) take(file);
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

const asked = new URLSearchParams(location.search);
choose(vocabulary, asked.get("vocabulary"));
choose(semantics, asked.get("semantics"));
wantedStyle = asked.get("style") ?? "";
formula.value = asked.get("formula") ?? formula.value;
if (formula.value.trim()) check();
else showNoFormula();
loadExamples();
