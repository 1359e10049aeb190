"use strict";
// The page of a run follows it; what was opened stays open.
formalimgLive({
  isBusy: () => false,
  keep: (shown, found) => {
    const open = [...shown.querySelectorAll("details")].map((one) => one.open);
    found.querySelectorAll("details").forEach((one, place) => { one.open = open[place] ?? one.open; });
    return () => {};
  },
});
