// Requests to the server. A new request to an endpoint aborts the one before, so that no reply overtakes a later one.
const pending = {};

export const abort = (...endpoints) => endpoints.forEach((endpoint) => pending[endpoint]?.abort());

const parseReply = async (answer) => {
  const text = await answer.text();
  if (answer.headers.get("content-type")?.startsWith("application/json")) return JSON.parse(text);
  return { error: answer.status < 500 ? text : "something went wrong here: see the log in the terminal of formalimg view" };
};

// Return the reply; with `error` if there is none, null if the request was aborted.
export const post = async (endpoint, body) => {
  abort(endpoint);
  const { signal } = (pending[endpoint] = new AbortController());
  try {
    const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
    const answer = await parseReply(await fetch(`/playground/${endpoint}`, sent));
    return signal.aborted ? null : answer;
  } catch (error) {
    return error.name === "AbortError" ? null : { error: "the site does not answer: is formalimg view still running?" };
  }
};
