// The view of conversations.

let said = []; // messages of the conversation, as the API takes them

// The two ways to let a language model write: with a chat template, and without one.
const writing = {
  chat: {
    path: "v1/chat/completions",
    label: "Message",
    prompt: (system) => ({ messages: [...(system ? [{ role: "system", content: system }] : []), ...said], tools: toolsOf($("tools").value) }),
    part: (choice) => ({ text: choice.delta.content, thought: choice.delta.reasoning_content, calls: choice.delta.tool_calls }),
  },
  completion: {
    path: "v1/completions",
    label: "Text to continue",
    prompt: () => ({ prompt: said.at(-1).content }),
    part: (choice) => ({ text: choice.text }),
  },
};

const chatModel = () => models.find((m) => m.id === $("chat-model").value);
const writingOf = (model) => writing[model.tasks.includes("chat") ? "chat" : "completion"];

// chatChosen shows what the chosen model takes.
const chatChosen = () => {
  const model = chatModel();
  if (!model) return;
  const way = writingOf(model);
  $("say").placeholder = $("say-label").textContent = way.label;
  $("system-field").hidden = $("tools-field").hidden = way !== writing.chat;
  const { temperature = "", max_tokens: most = "", seed = "" } = model.defaults ?? {};
  for (const [id, value] of Object.entries({ temperature, most, seed })) $(id).placeholder = value;
};

// toolsOf returns the tools that a text lists, as the API takes them or as functions alone.
const toolsOf = (text) => {
  if (!text.trim()) return undefined;
  let list;
  try {
    list = JSON.parse(text);
  } catch (e) {
    throw new Failure(`The tools are no JSON: ${e.message}.`);
  }
  return (Array.isArray(list) ? list : [list]).map((t) => (t.function ? t : { type: "function", function: t }));
};

// settings returns the fields that the user has filled in.
const settings = () => {
  const number = (id) => ($(id).value === "" ? undefined : $(id).valueAsNumber);
  return { temperature: number("temperature"), max_tokens: number("most"), seed: number("seed") };
};

// following does something and keeps the end in sight, if it was.
const following = (change) => {
  const page = document.documentElement;
  const atEnd = page.scrollHeight - page.clientHeight - page.scrollTop < 60;
  change();
  if (atEnd) page.scrollTop = page.scrollHeight;
};

// render shows an answer: its thinking folded, its content as Markdown, or as it is where a text is continued, and its calls of tools.
const render = (body, answer, plain) => {
  const parts = [];
  if (answer.thought) {
    const old = body.querySelector("details.thought");
    const fold = el("details", { className: "thought", open: old?.open ?? false }, el("summary", {}, el("span", {}, "Thinking")), el("div", { className: "plain" }, answer.thought));
    parts.push(fold);
  }
  if (answer.text) parts.push(...(plain ? [el("div", { className: "plain" }, answer.text)] : grow(markdown(answer.text))));
  for (const call of answer.calls.filter(Boolean)) parts.push(el("div", { className: "call" }, el("strong", {}, call.function.name), el("code", {}, readable(call.function.arguments))));
  body.dataset.text = answer.text;
  body.replaceChildren(...parts);
};

// readable returns JSON on lines of its own.
const readable = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // of a call that is not complete
  }
};

// turn adds a message to the log.
const turn = (role, text) => {
  const body = el("div", { className: role === "assistant" ? "text formed" : "text" }, text);
  const node = el("div", { className: "turn " + role }, el("span", { className: "unseen" }, { user: "You:", tool: "Result of a tool:", assistant: "Answer:" }[role]), body);
  $("chat-empty").hidden = true;
  $("log").append(node);
  document.documentElement.scrollTop = document.documentElement.scrollHeight;
  return { node, body };
};

const endings = { stop: "", length: "cut at the most tokens", tool_calls: "" };

// about says how an answer was made.
const about = (answer) => {
  const rate = answer.made > 1 && answer.last > answer.first ? `${((answer.made - 1) / ((answer.last - answer.first) / 1000)).toFixed(1)} tokens/s` : "";
  const usage = answer.usage ? count(answer.usage.completion_tokens, "token") : "";
  const first = answer.made ? `first after ${seconds(answer.first - answer.begin)}` : "";
  return [answer.end, usage, first, rate, answer.fingerprint].filter(Boolean).join(" · ");
};

