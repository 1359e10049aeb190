// Asking the site. A new question on a matter gives up the one before, so that no answer overtakes a later one.
const asking = {};

export const giveUp = (...matters) => matters.forEach((matter) => asking[matter]?.abort());

const told = async (answer) => {
  const text = await answer.text();
  if (answer.headers.get("content-type")?.startsWith("application/json")) return JSON.parse(text);
  return { error: answer.status < 500 ? text : "something went wrong here: the terminal of formalimg view tells what" };
};

// The answer; with `error` if there is none, null if nobody waits for it any more.
export const ask = async (matter, question) => {
  giveUp(matter);
  const { signal } = (asking[matter] = new AbortController());
  try {
    const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal };
    const answer = await told(await fetch(`/playground/${matter}`, sent));
    return signal.aborted ? null : answer;
  } catch (error) {
    return error.name === "AbortError" ? null : { error: "the site does not answer: is formalimg view still running?" };
  }
};
