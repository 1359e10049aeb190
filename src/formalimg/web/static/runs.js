"use strict";
// The runs page: filters by date, and tags edited in place. Without it the page shows the same, as of when it was loaded.
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
  document.addEventListener("found", offerEditing);
  offerEditing();

  // While somebody edits or has a manifest open, the list stays; then what was selected and focused is so again.
  formalimgLive({
    isBusy: (shown) => shown.querySelector(".tag-editor, details[open]"),
    keep: (shown, found) => {
      const chosen = new Set([...shown.querySelectorAll("input[name=run]:checked")].map((box) => box.value));
      const focused = shown.contains(document.activeElement) ? document.activeElement.closest("tr")?.dataset.run : undefined;
      const across = shown.querySelector(".wide")?.scrollLeft ?? 0;
      found.querySelectorAll("input[name=run]").forEach((box) => { box.checked = chosen.has(box.value); });
      return () => {
        offerEditing();
        if (found.querySelector(".wide")) found.querySelector(".wide").scrollLeft = across;
        if (focused !== undefined) [...found.querySelectorAll("tr[data-run]")].find((row) => row.dataset.run === focused)?.querySelector(".step").focus({ preventScroll: true });
      };
    },
  });
})();