// stream reads an answer into a turn.
const stream = async (model, signal, answer, body) => {
  const way = writingOf(model);
  const plain = way !== writing.chat;
  const drawn = framed(() => following(() => render(body, answer, plain)));
  const response = await call(way.path, { model: model.id, ...way.prompt($("system").value), ...settings(), stream: true, stream_options: { include_usage: true } }, signal);
  try {
    for await (const event of events(response, signal)) {
      answer.fingerprint = event.system_fingerprint;
      answer.usage = event.usage ?? answer.usage;
      const choice = event.choices[0];
      if (!choice) continue;
      const { text, thought, calls } = way.part(choice);
      if (text || thought || calls) {
        answer.last = performance.now();
        answer.first ||= answer.last;
        answer.made++;
        answer.text += text ?? "";
        answer.thought += thought ?? "";
        for (const c of calls ?? []) addCall(answer.calls, c);
        drawn.later();
      }
      if (choice.finish_reason) answer.end = endings[choice.finish_reason] ?? choice.finish_reason;
    }
  } finally {
    drawn.now(); // a page that nobody sees has no frames
  }
};

// addCall adds what a call of a tool grows by.
const addCall = (calls, part) => {
  const call = (calls[part.index] ??= { id: part.id, type: "function", function: { name: "", arguments: "" } });
  call.function.name += part.function?.name ?? "";
  call.function.arguments += part.function?.arguments ?? "";
};

// open returns the calls of the last answer that have no result yet.
const open = () => {
  const at = said.findLastIndex((m) => m.role === "assistant");
  return (said[at]?.tool_calls ?? []).slice(said.length - 1 - at);
};

// asksResult says what is to be typed next.
const asksResult = () => {
  const calls = open();
  $("say").placeholder = $("say-label").textContent = calls.length ? `Result of ${calls[0].function.name}` : writingOf(chatModel()).label;
};

// send sends what was typed, and shows the answer. After calls of tools that is the result of each.
const send = async () => {
  const text = $("say").value;
  const model = chatModel();
  if (!text.trim() || !model || running || !$("composer").reportValidity()) return;
  $("say").value = "";
  const calls = open();
  said.push(calls.length ? { role: "tool", tool_call_id: calls[0].id, content: text } : { role: "user", content: text });
  const mine = said;
  const question = turn(said.at(-1).role, text);
  asksResult();
  if (calls.length > 1) return;
  const { node, body } = turn("assistant", "");
  const answer = { text: "", thought: "", calls: [], end: "stopped", made: 0, first: 0, begin: performance.now() };
  node.ariaBusy = "true";
  const whole = await run("send", "stop", "chat-problem", (signal) => stream(model, signal, answer, body));
  node.ariaBusy = "false";
  if (mine !== said) return; // a new chat has begun
  const made = answer.text || answer.thought || answer.calls.length;
  if (!whole && !made) { // as if it had not been sent
    said.pop();
    question.node.remove();
    node.remove();
    $("chat-empty").hidden = said.length > 0;
    $("say").value ||= text;
    asksResult();
    return;
  }
  said.push({ role: "assistant", content: answer.text, ...(answer.thought && { reasoning_content: answer.thought }), ...(whole && answer.calls.length && { tool_calls: answer.calls }) });
  asksResult();
  if (!made) body.append(el("span", { className: "hint" }, "The answer is empty."));
  following(() => node.append(el("div", { className: "about" }, about(answer))));
  $("announce").textContent = whole ? "The answer is complete." : "The answer was stopped.";
};

// newChat forgets the conversation.
const newChat = () => {
  running?.abort();
  said = [];
  $("log").replaceChildren();
  $("chat-empty").hidden = false;
  show("chat-problem", "");
  chatChosen();
  $("say").focus();
};

$("composer").addEventListener("submit", (e) => {
  e.preventDefault();
  send();
});
$("say").addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || e.shiftKey || e.isComposing) return; // Enter also ends the composition of a character
  e.preventDefault();
  send();
});
$("stop").addEventListener("click", () => running?.abort());
$("chat-new").addEventListener("click", newChat);
$("chat-model").addEventListener("change", chatChosen);
