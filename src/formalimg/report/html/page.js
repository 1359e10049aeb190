"use strict";
(() => {
  const root = document.documentElement;

  // The theme: what the system wants, until the reader chooses.
  const button = document.querySelector(".theme");
  const remember = (theme) => { try { localStorage.setItem("formalimg-theme", theme); } catch { /* not allowed here */ } };
  const remembered = () => { try { return localStorage.getItem("formalimg-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "light" : "dark"; button.ariaLabel = `Switch to ${button.textContent} colours`; };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  button.hidden = false;
  name();
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; remember(root.dataset.theme); name(); });

  // The gallery: show what was asked for.
  for (const gallery of document.querySelectorAll(".gallery")) {
    const form = gallery.querySelector(".filters");
    const apply = () => {
      const wanted = [...form.querySelectorAll("[data-filter]")].filter((field) => field.value !== "");
      let shown = 0;
      for (const wall of gallery.querySelectorAll(".run-wall")) {
        let here = 0;
        for (const exhibit of wall.querySelectorAll(".exhibit")) {
          exhibit.hidden = !wanted.every((field) => exhibit.dataset[field.dataset.filter] === field.value);
          here += !exhibit.hidden;
        }
        wall.hidden = here === 0;
        shown += here;
      }
      gallery.querySelector(".no-match").hidden = shown > 0;
      gallery.classList.toggle("all-boxes", form.querySelector("[data-boxes]")?.checked === true);
    };
    form.hidden = false;
    form.addEventListener("change", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  // On paper nothing can be unfolded.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
