package page

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// stub stands for the document and for main.js, the only part of the script that does something by
// itself.
const stub = `const fields = {};
const document = { getElementById: (id) => (fields[id] ??= { value: "", addEventListener() {} }) };
let models = [];
`

// runScript evaluates an expression after the script, and decodes its JSON.
func runScript(t *testing.T, expression string, to any) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT RUN: functions of the page, because node is not installed (apt-get install nodejs)")
	}
	var parts []string
	for _, name := range scripts[:len(scripts)-1] {
		parts = append(parts, read(name))
	}
	cmd := exec.Command(node, "-")
	cmd.Stdin = strings.NewReader(stub + strings.Join(parts, "") + "(async () => process.stdout.write(JSON.stringify(await (" + expression + "))))();")
	out, err := cmd.CombinedOutput()
	if err == nil {
		err = json.Unmarshal(out, to)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", expression, err, out)
	}
}

// TestMarkdown: what is written in answers, as HTML would have it.
func TestMarkdown(t *testing.T) {
	cases := [][2]string{
		{"# Title\n\ntext **bold** *it* `a<b`", "<h3>Title</h3><p>text <strong>bold</strong> <em>it</em> <code>a&lt;b</code></p>"},
		{"one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"},
		{"```go\nfunc main() {\n\n  *p = \"<b>\"\n}\n```\nafter", "<pre><code>func main() {\n\n  *p = \"&lt;b>\"\n}</code></pre><p>after</p>"},
		{"```\nnot closed\n# yet", "<pre><code>not closed\n# yet</code></pre>"},
		{"~~~~\n```\n~~~~", "<pre><code>```</code></pre>"},
		{"- a\n- b\n  - c\n  - d\n- e\n\n1. x\n2. y", "<ul><li>a</li><li>b<ul><li>c</li><li>d</li></ul></li><li>e</li></ul><ol><li>x</li><li>y</li></ol>"},
		{"1. a\n\n   ```\n   code\n   ```\n\n2. b", "<ol><li>a<pre><code>code</code></pre></li><li>b</li></ol>"},
		{"> a\n> b\n\nc", "<blockquote><p>a\nb</p></blockquote><p>c</p>"},
		{"| a | b |\n|---|:-:|\n| 1 | `x` |", "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>x</code></td></tr></tbody></table>"},
		{"# a ##\n## # b# \n#\n# ", "<h3>a</h3><h4># b</h4><p>#</p><h3></h3>"}, {"~~~ c++ x\na\n~~~~\n# b", "<pre><code>a</code></pre><h3>b</h3>"},
		{"a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"},
		{"[a](https://x.y/?q=1&r) <https://z.y> ![i](http://i.j/k.png)", `<p><a href="https://x.y/?q=1&r">a</a> <a href="https://z.y">https://z.y</a> <a href="http://i.j/k.png">i</a></p>`},
		{"snake_case_name and __init__ \\*no\\* 2 * 3 * 4", "<p>snake_case_name and <strong>init</strong> *no* 2 * 3 * 4</p>"},
		// Nothing of this is more than text.
		{"<script>alert(1)</script>", "<p>&lt;script>alert(1)&lt;/script></p>"},
		{"<img src=x onerror=alert(1)> &lt;b&gt;", "<p>&lt;img src=x onerror=alert(1)> &lt;b&gt;</p>"},
		{"[a](javascript:alert(1)) [b](data:text/html,x) [c](//x.y) [d](JavaScript:x) <javascript:x>", "<p>[a](javascript:alert(1)) [b](data:text/html,x) [c](//x.y) [d](JavaScript:x) &lt;javascript:x></p>"},
		{"[a](https://x.y\"onclick=\"alert) ```\"><script>", "<p><a href=\"https://x.y%22onclick=%22alert\">a</a> ```\">&lt;script></p>"},
	}
	list, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	runScript(t, string(list)+`.map(([text]) => {
		const html = (n) => typeof n === "string" ? n.replaceAll("<", "&lt;") : "<" + n[0] + (n[1].href ? ' href="' + n[1].href.replaceAll('"', "%22") + '"' : "") + ">" + (n[0] === "hr" ? "" : n.slice(2).map(html).join("") + "</" + n[0] + ">");
		return markdown(text).map(html).join("");
	})`, &got)
	for i, c := range cases {
		if got[i] != c[1] {
			t.Errorf("%q: %s\nwant %s", c[0], got[i], c[1])
		}
	}
}

