"use strict";
// Live progress: the parts of a page that are about runs in progress follow them, and are loaded again when runs begin,
// end or are tagged elsewhere.
const formalimgLive = ({ isBusy, keep }) => {
  const SECONDS_BETWEEN = 3, SECONDS_OF_FIGURES = 15;
  const live = () => document.querySelector(".live");
  let state = live()?.dataset.state ?? null, outdated = false, loaded = Date.now(), isLoading = false;
  const reload = async () => {
    if (isLoading || isBusy(live()) || Date.now() - loaded < 1000 * SECONDS_BETWEEN) return;
    isLoading = true;
    try {
      const answer = await fetch(location.href);
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".live");
      if (!answer.ok || !found || isBusy(live())) return;
      const after = keep(live(), found);
      live().replaceWith(found);
      after();
      outdated = false;
      state = found.dataset.state ?? state;
      loaded = Date.now();
    } catch { /* the viewer has ended: the page stays as it is */ } finally { isLoading = false; }
  };

  const part = (row, name, text) => { const place = row.querySelector(`[data-part=${name}]`); if (place && place.textContent !== text) place.textContent = text; };
  const show = (running) => {
    let isShown = false;
    for (const row of live().parentElement.querySelectorAll("[data-run]")) {
      const found = Object.hasOwn(running, row.dataset.run) ? running[row.dataset.run] : null;
      const place = row.querySelector("[data-progress]");
      isShown ||= Boolean(found);
      if (!found || !place) continue;
      place.querySelector("progress").value = found.share;
      for (const name of ["done", "rate", "left"]) part(row, name, found[name]);
      if (found.cost) part(row, "cost", found.cost);
    }
    return isShown;
  };
  // Hidden pages do not listen: browsers allow few connections to a site.
  let events = null;
  const close = () => { events?.close(); events = null; };
  const listen = () => {
    if (events || document.hidden || !live()) return;
    events = new EventSource("/events");
    events.addEventListener("runs", (event) => {
      const news = JSON.parse(event.data);
      outdated ||= state !== null && state !== news.state;
      state = news.state;
      const isShown = show(news.running);
      if (outdated || (isShown && Date.now() - loaded > 1000 * SECONDS_OF_FIGURES)) reload();
    });
    events.addEventListener("error", () => { if (events?.readyState === EventSource.CLOSED) { close(); setTimeout(listen, 10000); } });
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : listen()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", listen);
  setInterval(() => { if (events && outdated) reload(); }, 1000 * SECONDS_BETWEEN);
  listen();
};
