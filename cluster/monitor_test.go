//go:build unix

package main

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/encoder/berttest"
)

// metricsURL returns the address in a line of -metrics, without the path.
func metricsURL(line string) string {
	_, url, _ := strings.Cut(line, "metrics at ")
	return strings.TrimSuffix(url, "/metrics")
}

// httpGet returns what a monitor answers.
func httpGet(t *testing.T, url string) (status int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(data)
}

// eventually asks until the answer has a status and all texts.
func eventually(t *testing.T, url string, status int, texts ...string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got, body := httpGet(t, url)
		lacks := ""
		for _, text := range texts {
			if !strings.Contains(body, text) {
				lacks = text
			}
		}
		if got == status && lacks == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: status %d, want %d; lacks %q:\n%s", url, got, status, lacks, body)
		}
	}
}

// The monitors of a server and a worker have what they do, and say when it cannot be done.
func TestMonitor(t *testing.T) {
	t.Parallel()
	p := &processes{t: t, workers: map[string]*process{}}
	server, line := startProcess(t, "metrics at", "serve", "-port", "-1", "-metrics", "0")
	ofServer := metricsURL(line)
	for line := range server.lines {
		if _, url, ok := strings.Cut(line, "listening on "); ok {
			p.url = url
			break
		}
	}
	worker, line := startProcess(t, "metrics at", "work", "-name", "a", "-server", p.url, "-metrics", ":0")
	ofWorker := metricsURL(line)
	for _, url := range []string{ofServer, ofWorker} {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Errorf("%s is not for this machine alone", url)
		}
		eventually(t, url+"/readyz", http.StatusOK, "ok")
		if status, body := httpGet(t, url+"/healthz"); status != http.StatusOK || body != "ok\n" {
			t.Errorf("%s/healthz: %d %s", url, status, body)
		}
		if status, _ := httpGet(t, url+"/debug/pprof/"); status != http.StatusNotFound {
			t.Errorf("%s has more than its paths: %d", url, status)
		}
	}
	p.texts(1, 600).steps(t, 3)
	eventually(t, ofServer+"/metrics", http.StatusOK, `attn_cluster_info{command="serve",`, "attn_cluster_server_connections 2\n", "attn_cluster_server_stored_limit_bytes{storage=\"file\"} 1.7179869184e+10\n")
	eventually(t, ofWorker+"/metrics", http.StatusOK, `attn_cluster_info{command="work",`, "attn_cluster_connected 1\n", "attn_cluster_shard_sequences 1\n", "attn_cluster_shard_blocks 3\n",
		`attn_cluster_shard_requests_total{message="attend",outcome="done"} `, `attn_cluster_shard_requests_duration_seconds_count{message="put"} `)
	server.kill()
	eventually(t, ofWorker+"/readyz", http.StatusServiceUnavailable, "connection: the server does not answer")
	eventually(t, ofWorker+"/metrics", http.StatusOK, "attn_cluster_connected 0\n")
	if status, _ := httpGet(t, ofWorker+"/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d", status)
	}
	worker.kill()
}

// A worker that no server has answered yet says so.
func TestMonitorWithoutServer(t *testing.T) {
	t.Parallel()
	_, line := startProcess(t, "metrics at", "work", "-server", "nats://127.0.0.1:"+freePorts(1)[0], "-metrics", "127.0.0.1:0")
	eventually(t, metricsURL(line)+"/readyz", http.StatusServiceUnavailable, "connection: no server has answered yet", "shard: the worker starts")
}

// The monitor of a worker of models counts what it was asked.
func TestMonitorOfAnswer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := berttest.New("").Write(folder, "F32"); err != nil {
		t.Fatal(err)
	}
	p := startProcesses(t)
	_, line := startProcess(t, "metrics at", "answer", "-model", folder, "-server", p.url, "-metrics", "0")
	ofWorker := metricsURL(line)
	eventually(t, ofWorker+"/readyz", http.StatusOK)
	err := run(t.Context(), streams{strings.NewReader(strings.Repeat("a b c\n", 10)), io.Discard, io.Discard},
		[]string{"embed", "-server", p.url, "-job-texts", "2", "-o", filepath.Join(t.TempDir(), "v.npy")})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, ofWorker+"/metrics", http.StatusOK, `attn_cluster_answer_requests_total{outcome="done"} 6`)
}

// An address without a host means this machine alone, and a bad one is an error of usage.
func TestMonitorAddress(t *testing.T) {
	for text, want := range map[string]string{"9000": "127.0.0.1:9000", ":9000": "127.0.0.1:9000", "0": "127.0.0.1:0", "0.0.0.0:9000": "0.0.0.0:9000", "[::1]:80": "[::1]:80"} {
		if got, err := monitorAddress(text); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, name := range []string{"serve", "work", "answer"} {
		for _, text := range []string{":", "x:y:z", "70000", "-1", "host:"} {
			args := []string{name, "-metrics", text}
			if name == "answer" {
				args = append(args, "-model", "m")
			}
			if _, _, err := runCommand(t.Context(), args...); !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), "-metrics") {
				t.Errorf("%q: %v", args, err)
			}
		}
	}
}
