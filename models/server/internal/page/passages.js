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
    if (space >= 0 && space < at + 40 && space < text.length - 1) return space;
    return /[\udc00-\udfff]/.test(text[at]) ? at + 1 : at; // the second half of a character
  };
  const first = text.slice(0, near(Math.ceil(text.length * 0.55))).trim();
  const second = text.slice(near(Math.floor(text.length * 0.4))).trim();
  return first.length < text.length && second.length < text.length ? [first, second] : undefined;
};

// windows calls work with passages, and cuts those that the model does not see as a whole. It returns windows with their results, and with
// the index of the passage that each is of.
const windows = (list, work, limit = { characters: Infinity }) => worked(list.map((text, index) => [text, index]), work, limit);

const worked = async (list, work, limit) => {
  const parts = list.flatMap(([text, index]) => (text.length >= limit.characters ? (halves(text) ?? [text]) : [text]).map((part) => [part, index]));
  if (parts.length > list.length) return worked(parts, work, limit);
  try {
    const results = await work(parts.map(([text]) => text));
    return parts.map(([text, index], i) => [text, results[i], index]);
  } catch (e) {
    if (e.code !== "context_length_exceeded") throw e;
    if (parts.length > 1) {
      const half = parts.length >> 1;
      return [...(await worked(parts.slice(0, half), work, limit)), ...(await worked(parts.slice(half), work, limit))];
    }
    const [[text]] = parts;
    limit.characters = Math.min(limit.characters, text.length);
    if (!halves(text)) throw e;
    return worked(parts, work, limit);
  }
};
