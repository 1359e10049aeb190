// The geometry of boxes on a canvas of 1000 by 1000, and elements made in one line.

const SVG = "http://www.w3.org/2000/svg";
export const CANVAS = 1000; // as in the grounding format
export const SMALLEST = 4;

export const drawn = (name, attributes, parent) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
};
export const made = (name, properties, parent) => {
  const element = Object.assign(document.createElement(name), properties);
  parent?.append(element);
  return element;
};
const within = (value, low, high) => Math.min(Math.max(value, low), high);

/** Move a box, or some of its edges, by so much; it never leaves the canvas, and never turns over. */
export const moved = (box, [dx, dy]) => {
  const x = within(dx, -box[0], CANVAS - box[2]);
  const y = within(dy, -box[1], CANVAS - box[3]);
  return [box[0] + x, box[1] + y, box[2] + x, box[3] + y].map(Math.round);
};
export const sized = (box, edges, [dx, dy]) => {
  const next = [...box];
  for (const edge of edges) {
    if (edge === null) continue;
    const by = edge % 2 ? dy : dx;
    const [low, high] = edge < 2 ? [0, next[edge + 2] - SMALLEST] : [next[edge - 2] + SMALLEST, CANVAS];
    next[edge] = Math.round(within(box[edge] + by, Math.min(low, box[edge]), Math.max(high, box[edge])));
  }
  return next;
};

/** The box between two points. */
export const between = (one, other) => {
  const [x, y] = [0, 1].map((axis) => [one[axis], other[axis]].map((value) => Math.round(within(value, 0, CANVAS))).sort((a, b) => a - b));
  return [x[0], y[0], x[1], y[1]];
};