// TestMarkdownIsSafe: whatever a text is, its tree has no other tags and properties than these,
// links to the web alone, and no letter is lost except in marks.
func TestMarkdownIsSafe(t *testing.T) {
	var problems []string
	runScript(t, `(() => {
		const tags = new Set("p h3 h4 h5 h6 strong em del code pre a ul ol li blockquote table thead tbody tr th td hr".split(" "));
		const props = { a: ["href", "target", "rel"], ol: ["start"], code: ["lang"] };
		const pieces = ["*", "**", "_", "__", "~~", "`+"`"+`", "`+"```"+`", "[", "](", ")", "!", "<", ">", "\\", "|", "-", "- ", "1. ", "> ", "# ", "\n", "\n\n", "  ", "    ", "a", "b c", "https://x.y", "javascript:x", "<b onclick=x>", "---", "é", "𝄞", "\u2028", "\t", "\r\n"];
		const problems = [];
		let seed = 1;
		const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
		const check = (n) => {
			if (typeof n === "string") return n;
			const [tag, p, ...children] = n;
			if (!tags.has(tag) || Object.keys(p).some((k) => !(props[tag] ?? []).includes(k)) || (p.href && !/^(https?:\/\/|mailto:)/i.test(p.href))) problems.push(JSON.stringify(n));
			return children.map(check).join("");
		};
		const letters = (s) => s.replace(/[^a-zé𝄞]/gu, "").length;
		for (let i = 0; i < 20000; i++) {
			const text = Array.from({ length: random(40) }, () => pieces[random(pieces.length)]).join("");
			try {
				const said = letters(markdown(text).map(check).join(""));
				if (said > letters(text)) problems.push("more letters: " + JSON.stringify(text));
				if (!/https|javascript|`+"```|~~~"+`/.test(text) && said < letters(text)) problems.push("letters are lost: " + JSON.stringify(text));
			} catch (e) {
				problems.push(e.stack + JSON.stringify(text));
			}
		}
		// Time is linear in the length of a line, or else the test would not end.
		const n = 1000000;
		const lines = ["# a" + " ".repeat(n) + "b\rc", "#".repeat(n), "# " + "#".repeat(n) + "a", "|a\n|" + "-".repeat(n) + "x", "~~~" + "a".repeat(n) + "`+"`"+`", "~~~" + " ".repeat(n) + "`+"`"+`", "- - ".repeat(n) + "x"];
		for (const text of [...lines, "* item\n\npara\n".repeat(n / 10)]) markdown(text).map(check);
		for (const text of ["> ".repeat(5000), "- ".repeat(5000), "*a ".repeat(5000), "[".repeat(20000), "`+"`"+`".repeat(20000), "| ".repeat(20000) + "\n" + "|-".repeat(20000)]) markdown(text).map(check);
		return problems.slice(0, 5);
	})()`, &problems)
	for _, p := range problems {
		t.Error(p)
	}
}

// TestPassages: sentences go on over the ends of lines that were broken at a width, and other lines
// do not; what is too long for the model is cut into windows that overlap.
func TestPassages(t *testing.T) {
	for _, c := range []struct {
		by, text string
		want     []string
	}{
		{"sentence", "This is a sentence that goes over the end of\na line, as it was broken there. And another\none. Short.", []string{"This is a sentence that goes over the end of a line, as it was broken there.", "And another one.", "Short."}},
		{"sentence", "- one thing that is as long as the other ones are\n- another thing that is as long as the first one\n\na\nb", []string{"- one thing that is as long as the other ones are", "- another thing that is as long as the first one", "a", "b"}},
		{"sentence", "one\r\n\r\ntwo three", []string{"one", "two three"}},
		{"line", "a\n\nb c", []string{"a", "b c"}}, {"paragraph", "a\nb\n\nc", []string{"a\nb", "c"}}, {"sentence", " \n\n ", []string{}},
	} {
		args, err := json.Marshal([]string{c.text, c.by})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if runScript(t, "passagesOf(..."+string(args)+")", &got); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q in %ss: %q, want %q", c.text, c.by, got, c.want)
		}
	}
	var got struct {
		Parts [][]any
		Calls int
		Error string
	}
	runScript(t, `(async () => {
		const most = 60;
		let calls = 0;
		const work = async (list) => {
			calls++;
			if (list.some((p) => p.length > most)) throw Object.assign(new Error("too long"), { code: "context_length_exceeded" });
			return list.map((p) => p.length);
		};
		const long = Array.from({ length: 60 }, (_, i) => "word" + i).join(" ");
		const parts = await windows(["short", long, "x".repeat(150), "end"], work);
		const error = await windows(["a"], () => { throw Object.assign(new Error("always"), { code: "context_length_exceeded" }); }).catch((e) => e.message);
		return { parts, calls, error };
	})()`, &got)
	seen := map[string]bool{}
	for _, p := range got.Parts {
		text := p[0].(string)
		if len(text) > 60 || float64(len(text)) != p[1].(float64) {
			t.Errorf("a window has %d characters and the result %v", len(text), p[1])
		}
		for _, word := range strings.Fields(text) {
			seen[word] = true
		}
	}
	for _, word := range []string{"short", "end", "word0", "word30", "word59"} {
		if !seen[word] {
			t.Errorf("%s is in no window", word)
		}
	}
	if got.Parts[0][0] != "short" || got.Parts[len(got.Parts)-1][0] != "end" || got.Error != "always" || got.Calls > 40 {
		t.Errorf("%d calls, the error %q, %v", got.Calls, got.Error, got.Parts)
	}
}

