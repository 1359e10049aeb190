"use strict";
(() => {
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
