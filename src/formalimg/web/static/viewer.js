"use strict";
(() => {
  // Filters: a choice is shown at once, and only what was chosen is in the address.
  const filters = document.querySelector("form.filters");
  const chosen = () => `${new URL(filters.action).pathname}?${new URLSearchParams([...new FormData(filters)].filter(([, value]) => value !== ""))}`;
  const show = () => location.assign(chosen());
  // Whoever chooses by keyboard passes other choices on the way, and finds the list in hand again on the next page.
  let byKey = false;
  const noted = (name) => { try { sessionStorage.setItem("formalimg-filter", name); } catch { /* then not */ } };
  const inHand = () => { try { return sessionStorage.getItem("formalimg-filter"); } catch { return null; } };
  filters?.addEventListener("keydown", () => { byKey = true; });
  filters?.addEventListener("pointerdown", () => { byKey = false; });
  filters?.addEventListener("change", (event) => { if (event.target.tagName === "SELECT") { noted(byKey ? event.target.name : ""); show(); } });
  if (filters && inHand()) { filters.elements[inHand()]?.focus({ preventScroll: true }); noted(""); }
  // What is searched is shown as it is typed, on the same page: whoever writes keeps the field in hand.
  let typed = 0;
  filters?.addEventListener("input", async (event) => {
    if (event.target.type !== "search") return;
    const mine = (typed += 1);
    await new Promise((done) => { setTimeout(done, 300); });
    if (mine !== typed) return;
    const address = chosen();
    const answer = await fetch(address).catch(() => null);
    if (mine !== typed || !answer?.ok) return;
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of [".found", ".facet-groups", "#run-list"]) document.querySelector(part)?.replaceWith(...found.querySelectorAll(part));
    history.replaceState(null, "", address);
    document.dispatchEvent(new Event("found"));
  });
  filters?.addEventListener("submit", (event) => { event.preventDefault(); show(); });

  // Boxes.
  const boxes = document.querySelector(".all-boxes-switch");
  const image = document.querySelector(".item-image");
  if (boxes && image.querySelector(".detected")) {
    boxes.closest("label").hidden = false;
    boxes.addEventListener("change", () => image.classList.toggle("all-boxes", boxes.checked));
  }

  // Keys. They are not taken from those who write, nor from the browser's own shortcuts.
  const listed = () => [...document.querySelectorAll(".step")];
  listed().find((one) => one.autofocus)?.focus(); // browsers take their time, and the next key may come before
  const here = (steps) => steps.indexOf(document.activeElement.closest?.(".step") ?? document.activeElement.closest?.("tr")?.querySelector(".step"));
  const step = (by) => {
    const steps = listed(), place = here(steps);
    const next = place < 0 ? (by > 0 ? 0 : steps.length - 1) : Math.min(Math.max(place + by, 0), steps.length - 1);
    steps[next]?.focus();
    steps[next]?.scrollIntoView({ block: "nearest" });
  };
  const columns = () => {
    const steps = listed(), top = steps[0]?.getBoundingClientRect().top;
    return Math.max(steps.filter((one) => Math.abs(one.getBoundingClientRect().top - top) < 4).length, 1);
  };
  const follow = (selector) => { const link = document.querySelector(selector); if (link) location.assign(link.href); return Boolean(link); };
  const item = document.body.classList.contains("item-body");
  const gallery = document.body.classList.contains("gallery-body");
  const before = () => (item ? follow("a[rel=prev]") : listed().length ? (step(-1), true) : false);
  const after = () => (item ? follow("a[rel=next]") : listed().length ? (step(1), true) : false);
  const moved = (by) => (gallery ? (step(by), true) : false);
  const actions = {
    j: after,
    k: before,
    ArrowRight: () => (item || gallery) && after(),
    ArrowLeft: () => (item || gallery) && before(),
    ArrowDown: () => moved(columns()),
    ArrowUp: () => moved(-columns()),
    n: () => follow("a[rel=next]"),
    p: () => follow("a[rel=prev]"),
    u: () => follow("a[data-up]") || follow("header nav a"),
    g: () => follow("main .actions a.button"),
    b: () => { if (boxes && !boxes.closest("label").hidden) boxes.click(); return true; },
    x: () => { const box = document.activeElement.closest("tr")?.querySelector("input[type=checkbox]"); if (box) box.checked = !box.checked; return Boolean(box); },
    "/": () => { const search = document.querySelector("input[type=search]"); search?.focus(); search?.select(); return Boolean(search); },
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.matches("input[type=search]")) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.target.matches("textarea") || (event.target.matches("select") && event.key !== "/") || (event.target.matches(".wide, .figure, pre") && event.key.startsWith("Arrow"))) return;
    if (actions[event.key]?.()) event.preventDefault();
  });
})();
