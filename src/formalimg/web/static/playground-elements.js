// Elements of the page. Text from elsewhere is inserted as text, never as markup.
export const MAX_BYTES = 16 * 1024 * 1024; // bytes of a file
const MAX_SIDE = 640; // boxes and labels are drawn as if images were so large
const LETTER = 6.3; // about how wide a letter of a label is

export const make = (tag, text = "", ...names) => {
  const made = document.createElement(tag);
  made.textContent = text;
  made.classList.add(...names);
  return made;
};

export const counted = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

// A file in base64; empty if it cannot be read.
export const dataOf = (file) => new Promise((done) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => done("");
  reader.readAsDataURL(file);
});

// Take a file that is chosen, or dropped anywhere on the page.
const hasFile = (event) => Boolean(event.dataTransfer?.types.includes("Files"));
export const takeFiles = (input, take) => {
  input.addEventListener("change", () => { const [file] = input.files; if (file) take(file); input.value = ""; });
  addEventListener("dragover", (event) => { if (hasFile(event)) { event.preventDefault(); document.body.classList.add("taking"); } });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("taking"); });
  addEventListener("drop", (event) => {
    document.body.classList.remove("taking");
    if (!hasFile(event)) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) take(file);
  });
};

export const problemLine = (problem, select) => {
  const line = make("li");
  const where = make("button", `line ${problem.line}, column ${problem.column}`);
  where.type = "button";
  where.addEventListener("click", () => select(problem));
  const [source, caret] = problem.excerpt.split("\n");
  const excerpt = make("pre", `${source}\n`);
  excerpt.tabIndex = 0;
  excerpt.append(make("span", caret, "caret"));
  line.append(where, make("span", problem.message), excerpt);
  return line;
};

export const clauseRow = (clause) => {
  const row = make("tr");
  const outcome = make("td", "", "outcome");
  const name = make("th");
  name.scope = "row";
  name.append(make("code", clause.text));
  if ("holds" in clause) {
    outcome.classList.add(clause.holds ? "pass" : "fail");
    const sign = make("span", clause.holds ? "✓" : "✗");
    sign.setAttribute("aria-hidden", "true");
    outcome.append(sign, make("span", clause.holds ? "holds" : "fails", "hidden"));
    if (clause.reason) name.append(make("small", clause.reason));
  }
  row.append(outcome, name, make("td", clause.kind));
  return row;
};

const drawn = (tag, values) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(values)) made.setAttribute(name, value);
  return made;
};

const framed = ({ looks, box, failed }, width, height) => {
  const [left, right] = [box[0], box[2]].map((edge) => (edge * width) / 1000);
  const [top, bottom] = [box[1], box[3]].map((edge) => (edge * height) / 1000);
  const length = Math.min(LETTER * looks.length + 6, width);
  const x = Math.min(left, width - length);
  const y = top >= 13 ? top - 13 : top; // above the box where there is room, else inside it
  const words = drawn("text", { x: x + 3, y: y + 9.5 });
  words.textContent = looks;
  const group = drawn("g", { class: failed ? "detected fault" : "detected" });
  group.append(drawn("rect", { x: left, y: top, width: right - left, height: bottom - top, class: "frame" }), drawn("rect", { x, y, width: length, height: 13, class: "plate" }), words);
  return group;
};

// Boxes of objects, to be laid over an image of this size.
export const overlay = (boxes, pixelsAcross, pixelsDown) => {
  const scale = MAX_SIDE / Math.max(pixelsAcross, pixelsDown);
  const [width, height] = [pixelsAcross * scale, pixelsDown * scale];
  const laid = drawn("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  laid.append(...boxes.map((one) => framed(one, width, height)));
  return laid;
};
