"use strict";
// The runs page: filters by date, tags edited in place, and live progress. Without it the page shows the same, as of when it was loaded.
(() => {
  const list = () => document.getElementById("run-list");
  const make = (name, fields = {}, ...children) => {
    const made = Object.assign(document.createElement(name), fields);
    made.append(...children);
    return made;
  };

  // Filters: dates are shown when they are complete. Selects are handled for all pages.
  const filters = document.querySelector("form.filters");
  filters?.addEventListener("change", (event) => { if (event.target.type === "date") filters.requestSubmit(); });

  // On a small screen the filters would hide the runs; without a script they are all shown.
  const fold = filters?.querySelector(".fold");
  if (fold && matchMedia("(max-width: 45rem)").matches) {
    fold.hidden = false;
    filters.classList.add("folded");
    fold.addEventListener("click", () => fold.setAttribute("aria-expanded", String(!filters.classList.toggle("folded"))));
  }

  // Tags and notes. What was typed stays until it is saved or cancelled, also if somebody else was faster.
  const showTags = (place, found) => {
    place.dataset.version = found.version;
    place.dataset.tags = found.tags.join(", ");
    const links = found.tags.map((tag) => {
      const address = new URL(location.href);
      address.searchParams.set("tag", tag);
      address.searchParams.delete("page");
      return make("a", { className: "tag", href: address.pathname + address.search, textContent: tag });
    });
    place.replaceChildren(...links, ...(found.note ? [make("p", { className: "note", textContent: found.note })] : []));
  };
  const edit = (button) => {
    const row = button.closest("tr");
    const place = row.querySelector(".tags");
    const tags = make("input", { type: "text", value: place.dataset.tags, placeholder: "ablation, good seed", maxLength: 900 });
    const note = make("textarea", { rows: 3, value: place.querySelector(".note")?.textContent ?? "", maxLength: 4000 });
    const message = make("p", { className: "edit-message", hidden: true });
    message.setAttribute("role", "alert");
    const save = make("button", { type: "button", textContent: "Save" });
    const cancel = make("button", { type: "button", textContent: "Cancel", className: "plain" });
    const editor = make("div", { className: "tag-editor" },
      make("label", {}, "tags, separated by commas ", tags), make("label", {}, "note ", note), message,
      make("div", { className: "edit-buttons" }, save, cancel));
    const close = () => { editor.remove(); place.hidden = false; button.hidden = false; button.focus(); };
    const send = async () => {
      save.disabled = true;
      const body = { run: row.dataset.run, tags: tags.value, note: note.value, version: place.dataset.version };
      try {
        const answer = await fetch("/tags", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
        const found = await answer.json();
        if (answer.ok) { showTags(place, found); close(); return; }
        if (answer.status === 409) { // shown beside what was typed, so that both can be kept
          showTags(place, found);
          place.hidden = false;
          message.textContent = "Somebody else has changed these tags meanwhile: theirs are shown above, yours were not saved. Save again to replace theirs.";
        } else message.textContent = found.error;
      } catch { message.textContent = "The viewer does not answer: nothing was saved."; }
      message.hidden = false;
      save.disabled = false;
    };
    save.addEventListener("click", send);
    cancel.addEventListener("click", close);
    editor.addEventListener("keydown", (event) => {
      event.stopPropagation(); // no shortcuts while somebody writes
      if (event.key === "Escape") close();
      if (event.key === "Enter" && (event.target === tags || event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); }
    });
    place.hidden = true;
    button.hidden = true;
    place.after(editor);
    tags.focus();
  };
  const offerEditing = () => list()?.querySelectorAll(".edit-tags").forEach((button) => { button.hidden = false; });
  addEventListener("click", (event) => { const button = event.target.closest?.(".edit-tags"); if (button) edit(button); });
  offerEditing();

  // The list is loaded again when runs begin, end or are tagged elsewhere; not while somebody edits or has a manifest open.
  const BUSY = ".tag-editor, details[open]";
  const SECONDS_BETWEEN = 3, SECONDS_OF_FIGURES = 15;
  let state = list()?.dataset.state ?? null, outdated = Boolean(list()?.hasAttribute("data-pending")), loaded = Date.now(), isLoading = false;
  const reload = async () => {
    if (isLoading || list().querySelector(BUSY) || Date.now() - loaded < 1000 * SECONDS_BETWEEN) return;
    isLoading = true;
    try {
      const answer = await fetch(location.href);
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("run-list");
      if (!answer.ok || !found || list().querySelector(BUSY)) return;
      const chosen = new Set([...list().querySelectorAll("input[name=run]:checked")].map((box) => box.value));
      const focused = list().contains(document.activeElement) ? document.activeElement.closest("tr")?.dataset.run : undefined;
      const across = list().querySelector(".wide")?.scrollLeft ?? 0;
      found.querySelectorAll("input[name=run]").forEach((box) => { box.checked = chosen.has(box.value); });
      list().replaceWith(found);
      offerEditing();
      if (found.querySelector(".wide")) found.querySelector(".wide").scrollLeft = across;
      if (focused !== undefined) [...found.querySelectorAll("tr[data-run]")].find((row) => row.dataset.run === focused)?.querySelector(".step").focus({ preventScroll: true });
      outdated = found.hasAttribute("data-pending");
      state = found.dataset.state ?? state;
      loaded = Date.now();
    } catch { /* the viewer has ended: the page stays as it is */ } finally { isLoading = false; }
  };

  // Live progress. Hidden pages do not listen: browsers allow few connections to a site.
  const part = (row, name, text) => { const place = row.querySelector(`[data-part=${name}]`); if (place && place.textContent !== text) place.textContent = text; };
  const show = (running) => {
    for (const row of list().querySelectorAll("tr[data-run]")) {
      const found = Object.hasOwn(running, row.dataset.run) ? running[row.dataset.run] : null;
      const place = row.querySelector("[data-progress]");
      if (!found || !place) continue;
      place.querySelector("progress").value = found.share;
      for (const name of ["done", "rate", "left"]) part(row, name, found[name]);
      if (found.cost) part(row, "cost", found.cost);
    }
  };
  let events = null;
  const close = () => { events?.close(); events = null; };
  const listen = () => {
    if (events || document.hidden || !list()) return;
    events = new EventSource("/events");
    events.addEventListener("runs", (event) => {
      const news = JSON.parse(event.data);
      outdated ||= state !== null && state !== news.state;
      state = news.state;
      show(news.running);
      if (outdated || (Object.keys(news.running).length && Date.now() - loaded > 1000 * SECONDS_OF_FIGURES)) reload();
    });
    events.addEventListener("error", () => { if (events?.readyState === EventSource.CLOSED) { close(); setTimeout(listen, 10000); } });
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : listen()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", listen);
  setInterval(() => { if (events && outdated) reload(); }, 1000 * SECONDS_BETWEEN);
  listen();
})();
