// What raters have before their eyes: pictures as large as they are, and the right place of the page.

history.scrollRestoration = "manual"; // the page of a new picture begins with the picture, not where the one before was left

/** Is there likely a keyboard? If not, a field that has the focus hides half of the screen. */
export const hasKeys = !matchMedia("(hover: none) and (pointer: coarse)").matches;

const PANORAMA = 2.5; // so many times wider than high: beside the words it would be a thin line

/** Words that are shown on the page that is loaded next, once. */
export const noteForNextPage = {
  leave: (words) => { try { if (words) sessionStorage.setItem("formalimg-rating", words); } catch { /* no storage: nothing is told */ } },
  take: () => {
    try {
      const words = sessionStorage.getItem("formalimg-rating") ?? "";
      sessionStorage.removeItem("formalimg-rating");
      return words;
    } catch { return ""; }
  },
};

/** The picture in full size, and back: begin, when the picture is there; turn, for a key. */
export const lookingClosely = (form) => {
  const picture = form.querySelector(".rated-picture");
  const figure = form.querySelector(".rated");
  const button = form.querySelector(".full-size");
  const isClose = () => figure.classList.contains("close");
  const isReduced = () => picture.naturalWidth > 1.1 * picture.clientWidth || picture.naturalHeight > 1.1 * picture.clientHeight;
  const offer = () => { button.hidden = !isClose() && !isReduced(); };
  const turn = () => {
    if (button.hidden) return;
    button.querySelector("span").textContent = figure.classList.toggle("close") ? "whole picture" : "full size";
    offer();
  };
  button.addEventListener("click", (event) => {
    turn();
    if (event.detail) button.blur(); // by mouse: Enter still is for the next picture
  });
  return {
    begin: () => {
      form.classList.toggle("panorama", picture.naturalWidth > PANORAMA * picture.naturalHeight);
      offer();
      new ResizeObserver(offer).observe(picture);
    },
    turn,
  };
};
