// What raters see: the image in full size, and the scroll position.

history.scrollRestoration = "manual"; // the page of a new image begins with the image, not where the one before was left

/** Is there likely a keyboard? If not, a field that has the focus hides half of the screen. */
export const hasKeys = !matchMedia("(hover: none) and (pointer: coarse)").matches;

/** The answers that keys give, in practice and in rating, and whether a step offers one of them. */
export const KEYS = { y: true, n: false, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, l: "left", r: "right", t: "tie", c: "cannot tell" };
export const choiceOf = (step, value) => [...step.querySelectorAll("input[type=radio]")].find((one) => one.value === JSON.stringify(value));

const PANORAMA = 2.5; // so many times wider than high: beside the words it would be a thin line

/** Words that are shown on the page that is loaded next, once. */
export const noteForNextPage = {
  leave: (words) => { try { if (words) sessionStorage.setItem("formalimg-rating", words); } catch { /* no storage: the note is lost */ } },
  take: () => {
    try {
      const words = sessionStorage.getItem("formalimg-rating") ?? "";
      sessionStorage.removeItem("formalimg-rating");
      return words;
    } catch { return ""; }
  },
};

/** The image in full size, and back: begin, when the image is there; turn, for a key. */
export const imageZoom = (form) => {
  const image = form.querySelector(".rated-image");
  const figure = form.querySelector(".rated");
  const button = form.querySelector(".full-size");
  const isClose = () => figure.classList.contains("close");
  const isReduced = () => image.naturalWidth > 1.1 * image.clientWidth || image.naturalHeight > 1.1 * image.clientHeight;
  const offer = () => { button.hidden = !isClose() && !isReduced(); };
  const turn = () => {
    if (button.hidden) return;
    button.querySelector("span").textContent = figure.classList.toggle("close") ? "whole image" : "full size";
    offer();
  };
  button.addEventListener("click", (event) => {
    turn();
    if (event.detail) button.blur(); // by mouse: Enter still is for the next image
  });
  return {
    begin: () => {
      form.classList.toggle("panorama", image.naturalWidth > PANORAMA * image.naturalHeight);
      offer();
      new ResizeObserver(offer).observe(image);
    },
    turn,
  };
};
