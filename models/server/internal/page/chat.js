// The view of conversations.

let said = []; // messages of the conversation, as the API takes them

// The two ways to let a language model write: with a chat template, and without one.
const writing = {
  chat: {
    path: "v1/chat/completions",
    label: "Message",
    prompt: (system) => ({ messages: [...(system ? [{ role: "system", content: system }] : []), ...said] }),
    text: (choice) => choice.delta.content,
  },
  completion: {
    path: "v1/completions",
    label: "Text to continue",
    prompt: () => ({ prompt: said.at(-1).content }),
    text: (choice) => choice.text,
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
  $("system-field").hidden = way !== writing.chat;
  for (const [id, value] of [["temperature", model.defaults.temperature], ["most", model.defaults.max_tokens], ["seed", model.defaults.seed]]) $(id).placeholder = value;
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

// turn adds a message to the log.
const turn = (role, text) => {
  const body = el("div", { className: "text" }, text);
  const node = el("div", { className: "turn " + role }, el("span", { className: "unseen" }, role === "user" ? "You:" : "Answer:"), body);
  $("chat-empty").hidden = true;
  $("log").append(node);
  document.documentElement.scrollTop = document.documentElement.scrollHeight;
  return { node, body };
};

const endings = { stop: "", length: "cut at the most tokens" };

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
  const text = body.appendChild(document.createTextNode(""));
  const response = await call(way.path, { model: model.id, ...way.prompt($("system").value), ...settings(), stream: true, stream_options: { include_usage: true } }, signal);
  for await (const event of events(response, signal)) {
    answer.fingerprint = event.system_fingerprint;
    answer.usage = event.usage ?? answer.usage;
    const choice = event.choices[0];
    if (!choice) continue;
    const added = way.text(choice);
    if (added) {
      answer.last = performance.now();
      answer.first ||= answer.last;
      answer.made++;
      answer.text += added;
      following(() => text.appendData(added));
    }
    if (choice.finish_reason) answer.end = endings[choice.finish_reason] ?? choice.finish_reason;
  }
};

// send sends what was typed, and shows the answer.
const send = async () => {
  const text = $("say").value;
  const model = chatModel();
  if (!text.trim() || !model || running || !$("composer").reportValidity()) return;
  $("say").value = "";
  said.push({ role: "user", content: text });
  const mine = said;
  const question = turn("user", text);
  const { node, body } = turn("assistant", "");
  const answer = { text: "", end: "stopped", made: 0, first: 0, begin: performance.now() };
  node.ariaBusy = "true";
  const whole = await run("send", "stop", "chat-problem", (signal) => stream(model, signal, answer, body));
  node.ariaBusy = "false";
  if (mine !== said) return; // a new chat has begun
  if (!whole && !answer.text) { // as if it had not been sent
    said.pop();
    question.node.remove();
    node.remove();
    $("chat-empty").hidden = said.length > 0;
    $("say").value ||= text;
    return;
  }
  said.push({ role: "assistant", content: answer.text });
  if (!answer.text) body.append(el("span", { className: "hint" }, "The answer is empty."));
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
