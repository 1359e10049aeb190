// Boxes on an image: moved, sized, drawn, named and removed, by mouse and by keyboard, with a way back.

import { CANVAS, SMALLEST, between, drawn, made, moved, sized } from "/static/rating-svg.js";

const STEP = 5;
const EDGES = [["left", 0], ["top", 1], ["right", 2], ["bottom", 3]];
const HANDLES = [[0, 1], [null, 1], [2, 1], [2, null], [2, 3], [null, 3], [0, 3], [0, null]]; // the edges that each one moves

const area = ({ box_2d: box }) => (box[2] - box[0]) * (box[3] - box[1]);
const looks = (object) => [object.color, object.label].filter(Boolean).join(" ") || "no class yet";

/**
 * The editor.
 *
 * form and step: where it is; scene: what it starts with, in the grounding format; changed: is called with each new scene.
 */
export const boxEditor = (form, step, scene, changed) => {
  const image = form.querySelector(".rated-image");
  const svg = form.querySelector(".boxes");
  const list = step.querySelector(".box-list");
  const words = (id) => new Set([...step.querySelectorAll(`#${id} option`)].map((option) => option.value));
  const known = { label: words("classes"), color: words("colours") };
  const undo = step.querySelector(".undo");
  const past = [];
  let sceneObjects = [];
  let relations = null;
  let selected = null;

  // Relations refer to objects by number, which changes when one is removed: here they hold the objects themselves.
  const load = (from) => {
    sceneObjects = from.objects.map((object) => ({ ...object, box_2d: [...object.box_2d] }));
    relations = from.relations?.map(([name, one, other]) => [name, sceneObjects[one], sceneObjects[other]]) ?? null;
  };
  const save = () => {
    const objects = sceneObjects.map((object) => ({ ...object, label: object.label.trim(), color: object.color?.trim() || null }));
    if (relations === null) return { objects };
    const there = relations.filter(([, one, other]) => sceneObjects.includes(one) && sceneObjects.includes(other));
    return { objects, relations: there.map(([name, one, other]) => [name, sceneObjects.indexOf(one), sceneObjects.indexOf(other)]) };
  };
  const remember = () => { past.push([save(), sceneObjects.indexOf(selected)]); if (past.length > 200) past.shift(); };
  const keep = () => { changed(save()); undo.disabled = !past.length; };
  const change = (work) => { remember(); work(); keep(); render(); };

  const height = () => CANVAS * (image.naturalHeight / image.naturalWidth);
  const unit = () => 1 / (svg.getScreenCTM()?.a || 1); // so much of the drawing is a pixel of the screen
  const point = (event) => {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [x, (y / height()) * CANVAS];
  };

  const placed = (box) => {
    const tall = height() / CANVAS;
    return { x: box[0], y: box[1] * tall, width: box[2] - box[0], height: (box[3] - box[1]) * tall };
  };
  const draw = () => {
    const hadFocus = document.activeElement?.closest?.(".boxes g");
    svg.setAttribute("viewBox", `0 0 ${CANVAS} ${height()}`);
    svg.replaceChildren();
    const size = unit();
    // Small boxes lie above large ones, so that each can be reached; the selected one lies above all.
    const order = [...sceneObjects].sort((one, other) => (one === selected) - (other === selected) || area(other) - area(one));
    for (const object of order) {
      const place = placed(object.box_2d);
      const group = drawn("g", { tabindex: object === (selected ?? sceneObjects[0]) ? 0 : -1, role: "button", "aria-pressed": object === selected, "aria-label": description(object) }, svg);
      group.classList.toggle("selected", object === selected);
      drawn("rect", { ...place, class: "halo" }, group);
      drawn("rect", { ...place, class: "box" }, group);
      const text = drawn("text", { x: place.x, y: place.y + (place.y > 18 * size ? -5 : 15) * size, "font-size": 12 * size, "stroke-width": 3 * size }, group);
      text.textContent = `${sceneObjects.indexOf(object) + 1} ${looks(object)}`;
      if (place.x + text.getComputedTextLength() > CANVAS) { text.setAttribute("x", CANVAS); text.setAttribute("text-anchor", "end"); }
      group.addEventListener("focus", () => select(object));
      group.addEventListener("pointerdown", (event) => drag(event, object, null));
      if (object === selected) handles(group, size);
    }
    if (hadFocus) focusBox();
  };
  const description = (object) => {
    const [left, top, right, bottom] = object.box_2d;
    return `Box ${sceneObjects.indexOf(object) + 1}: ${looks(object)}, left ${left}, top ${top}, right ${right}, bottom ${bottom}`;
  };
  const handles = (group, size) => {
    const box = selected.box_2d;
    const middle = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
    for (const edges of HANDLES) {
      const [x, y] = [edges[0] === null ? middle[0] : box[edges[0]], edges[1] === null ? middle[1] : box[edges[1]]];
      const object = selected;
      const cursor = edges.includes(null) ? (edges[0] === null ? "ns" : "ew") : edges[0] === edges[1] - 1 ? "nwse" : "nesw";
      const handle = drawn("rect", { x: x - 4.5 * size, y: (y * height()) / CANVAS - 4.5 * size, width: 9 * size, height: 9 * size, class: `handle ${cursor}` }, group);
      handle.addEventListener("pointerdown", (event) => drag(event, object, edges));
    }
  };

  // Rows stay while their objects do: whoever writes in one keeps the place.
  const rows = new Map();
  const field = (row, object, property, name, options) => {
    const input = made("input", { type: "text", placeholder: name }, row);
    input.setAttribute("list", options);
    input.dataset.property = property;
    const judge = () => input.setAttribute("aria-invalid", String(!fits(property, input.value.trim())));
    input.addEventListener("focus", () => select(object));
    input.addEventListener("input", judge);
    input.addEventListener("change", () => change(() => { object[property] = input.value.trim() || (property === "label" ? "" : null); }));
    return (number) => {
      input.setAttribute("aria-label", `${name} of box ${number}`);
      if (input !== document.activeElement) input.value = object[property] ?? "";
      judge();
    };
  };
  const side = (four, object, name, edge) => {
    const label = made("label", { textContent: name }, four);
    const input = made("input", { type: "number", min: 0, max: CANVAS }, label);
    input.addEventListener("change", () => {
      const by = input.valueAsNumber - object.box_2d[edge];
      if (Number.isFinite(by)) change(() => { object.box_2d = sized(object.box_2d, edge % 2 ? [null, edge] : [edge, null], [by, by]); });
      input.value = object.box_2d[edge];
    });
    return () => { if (input !== document.activeElement) input.value = object.box_2d[edge]; };
  };
  const makeRow = (object) => {
    const row = made("li", {}, list);
    const number = made("span", { className: "number" }, row);
    const fresh = [field(row, object, "label", "class", "classes"), field(row, object, "color", "colour", "colours")];
    const remove = made("button", { type: "button", textContent: "✕", title: "remove" }, row);
    remove.addEventListener("click", () => drop(object));
    const four = made("div", { className: "sides" }, row);
    fresh.push(...EDGES.map(([name, edge]) => side(four, object, name, edge)));
    row.addEventListener("pointerdown", (event) => { if (event.target === row || event.target === number) select(object); });
    return () => {
      const place = sceneObjects.indexOf(object) + 1;
      if (!place) { row.remove(); rows.delete(object); return; }
      row.className = object === selected ? "selected" : "";
      four.hidden = object !== selected;
      number.textContent = place;
      remove.setAttribute("aria-label", `Remove box ${place}: ${looks(object)}`);
      for (const renew of fresh) renew(place);
    };
  };
  const render = () => {
    draw();
    for (const object of sceneObjects) if (!rows.has(object)) rows.set(object, makeRow(object));
    for (const renew of [...rows.values()]) renew();
    step.querySelector(".no-boxes").hidden = sceneObjects.length > 0;
  };
  const fits = (property, word) => known[property].has(word) || (property === "color" && !word);

  const select = (object) => { if (selected !== object) { selected = object; render(); } };
  const focusBox = () => svg.querySelector("g.selected")?.focus({ preventScroll: true });
  const focusField = (property) => {
    const input = list.querySelector(`li.selected [data-property=${property}]`);
    input?.focus();
    input?.select();
    return Boolean(input);
  };
  const add = (box) => {
    const object = { label: "", color: null, box_2d: box };
    change(() => { sceneObjects = [...sceneObjects, object]; selected = object; });
    focusField("label");
  };
  const drop = (object) => {
    const place = sceneObjects.indexOf(object);
    change(() => {
      sceneObjects = sceneObjects.filter((one) => one !== object);
      selected = sceneObjects[Math.min(place, sceneObjects.length - 1)] ?? null;
    });
    focusBox();
  };
  const back = () => {
    if (!past.length) return;
    const [before, place] = past.pop();
    load(before);
    selected = sceneObjects[place] ?? null;
    keep();
    render();
    focusBox();
  };

  const drag = (event, object, edges) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    const from = point(event);
    const before = object ? [...object.box_2d] : null;
    if (object) { selected = object; render(); focusBox(); }
    let noted = false;
    let frame = null;
    const follow = (later) => {
      const to = point(later);
      const by = [to[0] - from[0], to[1] - from[1]];
      if (!noted && Math.hypot(...by) < 2 * unit()) return;
      if (!object) { // drawing a new one
        frame ??= drawn("rect", { class: "new" }, svg);
        for (const [key, value] of Object.entries(placed(between(from, to)))) frame.setAttribute(key, value);
      } else {
        if (!noted) remember();
        object.box_2d = edges ? sized(before, edges, by) : moved(before, by);
        draw();
      }
      noted = true;
    };
    const end = (last) => {
      removeEventListener("pointermove", follow);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      if (object) { if (noted) keep(); render(); return; }
      const box = between(from, point(last));
      if (noted && box[2] - box[0] >= SMALLEST && box[3] - box[1] >= SMALLEST) add(box);
      else { frame?.remove(); selected = null; render(); }
    };
    addEventListener("pointermove", follow);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  };
  const arrows = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
  const took = (event) => {
    if (event.target.matches("input")) {
      if (event.key !== "Escape" && event.key !== "Enter") return false;
      event.target.blur(); // which makes what was written count
      focusBox();
      return true;
    }
    if ((event.ctrlKey || event.metaKey) && event.key !== "z") return false;
    if (event.key.toLowerCase() === "z") { back(); return true; }
    if (event.key === "a") { add([400, 400, 600, 600]); return true; }
    if (!selected) return false;
    if (event.key === "Tab") {
      const other = event.target.closest?.(".boxes") && sceneObjects[sceneObjects.indexOf(selected) + (event.shiftKey ? -1 : 1)];
      if (other) { select(other); focusBox(); }
      return Boolean(other);
    }
    if (event.key === "c") return focusField("label");
    if (event.key === "o") return focusField("color");
    if (event.key === "Delete" || event.key === "Backspace") { drop(selected); return true; }
    if (event.key === "Escape") { document.activeElement?.blur(); selected = null; render(); return true; }
    const by = arrows[event.key];
    if (!by) return false;
    change(() => { selected.box_2d = event.shiftKey ? sized(selected.box_2d, [2, 3], by) : moved(selected.box_2d, by); });
    return true;
  };

  svg.addEventListener("pointerdown", (event) => drag(event, null, null));
  step.querySelector(".add").addEventListener("click", () => add([400, 400, 600, 600]));
  undo.addEventListener("click", back);
  load(scene);
  return {
    begin: () => {
      selected = sceneObjects[0] ?? null;
      render();
      focusBox();
      new ResizeObserver(draw).observe(svg);
    },
    scene: save,
    /** Show what another window has drawn, with a way back; false if that is the same. */
    follow: (other) => {
      if (JSON.stringify(other) === JSON.stringify(save())) return false;
      const place = sceneObjects.indexOf(selected);
      remember();
      load(other);
      selected = sceneObjects[place] ?? null;
      undo.disabled = false;
      if (image.naturalWidth) render();
      return true;
    },
    /** What is still wrong, in words; empty if nothing is. */
    wrong: () => {
      for (const [place, object] of sceneObjects.entries()) {
        const property = ["label", "color"].find((one) => !fits(one, (object[one] ?? "").trim()));
        if (!property) continue;
        select(object);
        focusField(property);
        const what = property === "label" ? "class" : "colour";
        return object[property] ? `Box ${place + 1} has the ${what} “${object[property]}”, which is not among the words: choose one from the list.` : `Box ${place + 1} has no ${what} yet.`;
      }
      return "";
    },
    took,
  };
};
