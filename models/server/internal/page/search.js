// The view of semantic search. Vectors come from the server; cosines are computed here, in float64.

const perRequest = 64; // passages
const mostShown = 20;

const searchModel = () => models.find((m) => m.id === $("search-model").value);

// vectorOf reads the numbers of an answer in base64: float32, the low bytes first.
const vectorOf = (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
};

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const cosine = (a, b) => dot(a, b) / (Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b)) || 1);

// inParts calls work with some passages after the other, and says how far it is. It returns what windows returns.
const inParts = async (list, work) => {
  const all = [];
  const limit = { characters: Infinity };
  for (let i = 0; i < list.length; i += perRequest) {
    if (list.length > perRequest) $("search-state").textContent = `${i.toLocaleString("en")} of ${count(list.length, "passage")} read`;
    for (const [text, result, index] of await windows(list.slice(i, i + perRequest), work, limit)) all.push([text, result, i + index]);
  }
  return all;
};

let kept = { of: "", vectors: new Map() }; // of the last search, by passage: its windows with their vectors

// byVectors returns passages, or their windows, with the cosines of their vectors and that of the query.
const byVectors = async (model, query, passages, signal) => {
  const prompts = model.prompts ?? {};
  const embed = async (input) => {
    const answer = await ask("v1/embeddings", { model: model.id, input, encoding_format: "base64" }, signal);
    return answer.data.map((d) => vectorOf(d.embedding));
  };
  const of = model.id + " " + model.system_fingerprint;
  const old = kept.of === of ? kept.vectors : new Map();
  const prompt = prompts.document ?? prompts.passage ?? "";
  const vectors = new Map(passages.map((p) => [p, old.get(p)]));
  const missing = [...vectors.keys()].filter((p) => !vectors.get(p));
  for (const [text, vector, index] of await inParts(missing, (part) => embed(part.map((text) => prompt + text)))) {
    const whole = missing[index];
    vectors.set(whole, [...(vectors.get(whole) ?? []), [text, vector]]);
  }
  kept = { of, vectors };
  const [asked] = await embed([(prompts.query ?? "") + query]);
  return passages.flatMap((p) => vectors.get(p)).map(([text, vector]) => ({ text, score: cosine(asked, vector) }));
};

// byReading lets a reranker score passages, or their windows.
const byReading = async (model, query, passages, signal) => {
  const all = await inParts(passages, async (documents) => {
    const answer = await ask("v1/rerank", { model: model.id, query, documents }, signal);
    const scores = new Array(documents.length);
    for (const r of answer.results) scores[r.index] = r.relevance_score;
    return scores;
  });
  return all.map(([text, score]) => ({ text, score }));
};

// result is an item of the list.
const result = ({ text, score }) => {
  const bar = el("i", { ariaHidden: "true" });
  bar.style.setProperty("--share", `${100 * Math.min(1, Math.max(0, score))}%`);
  return el("li", {}, el("div", { className: "score" }, score.toFixed(4), bar), el("div", { className: "text" }, text));
};

// find searches, and lists the best passages.
const find = async (signal) => {
  const model = searchModel();
  const query = $("query").value;
  const passages = passagesOf($("corpus").value, $("split").value);
  if (!passages.length) throw new Failure("There is no text to search: paste one above.");
  if (!query.trim()) throw new Failure("Say what to look for.");
  const begin = performance.now();
  const reranks = model.tasks.includes("rerank");
  const list = (await (reranks ? byReading : byVectors)(model, query, passages, signal)).sort((a, b) => b.score - a.score);
  $("results").replaceChildren(...list.slice(0, mostShown).map(result));
  const shown = list.length > mostShown ? `${mostShown} best of ` : "";
  $("search-state").textContent = [shown + count(list.length, "passage"), reranks ? "relevance" : "cosine", seconds(performance.now() - begin), model.system_fingerprint].join(" · ");
};

// search is find with its messages.
const search = async () => {
  if (running || !searchModel()) return;
  $("results").replaceChildren();
  $("search-state").textContent = "Reading…";
  const whole = await run("find", "search-stop", "search-problem", async (signal) => {
    try {
      await find(signal);
    } catch (e) {
      if (e.code === "context_length_exceeded") throw new Failure(e.message + " What to look for is too long.", e.status, e.code);
      throw e;
    }
  });
  if (!whole) $("search-state").textContent = $("search-problem").hidden ? "Stopped." : "";
};

$("search-form").addEventListener("submit", (e) => {
  e.preventDefault();
  search();
});
$("corpus").addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
  e.preventDefault();
  search();
});
$("search-stop").addEventListener("click", () => running?.abort());
