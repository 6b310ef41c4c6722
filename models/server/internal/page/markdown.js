// Markdown of answers: a part of it, as a tree of strings and of [tag, properties, ...children], from which grow makes
// elements. HTML in it is text, links lead to the web alone, and images are links.

const inlineForms = [
  [/^\\([!-/:-@[-`{-~])/, (m) => m[1]],
  [/^(`+)(?!`)([\s\S]*?[^`])\1(?!`)/, (m) => ["code", {}, m[2].replace(/^ (.*\S.*) $/, "$1")]],
  [/^\*\*(?=\S)([\s\S]*?\S)\*\*(?!\*)/, (m) => ["strong", {}, ...inline(m[1])]],
  [/^__(?=\S)([\s\S]*?\S)__(?![\w_])/, (m) => ["strong", {}, ...inline(m[1])], true],
  [/^\*(?=[^\s*])([\s\S]*?[^\s*])\*(?!\*)/, (m) => ["em", {}, ...inline(m[1])]],
  [/^_(?=[^\s_])([\s\S]*?[^\s_])_(?!\w)/, (m) => ["em", {}, ...inline(m[1])], true],
  [/^~~(?=\S)([\s\S]*?\S)~~/, (m) => ["del", {}, ...inline(m[1])]],
  [/^!?\[([^[\]]*)\]\(\s*<?([^\s()<>]+)>?(?:\s+"[^"]*")?\s*\)/, (m) => link(m[2], inline(m[1]), m[0])],
  [/^<(https?:\/\/[^\s<>]+)>/, (m) => link(m[1], [m[1]], m[0])],
];

// link returns a link to the web, or the text as it is.
const link = (to, children, text) => (/^(https?:\/\/|mailto:)/i.test(to) ? ["a", { href: to, target: "_blank", rel: "noopener noreferrer" }, ...children] : text);

// inline returns what a text within a block consists of.
const inline = (text) => {
  const list = [];
  let plain = "";
  for (let i = 0; i < text.length; ) {
    let found;
    if (/[\\`*_~!<[]/.test(text[i])) {
      const rest = text.slice(i, i + 4000); // what is longer stays as it is, so that no answer takes long
      const inWord = i > 0 && /\w/.test(text[i - 1]);
      for (const [form, make, atWord] of inlineForms) {
        const m = !(atWord && inWord) && form.exec(rest);
        if (m) {
          found = { node: make(m), length: m[0].length };
          break;
        }
      }
    }
    if (found && typeof found.node !== "string") {
      if (plain) list.push(plain);
      plain = "";
      list.push(found.node);
    } else {
      plain += found ? found.node : text[i];
    }
    i += found ? found.length : 1;
  }
  if (plain) list.push(plain);
  return list;
};

const item = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((s) => s.trim().replaceAll("\\|", "|"));

// The blocks that begin at line i of a text, and the line after each: nothing here looks at the lines behind that again.

// fence returns a block of code; without an end it goes on to the last line.
const fence = (lines, i, m) => {
  let end = i + 1;
  const closes = new RegExp(`^ {0,3}\\${m[2][0]}{${m[2].length},}\\s*$`);
  while (end < lines.length && !closes.test(lines[end])) end++;
  const code = lines.slice(i + 1, end).map((l) => (l.startsWith(m[1]) ? l.slice(m[1].length) : l));
  return [["pre", {}, ["code", { lang: /^[\w+#.-]*/.exec(m[3].trim())[0] }, code.join("\n")]], end + 1];
};

// listOf returns a list, with what is indented below its items.
const listOf = (lines, i, depth) => {
  const kind = (m) => (/\d/.test(m[2]) ? "ol" : "ul");
  const first = item.exec(lines[i]);
  const sibling = (line) => {
    const m = item.exec(line);
    return m && m[1].length < first[1].length + 2 && m;
  };
  const list = [kind(first), first[2].length > 1 ? { start: parseInt(first[2], 10) } : {}];
  for (let m; i < lines.length && (m = sibling(lines[i])) && kind(m) === list[0]; ) {
    const width = m[1].length + m[2].length + Math.min(Math.max(m[3].length, 1), 4);
    const own = [lines[i].slice(Math.min(width, lines[i].length))];
    for (i++; i < lines.length && !sibling(lines[i]) && (lines[i].trim() ? /^ {2,}/.test(lines[i]) || (own.at(-1).trim() && !starts(lines[i])) : lines[i + 1]?.startsWith("  ")); i++) {
      own.push(lines[i].replace(new RegExp(`^ {1,${width}}`), ""));
    }
    const inner = blocks(own, depth + 1);
    list.push(["li", {}, ...(inner.length && inner[0][0] === "p" ? [...inner[0].slice(2), ...inner.slice(1)] : inner)]);
    while (i + 1 < lines.length && !lines[i].trim() && sibling(lines[i + 1])) i++;
  }
  return [list, i];
};

// tableOf returns a table.
const tableOf = (lines, i) => {
  const row = (line, tag) => ["tr", {}, ...cells(line).map((c) => [tag, {}, ...inline(c)])];
  let end = i + 2;
  while (end < lines.length && lines[end].includes("|")) end++;
  return [["table", {}, ["thead", {}, row(lines[i], "th")], ["tbody", {}, ...lines.slice(i + 2, end).map((l) => row(l, "td"))]], end];
};

// These take time in proportion to a line: no two neighbours in them match the same character.
const fenced = /^( {0,3})(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/;
const heading = /^ {0,3}(#{1,6})\s+(\S[^]*)?$/;
const isRule = (line) => {
  const marks = /^ {0,3}[-*_][-*_\s]*$/.test(line) ? line.replace(/\s/g, "") : "";
  return marks.length >= 3 && marks === marks[0].repeat(marks.length);
};
const quote = /^ {0,3}> ?/;
const isTable = (lines, i) => lines[i].includes("|") && /^[\s|:-]+$/.test(lines[i + 1] ?? "") && lines[i + 1].includes("-") && lines[i + 1].includes("|");

// titleOf returns what a heading says, without the marks that may close it.
const titleOf = (text) => {
  text = text.trimEnd();
  let end = text.length;
  while (end > 0 && text[end - 1] === "#") end--;
  return text.slice(0, end).trimEnd();
};

// starts tells whether a line begins a block other than a paragraph.
const starts = (line) => fenced.test(line) || heading.test(line) || isRule(line) || quote.test(line) || item.test(line);

// blocks returns what lines consist of. What is nested deeper than anybody reads is text.
const blocks = (lines, depth) => {
  const list = [];
  for (let i = 0; i < lines.length; ) {
    let m, block, end = i + 1;
    if (!lines[i].trim()) {
      i++;
      continue;
    }
    if ((m = fenced.exec(lines[i]))) {
      [block, end] = fence(lines, i, m);
    } else if ((m = heading.exec(lines[i]))) {
      block = [`h${Math.min(6, m[1].length + 2)}`, {}, ...inline(titleOf(m[2] ?? ""))];
    } else if (isRule(lines[i])) {
      block = ["hr", {}];
    } else if (quote.test(lines[i]) && depth < 8) {
      while (end < lines.length && lines[end].trim() && (quote.test(lines[end]) || !starts(lines[end]))) end++;
      block = ["blockquote", {}, ...blocks(lines.slice(i, end).map((l) => l.replace(quote, "")), depth + 1)];
    } else if (item.test(lines[i]) && depth < 8) {
      [block, end] = listOf(lines, i, depth);
    } else if (isTable(lines, i)) {
      [block, end] = tableOf(lines, i);
    } else {
      while (end < lines.length && lines[end].trim() && !starts(lines[end]) && !isTable(lines, end)) end++;
      block = ["p", {}, ...inline(lines.slice(i, end).join("\n"))];
    }
    list.push(block);
    i = end;
  }
  return list;
};

// markdown returns the tree of a text.
const markdown = (text) => blocks(text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n"), 0);

// grow makes elements of a tree. Strings become text, never HTML.
const grow = (tree) => tree.map((node) => (typeof node === "string" ? node : el(node[0], node[1], ...grow(node.slice(2)))));
