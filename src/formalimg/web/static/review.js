"use strict";
(() => {
  const article = document.querySelector(".reviewed");
  const { queue, group } = article.dataset;
  const one = (selector) => article.querySelector(selector);
  const all = (selector) => [...article.querySelectorAll(selector)];
  const note = one("#note");
  const fields = all("[data-field]");
  const parts = all("[data-part]");
  const written = [...fields, ...parts];
  const [edit, save, discard, takeBack] = ["edit", "save", "discard", "take-back"].map((name) => one(`button.${name}`));
  const saved = new Map([...written, note].map((place) => [place, place.value]));
  const signs = { accept: "✓", edit: "✎", reject: "✗", "": "○" };
  const draftName = `formalimg items review ${queue} ${group}`;
  let version = article.dataset.version;
  let changed = article.dataset.changed === "yes";
  let editing = false;
  let typedOn = version;  // what was seen when the typing began

  const say = (words, failed = false) => {
    one(".status").textContent = words;
    one(".status").classList.toggle("failed", failed);
  };
  const make = (tag, name, ...inside) => {
    const made = document.createElement(tag);
    made.className = name;
    made.append(...inside);
    return made;
  };

  // What was changed, as it is sent.
  const differs = (place) => place.value !== saved.get(place);
  const questions = () => Object.fromEntries(all("table.questions-table").map((table) => [table.dataset.level, [...table.querySelectorAll("tbody tr")].map((row) => ({
    dimension: row.dataset.dimension,
    ...Object.fromEntries([...row.querySelectorAll("[data-part]")].map((place) => [place.dataset.part, place.value])),
  }))]));
  const changes = () => ({
    ...Object.fromEntries(fields.filter(differs).map((place) => [place.dataset.field, place.value])),
    ...(parts.some(differs) ? { questions: questions() } : {}),
  });

  // A draft outlives a reload, and a visit to other groups: what was typed and not yet saved.
  const keepDraft = () => {
    const typed = written.map((place, at) => [at, place.value]).filter(([at]) => differs(written[at]));
    if (!typed.length && !differs(note)) sessionStorage.removeItem(draftName);
    else sessionStorage.setItem(draftName, JSON.stringify({ version: typedOn, typed, note: differs(note) ? note.value : null }));
  };

  // Sending, one after the other. The next page waits for it, and does not come at once if it fails, however fast.
  let last = Promise.resolve(true);
  let refused = "";
  const send = async (path, content) => {
    const body = JSON.stringify({ group, ...content });
    let answer;
    try {
      answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body, keepalive: body.length < 60000 });
    } catch {
      throw new Error("The server does not answer, so this may not be saved: try again. Is `formalimg items review open` still running?");
    }
    const reply = await answer.json().catch(() => ({ error: `The server answered with ${answer.status}: this may not be saved.` }));
    if (!answer.ok) throw new Error(reply.error);
    return reply;
  };
  const decide = (content, words) => {
    last = last.then(async () => {
      say("saving …");
      try {
        const reply = await send("/decide", { version, ...content() });
        show(reply);
        say(words(reply));
        refused = "";
        return true;
      } catch (error) {
        refused = /[.?]$/.test(error.message) ? error.message : `${error.message}.`;
        say(refused, true);
        return false;
      }
    });
    return last;
  };
  const leave = async (address) => {
    await last;
    if (!refused) return location.assign(address);
    say(`${refused} Once more leaves without it.`, true);
    refused = "";
  };

  // What is shown.
  const showFindings = (found, state) => {
    one(".findings").replaceChildren(...(found.length ? found.map((words) => make("li", "finding", words)) : [make("li", "quiet", "none")]));
    one(".finding-state").textContent = state;
    one(".finding-count").textContent = editing && found.length ? `${found.length} finding${found.length > 1 ? "s" : ""}` : "";
  };
  const showQuestions = (levels) => {
    if (one(".question-tables").dataset.own === "yes") {
      for (const place of parts) place.closest("td").querySelector(".as-read").textContent = place.value;
      return;
    }
    for (const { level, questions: inside } of levels) {
      one(`table[data-level="${level}"] tbody`).replaceChildren(...inside.map((each) =>
        make("tr", "", make("td", "weight", each.weight), make("td", "", each.dimension), make("td", "long", each.question), make("td", "long", each.criteria))));
    }
  };
  const showTexts = () => {
    for (const place of fields) for (const shown of all(`[data-show="${place.dataset.field}"]`)) shown.textContent = place.value;
  };
  const show = (reply) => {
    ({ version, changed } = reply);
    typedOn = version;
    const badge = one(".decision");
    badge.className = `decision ${reply.decision || "undecided"}`;
    badge.firstElementChild.textContent = signs[reply.decision];
    badge.querySelector(".decided").textContent = reply.decided;
    one("[data-choice=accept]").setAttribute("aria-pressed", String(["accept", "edit"].includes(reply.decision)));
    one("[data-choice=reject]").setAttribute("aria-pressed", String(reply.decision === "reject"));
    one(".counts").textContent = reply.counts;
    takeBack.hidden = editing || !reply.decision || changed;
  };
  const setEditing = (wanted) => {
    editing = wanted;
    article.classList.toggle("editing", wanted);
    for (const place of written) place.hidden = !wanted;
    for (const place of all(".as-read")) place.hidden = wanted && (parts.length > 0 || !place.closest("table"));
    for (const place of [save, discard]) place.hidden = !wanted;
    for (const place of [edit, ...all("[data-choice]")]) place.hidden = wanted;
    takeBack.hidden = wanted || one(".decision").classList.contains("undecided") || changed;
    save.disabled = !written.some(differs);
  };

  // Trying out: the checker looks at what is written, a moment after the last key.
  let waiting, latest = 0;
  const tryOut = async () => {
    const turn = ++latest;
    try {
      const reply = await send("/try", { changes: changes() });
      if (turn !== latest || !editing) return;
      showFindings(reply.findings, "of the text as it is now");
      if (reply.questions.length) showQuestions(reply.questions);
    } catch (error) {
      if (turn === latest) say(error.message, true);
    }
  };
  const typed = () => {
    keepDraft();
    showTexts();
    save.disabled = !written.some(differs);
    clearTimeout(waiting);
    waiting = setTimeout(tryOut, 250);
  };

  // What can be done.
  const choose = (choice) => decide(() => ({ choice }), (reply) => choice ? `${reply.decided}, and kept in ${queue}` : "taken back: undecided again");
  const startEditing = () => {
    setEditing(true);
    say("");
    one("[data-field=factual]").focus();
  };
  const stopEditing = async () => {
    clearTimeout(waiting);
    latest++;
    refused = "";
    showTexts();
    keepDraft();
    setEditing(false);
    edit.focus();
    const reply = await send("/try", { changes: {} }).catch((error) => say(error.message, true));
    if (!reply || editing) return;
    showFindings(reply.findings, "");
    showQuestions(reply.questions);
  };
  const saveEdit = async () => {
    if (save.disabled) return;
    const sent = changes();
    if (!await decide(() => ({ choice: "accept", changes: sent }), (reply) => `${reply.decided}, and kept in ${queue}`)) return;
    for (const place of written) saved.set(place, place.value);
    stopEditing();
  };
  const discardEdit = () => {
    for (const place of written) place.value = saved.get(place);
    say("");
    stopEditing();
  };
  const saveNote = () => {
    const words = note.value;
    if (words === saved.get(note)) return;
    decide(() => ({ note: words }), () => `the note is kept in ${queue}`).then((kept) => {
      if (kept) { saved.set(note, words); keepDraft(); }
    });
  };

  for (const place of written) place.addEventListener("input", typed);
  note.addEventListener("input", keepDraft);
  note.addEventListener("blur", saveNote);
  for (const button of all("[data-choice]")) button.addEventListener("click", () => choose(button.dataset.choice));
  takeBack.addEventListener("click", () => choose(""));
  edit.addEventListener("click", startEditing);
  save.addEventListener("click", saveEdit);
  discard.addEventListener("click", discardEdit);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='/']");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    leave(link.href);
  });

  const follow = (selector) => { const link = document.querySelector(selector); if (link) leave(link.href); return Boolean(link); };
  const actions = {
    a: () => (editing ? saveEdit() : choose("accept"), true),
    r: () => !editing && (choose("reject"), true),
    e: () => (editing ? one("[data-field=factual]").focus() : startEditing(), true),
    x: () => !takeBack.hidden && (choose(""), true),
    m: () => (note.focus(), true),
    j: () => follow("a[rel=next]"),
    k: () => follow("a[rel=prev]"),
    u: () => follow("a[data-up]"),
  };
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && editing) { event.preventDefault(); saveEdit(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.matches("textarea, select, input")) { if (event.key === "Escape") event.target.blur(); return; }
    if (actions[event.key]?.()) event.preventDefault();
  });

  // A page that the browser kept may be old.
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  // A draft that was left here is taken up again.
  const draft = JSON.parse(sessionStorage.getItem(draftName) ?? "null");
  if (draft) {
    for (const [at, value] of draft.typed) if (written[at]) written[at].value = value;
    if (draft.note !== null) note.value = draft.note;
    typedOn = draft.version;
    keepDraft();
    const edited = written.some(differs);
    if (edited) { setEditing(true); typed(); }
    if (draft.version !== version && (edited || differs(note))) say("this group was changed meanwhile; what you had typed, and not saved, is here again", true);
    else if (edited) say("not saved yet: what you had typed is here again");
    else saveNote();
  }
})();
