// Passages of a text that is searched.

// mark begins a line that goes not on from the one before it.
const mark = /^\s*([-*+•#>|]|\d{1,3}[.)]|\()\s?/;

// joined returns the lines of a paragraph, those that were broken at a width put together again: a line that is about as long as the longest one
// and has no end of a sentence goes on in the next one.
const joined = (paragraph) => {
  const lines = paragraph.split("\n").map((l) => l.trim()).filter(Boolean);
  const width = Math.max(...lines.map((l) => l.length));
  const list = [];
  let open = false;
  for (const line of lines) {
    if (open && !mark.test(line)) list[list.length - 1] += " " + line;
    else list.push(line);
    open = width >= 40 && line.length >= 0.6 * width;
  }
  return list;
};

// passagesOf cuts a text.
const passagesOf = (text, by) => {
  const paragraphs = text.replaceAll("\r\n", "\n").split(/\n\s*\n/);
  const segments = (line) => Array.from(new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(line), (s) => s.segment);
  const list = { paragraph: () => paragraphs, line: () => text.split("\n"), sentence: () => paragraphs.filter((p) => p.trim()).flatMap(joined).flatMap(segments) }[by]();
  return list.map((s) => s.trim()).filter(Boolean);
};

// halves cuts a passage into two that overlap, between words if there are any, or returns nothing if it is too short for that.
const halves = (text) => {
  if (text.length < 16) return undefined;
  const near = (at) => {
    const space = text.indexOf(" ", at);
    return space >= 0 && space < at + 40 && space < text.length - 1 ? space : at;
  };
  const first = text.slice(0, near(Math.ceil(text.length * 0.55))).trim();
  const second = text.slice(near(Math.floor(text.length * 0.4))).trim();
  return first.length < text.length && second.length < text.length ? [first, second] : undefined;
};

// windows calls work with passages, and cuts those that the model does not see as a whole: it returns passages with their results.
const windows = async (list, work, limit = { characters: Infinity }) => {
  const parts = list.flatMap((p) => (p.length >= limit.characters ? (halves(p) ?? [p]) : [p]));
  if (parts.length > list.length) return windows(parts, work, limit);
  try {
    const results = await work(parts);
    return parts.map((p, i) => [p, results[i]]);
  } catch (e) {
    if (e.code !== "context_length_exceeded") throw e;
    if (parts.length > 1) {
      const half = parts.length >> 1;
      return [...(await windows(parts.slice(0, half), work, limit)), ...(await windows(parts.slice(half), work, limit))];
    }
    limit.characters = Math.min(limit.characters, parts[0].length);
    if (!halves(parts[0])) throw e;
    return windows(parts, work, limit);
  }
};
