// What is served, and which view is shown.

let models = [];

const kinds = { generator: "Language model", embedder: "Model of embeddings", reranker: "Reranker" };
const tasks = { chat: "chat", completion: "continue texts", embedding: "embed texts", rerank: "rank texts for a query", multivector: "vectors of tokens", sparse: "weights of tokens" };

// facts are the rows that a model has.
const facts = (m) => [
  ["Does", m.tasks.map((t) => tasks[t] ?? t).join(", ") || "takes token ids only"],
  ["Architecture", m.architecture],
  ["Layers", m.layers],
  [m.kind === "generator" ? "Context" : "Longest text", m.max_model_len && count(m.max_model_len, "token")],
  ["Dimensions", m.dimensions?.toLocaleString("en")],
  ["Vocabulary", m.vocab_size?.toLocaleString("en")],
  ["Keys and values", m.cache_type],
  ["Computes with", m.activations],
  ["Contract", m.contract],
  ["Fingerprint", el("code", {}, m.system_fingerprint)],
];

// card shows a model.
const card = (m) => {
  const rows = facts(m).filter(([, value]) => value !== undefined && value !== "" && value !== 0);
  return el("article", { className: "card" }, el("h2", {}, m.id), el("p", { className: "kind" }, kinds[m.kind] ?? m.kind),
    el("dl", {}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
};

// The views that need a model of a kind, and what is said without one.
const views = {
  chat: {
    tasks: ["chat", "completion"],
    none: "No model here can chat",
    why: "The server has no language model with a tokenizer.",
    chosen: chatChosen,
    first: "say",
  },
  search: {
    tasks: ["embedding", "rerank"],
    none: "No model here can search",
    why: "The server has neither a model of embeddings nor a reranker.",
    chosen: () => {},
    first: "query",
  },
};

const fitting = (view) => models.filter((m) => view.tasks.some((t) => m.tasks.includes(t)));

// route shows the view that the address names, or else the first one there is.
const route = () => {
  if (!models.length) return;
  const named = location.hash.slice(1);
  const name = named in views || named === "models" ? named : (Object.keys(views).find((v) => fitting(views[v]).length) ?? "models");
  const none = name in views && !fitting(views[name]).length;
  for (const v of ["chat", "search", "models"]) {
    $("view-" + v).hidden = v !== name || none;
    if (v === name) $("to-" + v).ariaCurrent = "page";
    else $("to-" + v).removeAttribute("aria-current");
  }
  $("view-none").hidden = !none;
  $("view-key").hidden = true;
  if (none) {
    $("none-title").textContent = views[name].none;
    $("none-text").textContent = `${views[name].why} It serves ${models.map((m) => `${m.id} (${(kinds[m.kind] ?? m.kind).toLowerCase()})`).join(", ")}.`;
  } else if (name in views && matchMedia("(hover: hover)").matches) {
    $(views[name].first).focus({ preventScroll: true }); // without a mouse, it would open a keyboard over the page
  }
};

// wantKey asks for a key, and says why the last one did not do.
const wantKey = (problem) => {
  key = "";
  $("forget").hidden = $("nav").hidden = true;
  for (const v of ["chat", "search", "models", "none"]) $("view-" + v).hidden = true;
  $("view-key").hidden = false;
  $("key").value = "";
  show("problem", problem);
  $("key").focus();
};

// load asks what is served.
const load = async () => {
  $("again").hidden = true;
  show("problem", "");
  try {
    models = (await ask("v1/models")).data;
  } catch (e) {
    if (e.status === 401) return wantKey(key ? "That key is not accepted." : "");
    show("problem", e instanceof Failure ? e.message : "The answer is not one of this server.");
    $("again").hidden = false;
    return;
  }
  for (const [name, view] of Object.entries(views)) {
    const list = fitting(view);
    const before = $(name + "-model").value;
    $(name + "-model").replaceChildren(...list.map((m) => el("option", { value: m.id, selected: m.id === before }, m.id)));
    $("to-" + name).hidden = !list.length;
    view.chosen();
  }
  $("models").replaceChildren(...models.map(card));
  $("nav").hidden = false;
  $("forget").hidden = !key;
  route();
};

// forgetKey drops the key, and with it what it was used for.
const forgetKey = () => {
  newChat();
  kept = { of: "", vectors: new Map() };
  models = [];
  $("results").replaceChildren();
  $("search-state").textContent = "";
  wantKey("");
};

$("key-form").addEventListener("submit", (e) => {
  e.preventDefault();
  key = $("key").value.trim();
  if (/^[\x21-\x7e]+$/.test(key)) load();
  else wantKey("A key has letters, digits and signs of ASCII only.");
});
$("forget").addEventListener("click", forgetKey);
$("again").addEventListener("click", load);
addEventListener("hashchange", route);
addEventListener("keydown", (e) => {
  if (e.key === "Escape") running?.abort();
});
load();
