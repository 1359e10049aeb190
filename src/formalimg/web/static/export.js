"use strict";
// What a server does in the viewer, in an export of it: filters of images, and the choice of a comparison.
(() => {
  const PER_STEP = 240; // tiles that are shown at once

  // A comparison that was exported, by the runs that are selected.
  const comparing = document.querySelector("form[data-static=compare]");
  const listed = document.querySelector("#comparisons");
  comparing?.addEventListener("submit", (event) => {
    event.preventDefault();
    const key = (runs) => [...runs].sort().join("\n");
    const wanted = key(new FormData(comparing).getAll("run"));
    const found = JSON.parse(listed?.textContent ?? "[]").find(([runs]) => key(runs) === wanted);
    if (found) { location.assign(found[1]); return; }
    let words = comparing.querySelector("output");
    if (!words) { words = document.createElement("output"); words.className = "quiet"; (comparing.querySelector("button[type=submit]") ?? comparing.lastElementChild).after(" ", words); }
    words.textContent = "This comparison is not in the export: choose one of those below, or two runs of one suite.";
  });

  // Filters. All images of the run come in a script of their own, once somebody filters.
  const form = document.querySelector("form[data-static=gallery]");
  const list = document.querySelector("main li a[href*='item/']")?.closest("li").parentElement;
  if (!form || !list) return;
  const own = [...list.children];
  const count = document.querySelector(".count");
  const ownCount = count ? [...count.childNodes] : [];
  const fields = [...form.elements].filter((field) => field.name && field.type !== "hidden");
  const more = Object.assign(document.createElement("button"), { type: "button", hidden: true, textContent: "Show more" });
  list.after(more);
  let all = null;
  let loading = null;

  window.formalimgTiles = ({ tiles, facets }) => {
    const holder = document.createElement("template");
    holder.innerHTML = tiles.join(""); // markup of our own templates, which escape whatever they show
    const entries = [...holder.content.children];
    all = { entries, words: entries.map((one) => one.textContent.toLowerCase()), facets: new Map(Object.entries(facets).map(([name, places]) => [name, new Set(places)])) };
  };
  const load = () => (loading ??= new Promise((done) => {
    const script = Object.assign(document.createElement("script"), { src: form.dataset.tiles });
    script.addEventListener("load", done);
    document.head.append(script);
  }));

  const chosen = () => new URLSearchParams(fields.filter((field) => field.value.trim()).map((field) => [field.name, field.value.trim()]));
  const plain = () => {
    list.replaceChildren(...own);
    count?.replaceChildren(...ownCount);
    more.hidden = true;
  };
  let applied = "";
  const apply = async () => {
    const wanted = [...chosen()];
    if (applied === String(chosen())) return; // a click elsewhere ends the search once more, and must not move what is clicked
    applied = String(chosen());
    for (const pager of document.querySelectorAll("nav.pager")) pager.hidden = wanted.length > 0;
    if (!wanted.length) { plain(); return; }
    await load();
    const shown = all.entries.filter((_, place) => wanted.every(([name, value]) => (name === "text" ? all.words[place].includes(value.toLowerCase()) : all.facets.get(`${name}=${value}`)?.has(place))));
    let end = PER_STEP;
    const show = () => { list.replaceChildren(...shown.slice(0, end)); more.hidden = shown.length <= end; };
    more.onclick = () => { end += PER_STEP; show(); };
    show();
    if (!count) return;
    const back = Object.assign(document.createElement("a"), { href: "#", textContent: "show all" });
    count.replaceChildren(`${shown.length.toLocaleString("en")} image${shown.length === 1 ? "" : "s"}, `, back);
  };

  // The address holds the filters, so that links to them work, and others can be sent.
  const fromAddress = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) field.value = wanted.get(field.name) ?? "";
    apply();
  };
  const toAddress = () => { history.replaceState(null, "", `#${chosen()}`); apply(); };
  const taken = (event) => { if (event.target.closest?.("form") === form) { event.stopImmediatePropagation(); event.preventDefault(); toAddress(); } };
  for (const event of ["change", "submit"]) document.addEventListener(event, taken, true); // before the viewer's own script
  form.addEventListener("input", (event) => { if (event.target.type === "search") toAddress(); });
  addEventListener("hashchange", fromAddress);
  if (location.hash.includes("=")) fromAddress();
})();
