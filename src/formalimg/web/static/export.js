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

  // Filters. All images of the run come in a script of their own, once somebody filters. The address holds the filters,
  // so that links to them work, and others can be sent.
  const stateOf = () => new URLSearchParams([...new URLSearchParams(location.hash.slice(1))].filter(([, value]) => value));
  let all = null;
  let loading = null;
  window.formalimgTiles = ({ tiles, facets }) => {
    const holder = document.createElement("template");
    holder.innerHTML = tiles.join(""); // markup of our own templates, which escape whatever they show
    const entries = [...holder.content.children];
    all = { entries, words: entries.map((one) => one.textContent.toLowerCase()), facets: new Map(Object.entries(facets).map(([name, places]) => [name, new Set(places)])) };
  };
  const load = (src) => (loading ??= new Promise((done) => {
    const script = Object.assign(document.createElement("script"), { src });
    script.addEventListener("load", done);
    document.head.append(script);
  }));
  const matches = (place, [name, value]) => (name === "text" ? all.words[place].includes(value.toLowerCase()) : all.facets.get(`${name}=${value}`)?.has(place));
  // Kind and word are about the same part: their images are not always those of both.
  const joint = (wanted) => all.facets.get(["kind", "word"].map((name) => `${name}=${wanted.find(([other]) => other === name)?.[1]}`).join("&"));
  const places = (wanted) => [...all.entries.keys()].filter((place) => wanted.every((one) => matches(place, one)) && (joint(wanted)?.has(place) ?? true));

  // The page of an image that was opened from a filtered gallery: the images before and after it are those of the filter.
  const steps = document.querySelector(".item-place .pager");
  if (steps && location.hash.includes("=")) {
    const gallery = new URL(steps.dataset.gallery, location.href).href;
    load(gallery.replace(/index\.html$/, "tiles.js").replace(/judge-(\d+)\.html$/, "tiles-$1.js")).then(() => {
      const wanted = [...stateOf()];
      const files = places(wanted).map((place) => new URL(all.entries[place].querySelector("a.step").getAttribute("href").split("#")[0], gallery).href);
      const here = files.indexOf(location.href.split("#")[0]);
      if (here < 0) return;
      const link = (place, rel, text) => (files[place] ? Object.assign(document.createElement("a"), { href: files[place] + location.hash, rel, textContent: text }) : Object.assign(document.createElement("span"), { textContent: text }));
      steps.replaceChildren(link(here - 1, "prev", "← previous"), " ", link(here + 1, "next", "next →"));
      document.querySelector("a[data-up]").href = gallery + location.hash;
    });
    return;
  }

  const form = document.querySelector("form[data-static=gallery]");
  const list = document.querySelector("main li a[href*='/item/']")?.closest("li").parentElement;
  if (!form || !list) return;
  const own = [...list.children];
  const count = document.querySelector(".count");
  const ownCount = count ? [...count.childNodes] : [];
  const fields = [...form.elements].filter((field) => field.name && field.type !== "hidden");
  const more = Object.assign(document.createElement("button"), { type: "button", hidden: true, textContent: "Show more" });
  list.after(more);

  // Links that choose one value: they are combined with what is chosen already, and undo themselves.
  const choices = [...document.querySelectorAll("main a[href*='#']")].flatMap((link) => {
    const address = new URL(link.href);
    const chosen = [...new URLSearchParams(address.hash.slice(1))];
    const isOfGallery = new URL("index.html", location.href).pathname === address.pathname || location.pathname === address.pathname;
    return isOfGallery && chosen.length === 1 && chosen[0][1] ? [{ link, name: chosen[0][0], value: chosen[0][1], number: [...link.children].find((one) => /^[\d,]+$/.test(one.textContent.trim())) }] : [];
  });

  const format = (number) => number.toLocaleString("en");

  let applied = "";
  const apply = async (state) => {
    if (applied === String(state)) return; // a click elsewhere ends the search once more, and must not move what is clicked
    applied = String(state);
    const wanted = [...state];
    for (const pager of document.querySelectorAll("nav.pager")) pager.hidden = wanted.length > 0;
    for (const { link, name, value } of choices) {
      if (state.get(name) === value) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      link.classList.toggle("chosen", state.get(name) === value);
    }
    if (!wanted.length && !all) return;
    await load(form.dataset.tiles);
    for (const { name, value, number } of choices) {
      if (number) number.textContent = format(places([...wanted.filter(([other]) => other !== name), [name, value]]).length);
    }
    if (!wanted.length) {
      list.replaceChildren(...own);
      count?.replaceChildren(...ownCount);
      more.hidden = true;
      return;
    }
    const shown = places(wanted).map((place) => all.entries[place]);
    let end = PER_STEP;
    for (const one of shown) for (const link of one.querySelectorAll("a.step")) link.setAttribute("href", `${link.getAttribute("href").split("#")[0]}#${state}`);
    const show = () => { list.replaceChildren(...shown.slice(0, end)); more.hidden = shown.length <= end; };
    more.onclick = () => { end += PER_STEP; show(); };
    show();
    const back = Object.assign(document.createElement("a"), { href: "#", textContent: "show all" });
    count?.replaceChildren(`${format(shown.length)} image${shown.length === 1 ? "" : "s"}, `, back);
  };

  const fromAddress = () => {
    const state = stateOf();
    for (const field of fields) field.value = state.get(field.name) ?? "";
    apply(state);
  };
  const choose = (name, value) => {
    const state = stateOf();
    if (value) state.set(name, value);
    else state.delete(name);
    history.replaceState(null, "", `#${state}`);
    fromAddress();
  };
  const taken = (event) => {
    if (event.target.closest?.("form") !== form) return;
    event.stopImmediatePropagation(); // before the viewer's own script
    event.preventDefault();
    if (event.type === "input" && event.target.type !== "search") return;
    for (const field of event.type === "submit" ? fields : [event.target]) {
      const { value } = field;
      choose(field.name, value.trim());
      if (event.type === "input") field.value = value; // a space at the end, before the next word
    }
  };
  for (const event of ["change", "submit", "input"]) document.addEventListener(event, taken, true);
  for (const { link, name, value } of choices) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      choose(name, stateOf().get(name) === value ? "" : value);
    });
  }
  addEventListener("hashchange", fromAddress);
  if (location.hash.includes("=")) fromAddress();
})();