// TestWindowsOfPassages: a window is of the passage that it was cut from, also if another passage
// has its text, and no character is cut into two.
func TestWindowsOfPassages(t *testing.T) {
	const short, long = "one two three four five six seven eight nine ten eleven twelve", "He wrote: one two three four five six seven eight nine ten eleven twelve and so on and on"
	list, err := json.Marshal([][]string{{long, short}, {short, long}, {strings.Repeat("a", 16) + strings.Repeat("𝄞", 32)}, {strings.Repeat("a", 17) + strings.Repeat("𝄞", 33)}})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	runScript(t, `(async () => {
		globalThis.fetch = async (_, { body }) => {
			const { input } = JSON.parse(body);
			const long = input.some((text) => text.length > 40);
			const answer = long ? { error: { message: "long", code: "context_length_exceeded" } } : { data: input.map(() => ({ embedding: btoa("\x00\x00\x80?") })) };
			return { ok: !long, headers: { get: () => "" }, json: async () => answer, text: async () => JSON.stringify(answer) };
		};
		const all = [];
		for (const list of `+string(list)+`) all.push((await byVectors({ id: list[0], system_fingerprint: "f" }, "q", list)).map(({ text }) => text));
		return all;
	})()`, &got)
	if len(got[0]) < 4 || len(got[0]) != len(got[1]) {
		t.Errorf("the windows %q and %q, want as many", got[0], got[1])
	}
	if text := strings.Join(slices.Concat(got[2:]...), ""); strings.ContainsRune(text, '\uFFFD') || len(got[2]) < 2 {
		t.Errorf("windows %q", got[2:])
	}
}

// TestFrames: an answer is drawn once a frame, and as a whole in the end, also if there are no
// frames.
func TestFrames(t *testing.T) {
	var got []int
	runScript(t, `(() => {
		const frames = [];
		globalThis.requestAnimationFrame = (draw) => frames.push(draw);
		const seen = [];
		let made = 0;
		const drawn = framed(() => seen.push(made));
		for (; made < 3; made++) drawn.later();
		frames.pop()(0);
		drawn.now();
		for (; made < 5; made++) drawn.later();
		drawn.now();
		frames.pop()(0);
		return [...seen, frames.length];
	})()`, &got)
	if want := []int{3, 5, 0}; !slices.Equal(got, want) {
		t.Errorf("drawn at %d, want %d", got, want)
	}
}

// TestChosenModel: the view of conversations shows what a model takes that is not loaded, and of
// which little may be known.
func TestChosenModel(t *testing.T) {
	var got []string
	runScript(t, `(() => {
		$("chat-model").value = "a";
		return [[["chat"], { temperature: 0.5, max_tokens: 7, seed: 1 }], [["completion"], undefined]].flatMap(([tasks, defaults]) => {
			models = [{ id: "a", kind: "generator", loaded: false, tasks, defaults }];
			chatChosen();
			return [fields.say.placeholder, String(fields.most.placeholder)];
		});
	})()`, &got)
	if strings.Join(got, "|") != "Message|7|Text to continue|" {
		t.Errorf("%q", got)
	}
}
