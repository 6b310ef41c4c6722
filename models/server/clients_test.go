package server

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
)

// TestOpenAIClient asks with OpenAI's client from PyPI. ATTN_PYTHON names a Python that has it:
//
//	python -m venv venv && venv/bin/pip install openai
//	ATTN_PYTHON=$PWD/venv/bin/python go test ./models/server -run TestOpenAIClient -v
func TestOpenAIClient(t *testing.T) {
	python := os.Getenv("ATTN_PYTHON")
	if python == "" {
		t.Skip("NOT RUN: ATTN_PYTHON names no Python with the package openai")
	}
	settings := fixed()
	settings.Keys = []Key{{"test", "the-key-of-this-test"}}
	web := httptest.NewServer(newServer(t, settings))
	defer web.Close()
	out, err := exec.CommandContext(t.Context(), python, "testdata/openai_client.py", web.URL).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}
