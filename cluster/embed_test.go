//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/encoder/berttest"
)

// embedWorker starts a worker that embeds with a small model.
func embedWorker(t *testing.T, folder, url, name string) *process {
	t.Helper()
	p, _ := startProcess(t, "answers with the fingerprint", "answer", "-name", name, "-model", "m="+folder, "-server", url)
	return p
}

// TestEmbed embeds lines of standard input with processes of the command. The network of one
// worker is cut again and again while it works.
func TestEmbed(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), t.TempDir()
	if err := berttest.New("").Write(folder, "F32"); err != nil {
		t.Fatal(err)
	}
	const texts = 4000
	var input strings.Builder
	for i := range texts {
		fmt.Fprintln(&input, strings.Repeat("a b", i%4), strings.Repeat("c", i%5))
	}
	p := startProcesses(t)
	var far network
	embedWorker(t, folder, p.url, "near")
	embedWorker(t, folder, testutil.Proxy(t, p.url, far.pass), "far")
	name := filepath.Join(dir, "v.jsonl")
	done := make(chan error, 1)
	var report bytes.Buffer
	go func() {
		done <- run(t.Context(), streams{strings.NewReader(input.String()), &report, &report},
			[]string{"embed", "-server", p.url, "-job-texts", "4", "-retry", "500ms", "-o", name})
	}()
	var err error
	for ended := false; !ended; {
		far.Lock()
		select {
		case err = <-done:
			ended = true
		case <-time.After(700 * time.Millisecond): // longer than -retry
		}
		far.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil || !strings.Contains(report.String(), "4000 texts of which 0 are rejected") {
		t.Fatalf("%v\n%s", err, report.String())
	}

	checkVectors(t, name, folder, strings.Split(strings.TrimSuffix(input.String(), "\n"), "\n"))
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("files %v, want one", files)
	}
}

// checkVectors compares a file of vectors with those of a model in this process.
func checkVectors(t *testing.T, name, folder string, texts []string) {
	t.Helper()
	if err := compareVectors(t.Context(), name, folder, texts); err != nil {
		t.Fatal(err)
	}
}

// compareVectors returns an error if a file has other vectors than a model in this process.
func compareVectors(ctx context.Context, name, folder string, texts []string) error {
	e, err := encoder.Load(folder, encoder.LoadOptions{})
	if err != nil {
		return err
	}
	want, err := e.Embed(ctx, texts)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	rows := json.NewDecoder(bytes.NewReader(data))
	for i := range texts {
		var row struct {
			Position  int
			Source    string
			Embedding []float32
		}
		if err := rows.Decode(&row); err != nil {
			return err
		}
		if row.Position != i || row.Source != fmt.Sprintf("stdin:%d", i+1) || !sameBits(row.Embedding, want[i]) {
			return fmt.Errorf("row %d is %+v, want %v", i, row, want[i])
		}
	}
	if rows.More() {
		return errors.New("there are more rows than texts")
	}
	return nil
}

// TestEmbedUsage expects errors about command lines before anything is connected, and about
// options before anything is written.
func TestEmbedUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"-o"}, {"-o", "v.npy", "-o", "w.npy"}, {"-window", "x", "-o", "v.npy"}} {
		if _, _, err := runCommand(t.Context(), append([]string{"embed"}, args...)...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: got %v, want a usage error", args, err)
		}
	}
	p := startProcesses(t)
	if _, _, err := runCommand(t.Context(), "embed", "-server", p.url, "-o", "v.csv"); !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), ".npy") {
		t.Errorf("got %v, want a usage error", err)
	}
}
