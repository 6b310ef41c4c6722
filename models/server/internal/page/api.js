// Requests to the server that this page comes from.

const $ = (id) => document.getElementById(id);

// el makes an element. Strings among children become text, never HTML.
const el = (tag, props, ...children) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
};

// show shows a message at an element, or hides it if there is none.
const show = (id, message) => {
  $(id).textContent = message ?? "";
  $(id).hidden = !message;
};

const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const seconds = (ms) => (ms < 9950 ? (ms / 1000).toFixed(ms < 995 ? 2 : 1) : Math.round(ms / 1000)) + " s";

let key = ""; // in memory only

// A Failure is an error that the user is told of.
class Failure extends Error {
  constructor(message, status = 0, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// sentence makes a sentence of a message of the API.
const sentence = (s) => s.charAt(0).toUpperCase() + s.slice(1) + (/[.!?]$/.test(s) ? "" : ".");

// failureOf says what an error of the API means.
const failureOf = (error, status = 0, retry = "") => {
  let message = sentence(String(error?.message ?? `The server answers with status ${status}`));
  if (/^\d+$/.test(retry)) message += ` Try again in ${count(Number(retry), "second")}.`;
  return new Failure(message, status, error?.code ?? "");
};

// call asks the API: GET without a body, POST with one. Paths are relative, as the server may be mounted below one.
const call = async (path, body, signal) => {
  const headers = key ? { Authorization: "Bearer " + key } : {};
  let response;
  try {
    response = await fetch(path, { headers, signal, cache: "no-store", ...(body && { method: "POST", body: JSON.stringify(body) }) });
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Failure("The server cannot be reached.");
  }
  if (response.ok) return response;
  const text = await response.text().catch(() => "");
  let error;
  try {
    error = JSON.parse(text).error;
  } catch {
    // It is not an answer of the API: the status has to do.
  }
  throw failureOf(error, response.status, response.headers.get("Retry-After") ?? "");
};

// ask returns the JSON of an answer.
const ask = async (path, body, signal) => (await call(path, body, signal)).json();

// events yields the objects of a stream of server-sent events, up to [DONE].
async function* events(response, signal) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const data = part.startsWith("data: ") ? part.slice(6) : "";
        if (data === "[DONE]") return;
        if (!data) continue;
        const event = JSON.parse(data);
        if (event.error) throw failureOf(event.error);
        yield event;
      }
    }
  } catch (e) {
    if (e instanceof Failure || signal.aborted) throw e;
    throw new Failure("The connection broke in the middle of the answer.");
  } finally {
    reader.cancel().catch(() => {});
  }
  throw new Failure("The answer ended before it was complete.");
}

// framed returns how to do something once in the next frame, however often that is asked for, or now if it is still to be done.
const framed = (work) => {
  let due = false;
  const now = () => {
    if (due) work();
    due = false;
  };
  const later = () => {
    if (!due) requestAnimationFrame(now);
    due = true;
  };
  return { now, later };
};

let running = null; // the AbortController of what Escape stops

// run does work that can be stopped, one at a time, and returns whether it came to its end. Buttons change
// meanwhile: go is hidden, halt is shown.
const run = async (go, halt, problem, work) => {
  running?.abort();
  const mine = (running = new AbortController());
  show(problem, "");
  $(go).hidden = true;
  $(halt).hidden = false;
  try {
    await work(mine.signal);
    return true;
  } catch (e) {
    if (mine.signal.aborted) return false;
    if (e instanceof Failure && e.status === 401) wantKey(key ? "The key is no longer accepted." : "");
    else show(problem, e instanceof Failure ? e.message : `The page failed: ${e.message}`);
    return false;
  } finally {
    if (running === mine) running = null;
    const focused = document.activeElement === $(halt);
    $(go).hidden = false;
    $(halt).hidden = true;
    if (focused) $(go).focus();
  }
};
