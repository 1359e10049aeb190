// Pages around the rating: practice with feedback, the start, and the way back from the end.
import { choiceOf, KEYS } from "/static/rating-view.js";

const problem = document.querySelector(".problem[role=alert]");

const send = async (address, body) => {
  try {
    const answer = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: AbortSignal.timeout(20000) });
    if (answer.ok) return true;
    problem.textContent = (await answer.json().catch(() => ({}))).error ?? "This did not work: try again.";
  } catch {
    problem.textContent = "The server cannot be reached: try again in a moment.";
  }
  return false;
};
const start = document.querySelector("button.start");
start?.addEventListener("click", async () => { if (await send(`${start.dataset.here}/start`, {})) location.reload(); });

const back = document.querySelector("button.back");
back?.addEventListener("click", async () => { if (await send(`${back.dataset.here}/back`, { task: null })) location.reload(); });

const forms = [...document.querySelectorAll("form.practice")];
for (const [number, form] of forms.entries()) {
  const right = JSON.parse(form.dataset.right);
  const feedback = form.querySelector(".feedback");
  const next = form.querySelector(".next");
  form.addEventListener("change", (event) => {
    const isRight = right.includes(JSON.parse(event.target.value));
    feedback.textContent = `${isRight ? "Right." : "Not quite."} ${form.dataset.why}`;
    feedback.className = `feedback ${isRight ? "right" : "wrong"}`;
    next.hidden = !start && number === forms.length - 1;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (next.hidden) return;
    if (number === forms.length - 1) { start?.click(); return; }
    form.hidden = true;
    forms[number + 1].hidden = false;
    forms[number + 1].querySelector("input")?.focus();
  });
}

// The keys of the rating itself.
addEventListener("keydown", (event) => {
  const form = forms.find((one) => !one.hidden);
  if (!form || event.repeat || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  const choice = choiceOf(form, KEYS[event.key.toLowerCase()]);
  if (choice) { event.preventDefault(); choice.click(); choice.focus(); }
  else if (event.key === "Enter" && !event.target.matches("button, a, summary")) { event.preventDefault(); form.requestSubmit(); }
});
