package server

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestClients asks with clients of others: those of OpenAI, Anthropic and Ollama from PyPI, and Vercel's AI SDK from npm. ATTN_PYTHON
// names a Python that has the first three, and ATTN_NODE_MODULES a folder with the last one:
//
//	python -m venv venv && venv/bin/pip install openai anthropic ollama
//	npm install @ai-sdk/open-responses ai
//	ATTN_PYTHON=$PWD/venv/bin/python ATTN_NODE_MODULES=$PWD/node_modules go test ./models/server -run TestClients -v
func TestClients(t *testing.T) {
	settings := fixed()
	settings.Keys = []Key{{"test", "the-key-of-this-test"}}
	settings.NewID = nil // answers that are kept have ids of their own
	web := httptest.NewServer(serverOf(t, settings, append(tinyModels(t, kernel.Exec{Threads: 1}, 16), tooled(t, kernel.Exec{Threads: 1}, 16))...))
	defer web.Close()
	scripts, err := filepath.Glob("testdata/*_client.*")
	if err != nil || len(scripts) < 4 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			program, modules := os.Getenv("ATTN_PYTHON"), ""
			if filepath.Ext(script) == ".mjs" {
				program, modules = "node", os.Getenv("ATTN_NODE_MODULES")
			}
			if program == "" || program == "node" && modules == "" {
				t.Skip("NOT RUN: ATTN_PYTHON or ATTN_NODE_MODULES does not name where the client is")
			}
			path, err := filepath.Abs(script)
			if err != nil {
				t.Fatal(err)
			}
			c := exec.CommandContext(t.Context(), program, path, web.URL)
			if modules != "" { // modules are found beside the script
				c.Args[1] = filepath.Join(t.TempDir(), filepath.Base(script))
				if err := os.Symlink(modules, filepath.Join(filepath.Dir(c.Args[1]), "node_modules")); err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(c.Args[1], data, 0o666)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
