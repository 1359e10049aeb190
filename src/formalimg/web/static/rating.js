// The page of a rater: steps, keys, and messages about saved answers.
import { boxEditor } from "/static/rating-boxes.js";
import { clock, answerQueue, notebook } from "/static/rating-client.js";
import { choiceOf, hasKeys, imageZoom, KEYS, noteForNextPage } from "/static/rating-view.js";

const form = document.getElementById("rating");
const images = [...form.querySelectorAll(".rated-image")];
const next = form.querySelector(".next");
const problem = form.querySelector(".problem");
const kept = form.querySelector(".kept");
const steps = [...form.querySelectorAll(".rating-step")];
const notes = notebook(form.dataset.task);
const time = clock(notes.read("spent", 0));
const given = new Map(steps.filter((step) => step.dataset.answer).map((step) => [step.dataset.step, JSON.parse(step.dataset.answer)]));

const AWAY = "Not saved yet: the server cannot be reached. Your answers are kept here and sent again until it has them.";

const say = (words, wrong = "") => { kept.textContent = words; problem.textContent = wrong; };
let leaving = false;
const again = (why = "") => { leaving = true; notes.burn(); noteForNextPage.leave(why); location.reload(); };

const onResult = (got, answer) => {
  if (got.sort === "away") say("", got.why ? `Not saved yet: ${got.why}. Your answers are kept here and sent again.` : AWAY);
  else if (got.sort === "stopped") say("", `Not saved: ${got.why || "this page is no longer answered"}. Your answers stay in this browser, and go with your new link.`);
  else if (got.sort === "refused") got.movedOn ? again("You went on in another window: your last answer here was not saved.") : refused(got, answer);
  else {
    say("Saved.");
    const step = steps.find((one) => one.dataset.step === answer.step);
    if (step?.dataset.once === "true") location.reload(); // what comes after it is not in this page
  }
};
const refused = (got, answer) => {
  say("", `Not saved: ${got.why}.`);
  const step = steps.find((one) => one.dataset.step === answer?.step);
  if (!step || editor) return;
  given.delete(answer.step);
  step.classList.remove("given");
  for (const input of step.querySelectorAll("input")) { input.checked = false; if (input.type === "number") input.value = ""; }
  mark();
};
const zoom = imageZoom(form);
const server = answerQueue(form.dataset.here, form.dataset.task, notes, onResult);

const show = (step, value) => {
  const text = JSON.stringify(value);
  for (const one of step.querySelectorAll("input[type=radio]")) one.checked = one.value === text;
  const [slider, number] = step.querySelectorAll(".score input");
  if (slider && typeof value === "number") slider.value = value;
  if (number) number.value = typeof value === "number" ? value : "";
  step.classList.add("given");
};
const openSteps = () => steps.filter((step) => step.dataset.kind !== "boxes" && !given.has(step.dataset.step));
const current = () => form.querySelector(".rating-step.current");
const goTo = (step) => {
  for (const one of steps) one.classList.toggle("current", one === step);
  if (!step) { next.focus({ preventScroll: true }); return; }
  if (hasKeys) step.querySelector("input[type=number]")?.focus({ preventScroll: true });
  if (given.size || form.querySelector(".closed")) step.scrollIntoView({ block: "nearest" }); // a new image is looked at first
};
const give = (step, value) => {
  if (given.get(step.dataset.step) === value) return;
  given.set(step.dataset.step, value);
  show(step, value);
  say("Saving …");
  server.give(step.dataset.step, value, time.take());
  mark();
};
const mark = () => next.classList.toggle("ready", openSteps().length === 0);

// Scores: a number that is typed counts when it is left, a slider when it rests.
const score = (step) => {
  const [slider, number] = step.querySelectorAll(".score input");
  let resting = 0;
  // True if there is a score, false if what is written is none, null if nothing is written.
  const take = () => {
    clearTimeout(resting);
    if (number.value === "" && !number.validity.badInput) {
      if (given.has(step.dataset.step)) show(step, given.get(step.dataset.step));
      return given.has(step.dataset.step) || null;
    }
    const value = Math.round(number.valueAsNumber * 100) / 100;
    if (!(value >= 0 && value <= 1)) { say("", "A score is a number from 0 to 1."); return false; }
    number.value = value;
    give(step, value);
    return true;
  };
  const later = () => { clearTimeout(resting); resting = setTimeout(take, 500); };
  slider.addEventListener("input", () => { number.value = slider.value; step.classList.add("given"); later(); });
  number.addEventListener("input", () => { if (number.value !== "") slider.value = number.value; });
  number.addEventListener("change", take);
  number.addEventListener("keydown", (event) => {
    if (event.key === "c" && !event.ctrlKey && !event.metaKey && step.querySelector(".cannot-tell")) { event.preventDefault(); clearTimeout(resting); choose(step, "cannot tell"); return; }
    const by = { ArrowUp: 0.05, ArrowDown: -0.05 }[event.key];
    if (!by) return;
    event.preventDefault();
    const from = number.value === "" ? 0.5 : number.valueAsNumber;
    number.value = Math.round(Math.min(Math.max(from + by, 0), 1) * 100) / 100;
    slider.value = number.value;
    later();
  });
  step.takeScore = take;
};

let editor = null;
for (const step of steps) {
  if (step.dataset.kind === "score") score(step);
  if (step.dataset.kind === "boxes") {
    const scene = notes.read("draft", JSON.parse(step.querySelector(".editor").dataset.scene));
    editor = boxEditor(form, step, scene, (draft) => notes.write({ draft }));
  }
  step.addEventListener("change", (event) => { if (event.target.type === "radio") choose(step, JSON.parse(event.target.value)); });
  step.addEventListener("focusin", () => { if (current() !== step) for (const one of steps) one.classList.toggle("current", one === step); });
}
const choose = (step, value) => {
  give(step, value);
  goTo(openSteps()[0] ?? step); // the last one can still be corrected
};

