"use strict";
(() => {
  const root = document.documentElement;

  // The theme: what the system wants, until the reader chooses.
  const button = document.querySelector(".theme");
  const remember = (theme) => { try { localStorage.setItem("formalimg-theme", theme); } catch { /* not allowed here */ } };
  const remembered = () => { try { return localStorage.getItem("formalimg-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "light" : "dark"; button.ariaLabel = `Switch to ${button.textContent} colours`; };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  button.hidden = false;
  name();
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; remember(root.dataset.theme); name(); });
})();
