package server

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestClients asks with the clients of OpenAI, Anthropic and Ollama, LiteLLM and lm-eval from PyPI,
// Vercel's AI SDK from npm, and Ollama's client in Go. ATTN_PYTHON names a Python that has the
// first ones, ATTN_NODE_MODULES a folder of npm, and ATTN_GO_MODULE one whose go.mod requires the
// last one:
//
//	python -m venv venv && venv/bin/pip install openai anthropic ollama litellm 'lm-eval[api]'
//	npm install @ai-sdk/open-responses ai
//	mkdir m && cd m && go mod init m && go get github.com/ollama/ollama/api && cd ..
//	export ATTN_PYTHON=$PWD/venv/bin/python ATTN_NODE_MODULES=$PWD/node_modules
//	ATTN_GO_MODULE=$PWD/m go test ./models/server -run TestClients -v
func TestClients(t *testing.T) {
	settings := fixed()
	settings.Keys = []Key{{"test", "the-key-of-this-test"}}
	settings.NewID = nil // answers that are kept have ids of their own
	models := append(tinyModels(t, kernel.Exec{Threads: 1}, 16), tooled(t, kernel.Exec{Threads: 1}, 16))
	web := httptest.NewServer(serverOf(t, settings, models...))
	defer web.Close()
	one := httptest.NewServer(serverOf(t, settings, tinyModels(t, kernel.Exec{Threads: 1}, 16)[0])) // lm-eval does not say of which model it asks for tokens
	defer one.Close()
	scripts, err := filepath.Glob("testdata/*_client.*")
	if err != nil || len(scripts) < 7 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			variable := map[string]string{".py": "ATTN_PYTHON", ".mjs": "ATTN_NODE_MODULES", ".go": "ATTN_GO_MODULE"}[filepath.Ext(script)]
			where := os.Getenv(variable)
			if where == "" {
				t.Skipf("NOT RUN: %s does not name where the client is", variable)
			}
			path, err := filepath.Abs(script)
			if err != nil {
				t.Fatal(err)
			}
			url := web.URL
			if strings.HasPrefix(filepath.Base(script), "lm_eval") {
				url = one.URL
			}
			c := exec.CommandContext(t.Context(), where, path, url)
			switch variable {
			case "ATTN_GO_MODULE":
				c = exec.CommandContext(t.Context(), "go", "run", "-mod=mod", path, url)
				c.Dir, c.Env = where, append(os.Environ(), "GOWORK=off")
			case "ATTN_NODE_MODULES": // modules are found beside the script
				own := filepath.Join(t.TempDir(), filepath.Base(script))
				if err := os.Symlink(where, filepath.Join(filepath.Dir(own), "node_modules")); err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(own, data, 0o666)
				}
				if err != nil {
					t.Fatal(err)
				}
				c = exec.CommandContext(t.Context(), "node", own, url)
			}
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
