"use strict";
(() => {
  // The gallery: show what was asked for.
  for (const gallery of document.querySelectorAll(".gallery")) {
    const form = gallery.querySelector(".filters");
    const search = form.querySelector("[data-search]");
    const words = new Map([...gallery.querySelectorAll(".exhibit")].map((one) => [one, one.textContent.toLowerCase()]));
    const apply = () => {
      const wanted = [...form.querySelectorAll("[data-filter]")].filter((field) => field.value !== "");
      const text = search.value.trim().toLowerCase();
      let shown = 0;
      for (const wall of gallery.querySelectorAll(".run-wall")) {
        let here = 0;
        for (const exhibit of wall.querySelectorAll(".exhibit")) {
          exhibit.hidden = !(wanted.every((field) => exhibit.dataset[field.dataset.filter] === field.value) && words.get(exhibit).includes(text));
          here += !exhibit.hidden;
        }
        wall.hidden = here === 0;
        shown += here;
      }
      gallery.querySelector(".no-match").hidden = shown > 0;
      form.querySelector("[data-count]").textContent = shown === words.size ? "" : `${shown} of ${words.size}`;
      gallery.classList.toggle("all-boxes", form.querySelector("[data-boxes]")?.checked === true);
    };
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  // A link to something folded unfolds it.
  const reveal = () => {
    const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target?.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // On paper nothing can be unfolded: with --print all it is before.
  let unfolded = [];
  const unfold = () => {
    unfolded.push(...document.querySelectorAll("[data-print='all'] details:not([open])"));
    unfolded.forEach((one) => { one.open = true; });
  };
  const fold = () => {
    unfolded.forEach((one) => { one.open = false; });
    unfolded = [];
  };
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", fold);
  matchMedia("print").addEventListener("change", (paper) => (paper.matches ? unfold() : fold()));
})();
