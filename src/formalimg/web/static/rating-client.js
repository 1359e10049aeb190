// Answers on their way to the server: one after the other, until each is confirmed. What is not confirmed yet is also
// kept in the browser, so that it survives a page that is loaded again and a server that is away.

const REFUSED = [400, 409, 413, 415, 422]; // about what was sent: sending it again changes nothing
const STOPPED = [403, 404]; // about who sent it

const wait = (milliseconds) => new Promise((resolve) => {
  const go = () => { removeEventListener("online", go); resolve(); };
  setTimeout(go, milliseconds);
  addEventListener("online", go);
});

// Not crypto.randomUUID, which browsers refuse to pages of other machines.
const randomKey = () => [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** What the browser keeps for a task, for all its windows: answers that wait, seconds spent, boxes not yet given. */
export const notebook = (task) => {
  const place = `formalimg-rating ${task}`;
  const notes = () => {
    try { return JSON.parse(localStorage.getItem(place)) ?? {}; } catch { return {}; } // no storage: the page itself remembers
  };
  return {
    read: (name, otherwise) => notes()[name] ?? otherwise,
    write: (changes) => { try { localStorage.setItem(place, JSON.stringify({ ...notes(), ...changes })); } catch { /* as above */ } },
    burn: () => { try { localStorage.removeItem(place); } catch { /* as above */ } },
    /** Call work with what another window has noted, each time that it does; with null when it has burnt the notes. */
    follow: (work) => addEventListener("storage", ({ key, newValue }) => { if (key === place) work(newValue === null ? null : notes()); }),
  };
};

/** Seconds in which the page is in sight, since they were last taken. */
export const clock = (before) => {
  let spent = before;
  let since = null;
  const read = () => spent + (since === null ? 0 : (performance.now() - since) / 1000);
  const turn = () => {
    spent = read();
    since = document.visibilityState === "visible" ? performance.now() : null;
  };
  return {
    start: () => { turn(); document.addEventListener("visibilitychange", turn); },
    read,
    take: () => {
      const seconds = Math.min(read(), 86400);
      spent = 0;
      if (since !== null) since = performance.now();
      return Math.round(seconds * 1000) / 1000;
    },
  };
};

const post = async (address, body) => {
  try {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20000),
    });
    const reply = await answer.json().catch(() => ({}));
    if (answer.ok) return { sort: "kept" };
    if (REFUSED.includes(answer.status)) return { sort: "refused", why: reply.error ?? "", movedOn: Boolean(reply.moved_on), differs: Boolean(reply.differs) };
    if (STOPPED.includes(answer.status)) return { sort: "stopped", why: reply.error ?? "" };
    return { sort: "away", why: reply.error ?? "" };
  } catch {
    return { sort: "away", why: "" };
  }
};

/**
 * A queue of answers that are sent to the server, and sent again until it has them.
 *
 * onResult is called with how each answer ended ("kept", "refused", "stopped") and, as often as it is, with "away".
 */
export const answerQueue = (here, task, notes, onResult) => {
  let waiting = notes.read("waiting", []);
  let busy = null;

  const persist = async (address, body, name) => {
    for (let pause = 500; ; pause = Math.min(pause * 2, 8000)) {
      const got = await post(address, body);
      if (got.sort !== "away") return got;
      onResult(got, name);
      await wait(pause);
    }
  };
  const empty = async () => {
    while (waiting.length) {
      const answer = waiting[0];
      const got = await persist(`${here}/answer`, { task, ...answer }, answer);
      if (got.sort === "stopped") { onResult(got, answer); return false; }
      waiting = waiting.slice(1);
      notes.write({ waiting });
      onResult(got, answer);
      if (got.sort === "refused") return false;
    }
    return true;
  };
  const settle = () => (busy ??= empty().finally(() => { busy = null; }));

  return {
    waiting: () => waiting,
    /** Keep an answer; true when it and all before it are confirmed. */
    give: (step, value, seconds) => {
      waiting = [...waiting, { key: randomKey(), step, value, seconds }];
      notes.write({ waiting });
      return settle();
    },
    settle,
    /** Go on with the next image, because this one cannot be shown. */
    postpone: () => persist(`${here}/later`, { task }, null),
    /** Go back to the image before, when all answers are confirmed. */
    goBack: async () => ((await settle()) ? persist(`${here}/back`, { task }, null) : { sort: "held" }),
    /** Finish the task, when all answers are confirmed; with those that are in sight, for a second window may have given others. */
    finish: async (answers) => ((await settle()) ? persist(`${here}/finish`, { task, answers }, null) : { sort: "held" }),
  };
};
