package verify

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/internal/tinyllama"
)

var wasm = flag.String("wasm", "", "a `folder` that .ci/step wasm makes: test attn verify as WebAssembly in Node and in Chromium")

// A claim is a receipt and the model that it is of. In forged somebody has changed an answer.
type claim struct{ receipt, forged, model string }

// claims returns receipts that were made on amd64: of a generation by a GGUF file, and of vectors
// by a folder.
func claims(t *testing.T) (list []claim) {
	if *wasm == "" {
		t.Skip("needs what .ci/step wasm makes")
	}
	dir := t.TempDir()
	bert := filepath.Join(dir, "bert-1") // a copy: attn keeps hashes beside a model
	if err := os.CopyFS(bert, os.DirFS("../../../testdata/tiny/bert-1")); err != nil {
		t.Fatal(err)
	}
	file := tinyllama.New(nil)
	file.AddVocabulary()
	for _, c := range []struct{ receipt, model, old, now string }{
		{"tiny.json", file.Write(t), `"tokens":[172,`, `"tokens":[173,`},
		{"texts.json", bert, `"hash":"9`, `"hash":"0`},
	} {
		data, err := os.ReadFile(filepath.Join("../../../receipt/testdata", c.receipt))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := bytes.Cut(data, []byte("\n")) // the others are of other models
		forged := bytes.Replace(first, []byte(c.old), []byte(c.now), 1)
		if bytes.Equal(forged, first) {
			t.Fatalf("%s has no %s", c.receipt, c.old)
		}
		x := claim{filepath.Join(dir, c.receipt), filepath.Join(dir, "forged-"+c.receipt), c.model}
		for name, data := range map[string][]byte{x.receipt: first, x.forged: forged} {
			if err := os.WriteFile(name, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, x)
	}
	return list
}

// verdict checks what is said of a receipt.
func verdict(t *testing.T, name, got string, forged bool) {
	t.Helper()
	want := "hold\n"
	if forged {
		want = "does not hold: "
	}
	if !strings.Contains(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// TestNode: the command verifies receipts in Node, built for js and for wasip1.
func TestNode(t *testing.T) {
	all := claims(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT RUN: attn verify in Node, which is not installed (apt-get install nodejs)")
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range [][]string{
		{filepath.Join(strings.TrimSpace(string(goroot)), "lib/wasm/wasm_exec_node.js"), filepath.Join(*wasm, "attn.wasm")},
		{"--no-warnings", filepath.Join(*wasm, "wasip1.mjs"), filepath.Join(*wasm, "wasip1.wasm")},
	} {
		for _, c := range all {
			for _, name := range []string{c.receipt, c.forged} {
				command := exec.Command(node, append(run, "verify", "-model", c.model, name)...)
				command.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
				out, err := command.CombinedOutput()
				want := 0
				if name == c.forged {
					want = fails
				}
				if status := command.ProcessState.ExitCode(); status != want {
					t.Errorf("%q: status %d, want %d: %v\n%s", command.Args, status, want, err, out)
				}
				verdict(t, strings.Join(command.Args, " "), string(out), name == c.forged)
			}
		}
	}
}

// report is added to the page: it tells the test what the page says in the end, and goes where the
// test says.
const report = `<script>
const timer = setInterval(async () => {
	const said = document.getElementById("verdict").textContent;
	if (said === "" || said.endsWith("…")) return;
	clearInterval(timer);
	const next = await fetch("/said", { method: "POST", body: said + "\n" + document.getElementById("output").textContent });
	location = await next.text();
}, 100);
</script>`

// TestChromium: the page verifies receipts in a browser.
func TestChromium(t *testing.T) {
	all := claims(t)
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = cmp.Or(path, found)
		}
	}
	if path == "" || runtime.GOOS == "windows" {
		t.Skip("NOT RUN: the page of attn verify, because chromium is not installed (apt-get install chromium)")
	}
	page, err := os.ReadFile(filepath.Join(*wasm, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	said, next := make(chan string, 1), make(chan string)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(*wasm)))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write(append(page[:len(page):len(page)], report...)) })
	mux.HandleFunc("POST /said", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		said <- string(text)
		io.WriteString(w, <-next)
	})
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir("/"))))
	s := httptest.NewServer(mux)
	browser := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--proxy-server=direct://",
		"--remote-debugging-port=0", "--user-data-dir="+t.TempDir(), s.URL+"/"+query(t, all[0].model, all[0].receipt))
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer browser.Wait()
	defer browser.Process.Kill()
	defer close(next) // no request waits any more
	for i, c := range all {
		for _, name := range []string{c.receipt, c.forged} {
			if i > 0 || name == c.forged {
				next <- "/" + query(t, c.model, name)
			}
			got := <-said
			verdict(t, name, got, name == c.forged)
			want := "All receipts hold."
			if name == c.forged {
				want = "A receipt does not hold."
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s: the page says %q, want %q", name, got, want)
			}
		}
	}
	next <- "about:blank"
}

// query asks the page for a receipt and the files of a model.
func query(t *testing.T, model, receipt string) string {
	query := url.Values{"receipts": {"/files" + receipt}}
	err := filepath.WalkDir(model, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".sha256.json") {
			query.Add("model", "/files"+path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return "?" + query.Encode()
}
