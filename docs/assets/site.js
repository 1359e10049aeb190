// Names and keys for what the theme's script makes: bars of copy buttons are no landmarks, wide tables scroll by keys.
const name = () => {
  for (const bar of document.querySelectorAll(".md-code__nav:not([role])")) bar.setAttribute("role", "none");
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) wide.tabIndex = 0;
};
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
name();
