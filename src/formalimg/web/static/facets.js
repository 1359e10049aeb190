"use strict";
(() => {
  // On a small screen the choices would hide what they choose from; without a script they are all shown.
  const choices = document.querySelector(".facet-groups");
  if (choices && matchMedia("(max-width: 55rem)").matches) choices.open = false;

  // All boxes of all images at once; without a script they are shown on hover.
  const boxes = document.querySelector(".compare-boxes");
  const items = document.querySelector("#items");
  if (!boxes || !items.querySelector(".detected")) return;
  boxes.closest("label").hidden = false;
  boxes.addEventListener("change", () => items.classList.toggle("all-boxes", boxes.checked));
})();