let finishing = false;
const lock = (locked) => {
  finishing = locked;
  form.classList.toggle("finishing", locked);
  for (const step of steps) step.disabled = locked;
};
const finish = async () => {
  if (finishing || !shown) return;
  if (steps.some((step) => step.takeScore?.() === false)) return;
  if (editor) {
    const wrong = editor.wrong();
    if (wrong) { say("", wrong); return; }
  }
  const open = openSteps();
  if (open.length) { say("", open.length === 1 ? "One question has no answer yet." : `${open.length} questions have no answer yet.`); goTo(open[0]); return; }
  lock(true); // what would be changed now would come too late
  if (!problem.textContent) say("Saving …");
  if (editor) {
    given.set("boxes", editor.scene());
    server.give("boxes", given.get("boxes"), time.take());
  }
  const got = await server.finish(Object.fromEntries(given));
  if (got.sort === "kept" || got.movedOn) { again(got.differs ? "Another window has answered differently: look at the answers again." : ""); return; }
  if (got.sort !== "held") onResult(got, null);
  lock(false);
};
form.addEventListener("submit", (event) => { event.preventDefault(); finish(); });

// Boxes are drawn in all windows of a browser at once: so none of them overwrites what was drawn in another.
if (editor) notes.follow((noted) => {
  if (!noted) { leaving = true; noteForNextPage.leave("You went on in another window."); location.reload(); }
  else if (noted.draft && !finishing && editor.follow(noted.draft)) say("These boxes were drawn in another window.");
});

// Keys. They are not taken from those who write, nor from the browser's own shortcuts.
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.isComposing || !shown || finishing) return;
  if (editor?.took(event)) { event.preventDefault(); return; }
  if (event.ctrlKey || event.metaKey) return;
  if (event.key === "Enter") {
    if (event.repeat) { event.preventDefault(); return; }
    if (event.target.matches("button, a, summary")) return;
    event.preventDefault();
    const step = event.target.closest?.(".rating-step");
    if (step?.takeScore && event.target.matches("input")) { if (step.takeScore()) goTo(openSteps()[0]); } else finish();
    return;
  }
  if (event.target.matches("input:not([type=radio]), select, textarea")) return;
  if (event.key === "f") { event.preventDefault(); zoom.turn(); return; }
  if (event.key === "b" && back && !event.repeat) { event.preventDefault(); goBack(); return; }
  const step = current() ?? steps.at(-1);
  if (!step || editor) return;
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (by && !event.target.matches("input")) { event.preventDefault(); goTo(steps[Math.min(Math.max(steps.indexOf(step) + by, 0), steps.length - 1)]); return; }
  const value = KEYS[event.key.toLowerCase()];
  if (value !== undefined && choiceOf(step, value) && !event.repeat) { event.preventDefault(); choose(step, value); }
});

// Nobody rates an image that is not there: the page waits for it, and time counts from when it is seen.
let shown = false;
for (const step of steps) step.disabled = true;
next.disabled = true;
const begin = () => {
  if (shown) return;
  shown = true;
  for (const step of steps) step.disabled = false;
  next.disabled = false;
  form.classList.add("begun");
  form.classList.remove("lost");
  if (later) later.hidden = true;
  if (!server.waiting().length) say(noteForNextPage.take());
  zoom.begin();
  editor?.begin();
  time.start();
  for (const [name, value] of given) { const step = steps.find((one) => one.dataset.step === name); if (step && !editor) show(step, value); }
  for (const { step: name, value } of server.waiting()) {
    const step = steps.find((one) => one.dataset.step === name);
    if (step && !editor) { given.set(name, value); show(step, value); }
  }
  mark();
  if (!editor) goTo(openSteps()[0] ?? steps.at(-1));
  if (server.waiting().length) { say("Saving …"); server.settle(); }
};
const later = form.querySelector(".later"); // null for the only image that is left
later?.addEventListener("click", async () => {
  later.disabled = true;
  await server.postpone();
  leaving = true; // with what is noted for this image: it comes again
  location.reload(); // refused or not: then another window has gone on
});
// Back to the image before: what was answered here is kept, and comes again.
const back = form.querySelector(".back"); // null for the first image
const goBack = async () => {
  if (finishing) return;
  back.disabled = true;
  const got = await server.goBack();
  if (got.sort === "kept" || got.movedOn) { leaving = true; location.reload(); return; }
  if (got.sort !== "held") onResult(got, null);
  back.disabled = false;
};
back?.addEventListener("click", goBack);
let failures = 0;
const loaded = () => { if (images.every((one) => one.naturalWidth)) begin(); };
const failed = (image) => {
  failures += 1;
  say("", failures < 2 ? "The image cannot be loaded; trying again …" : "The image cannot be loaded: tell whoever sent you the link. It is tried again now and then; your answers are kept.");
  form.classList.add("lost");
  if (later) later.hidden = failures < 2;
  setTimeout(() => { image.src = image.getAttribute("src"); }, Math.min(1000 * 2 ** failures, 60000));
};
for (const image of images) {
  image.addEventListener("load", loaded);
  image.addEventListener("error", () => failed(image));
  if (image.complete) image.naturalWidth ? loaded() : failed(image);
}

addEventListener("pagehide", () => { if (shown && !leaving) notes.write({ spent: time.read() }); });
addEventListener("beforeunload", (event) => { if (server.waiting().length && !leaving) event.preventDefault(); });
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); }); // a page from the past
