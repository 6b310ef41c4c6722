package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/models/command"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/weights"
)

// tiny writes the file of a tiny model.
func tiny(t *testing.T) string {
	t.Helper()
	f := tinyllama.New(nil)
	f.AddVocabulary()
	return f.Write(t)
}

// A running is a server that a test has started.
type running struct {
	addr string
	stop func() error // ends it and returns the error of run
}

// start runs the command and waits until it listens.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), io.Discard, w)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if m := regexp.MustCompile(`listening"?[ ,]"?addr[=":]+([^ "]+)`).FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, r)
			return &running{m[1], func() error { cancel(); return <-ended }}
		}
	}
	t.Fatalf("it ended: %v", <-ended)
	return nil
}

// TestServe: it answers, with a name for the model, and ends without losing an answer.
func TestServe(t *testing.T) {
	s := start(t, "-model", "mine="+tiny(t), "-ctx", "200")
	response, err := http.Post("http://"+s.addr+"/v1/completions", "application/json", strings.NewReader(`{"model": "mine", "prompt": "a", "max_tokens": 199, "n": 4, "stream": true}`))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.stop() }()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 || !bytes.HasSuffix(data, []byte("data: [DONE]\n\n")) {
		t.Errorf("%v, status %d, %.300s", err, response.StatusCode, data)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if _, err := net.Dial("tcp", s.addr); err == nil {
		t.Error("it listens after its end")
	}
}

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

// TestUnit: the command of the systemd unit starts, with models of the folder that it names, and
// wants a key.
func TestUnit(t *testing.T) {
	data, err := os.ReadFile("../../../attn/attn.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		unit[name] = value
	}
	command, ok := strings.CutPrefix(unit["ExecStart"], "/usr/local/bin/attn serve ")
	state := "/var/lib/" + unit["StateDirectory"]
	if !ok || unit["Environment"] != "ATTN_MODELS="+state+"/models" || !strings.HasPrefix(unit["LoadCredential"], "keys:/") {
		t.Fatalf("%q", unit)
	}
	dir := t.TempDir()
	t.Setenv("ATTN_MODELS", dir)
	for name, of := range map[string]string{weights.SmolLM2: "llama-2", weights.MiniLM: "bert-1"} {
		of, err := filepath.Abs("../../../testdata/tiny/" + of)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		}
		if err == nil {
			err = os.Symlink(of, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "keys"), []byte("a-secret-of-my-own-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, strings.Fields(strings.NewReplacer("127.0.0.1:8080", "127.0.0.1:0", "${CREDENTIALS_DIRECTORY}", dir).Replace(command))...)
	defer s.stop()
	response, err := http.Get("http://" + s.addr + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d without a key", response.StatusCode)
	}
}

// TestTLSAndKeys: with files for TLS it speaks TLS, and with a file of keys it wants one.
func TestTLSAndKeys(t *testing.T) {
	cert, key, pool := certificate(t)
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("# keys\n\nme a-secret-of-my-own-1\nanother-secret-of-mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "-model", tiny(t), "-tls-cert", cert, "-tls-key", key, "-keys", keys)
	defer s.stop()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	for secret, status := range map[string]int{"a-secret-of-my-own-1": 200, "another-secret-of-mine": 200, "none": 401} {
		r, err := http.NewRequest("GET", "https://"+s.addr+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != status {
			t.Errorf("%s: status %d, want %d", secret, response.StatusCode, status)
		}
	}
}

// TestUsage: what is wrong with a command line is said before a model is loaded.
func TestUsage(t *testing.T) {
	three := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(three, []byte("a b c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "-model is missing"},
		{[]string{"-model", "m", "x"}, `"x"`},
		{[]string{"-model", "m", "-addr", "0.0.0.0:80"}, "-keys"},
		{[]string{"-model", "m", "-addr", ":80"}, "-keys"},
		{[]string{"-model", "m", "-addr", "nothing"}, "-addr"},
		{[]string{"-model", "m", "-tls-cert", "x"}, "-tls-key"},
		{[]string{"-model", "m", "-running", "0"}, "-running"},
		{[]string{"-model", "m", "-cache-memory", "-3"}, "-cache-memory"},
		{[]string{"-model", "m", "-cache-disk", "100"}, "-cache-dir"},
		{[]string{"-model", "m", "-memory", "100"}, "-models"},
		{[]string{"-model", "m", "-cache", "f8"}, "-cache"},
		{[]string{"-model", "m", "-attention", "int8"}, "-attention"},
		{[]string{"-model", "m", "-attention", "integers"}, "-attention"},
		{[]string{"-model", "m", "-attention", "integers", "-cache", "int8", "-cache-values", "f16"}, "-attention"},
		{[]string{"-model", "m", "-temp", "-1"}, "Temperature"},
		{[]string{"-model", "m", "-tier", "none"}, "-tier"},
		{[]string{"-model", "m", "-keys", three}, "line 1"},
	} {
		err := run(t.Context(), c.args, io.Discard, io.Discard)
		if !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want a usage error about %s", c.args, err, c.want)
		}
	}
	var help bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &help, io.Discard); err != nil || !strings.Contains(help.String(), "-cache-memory") {
		t.Errorf("%v, %s", err, &help)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	missing := []string{"-model", filepath.Join(t.TempDir(), "none"), "-addr", l.Addr().String()}
	if err := run(t.Context(), missing, io.Discard, io.Discard); err == nil || errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("an address in use, with a model that is not there: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	missing[3] = "127.0.0.1:0"
	if err := run(t.Context(), missing, io.Discard, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a model that is not there: %v", err)
	}
}

// TestFolder: the models of a folder are served under the names of their paths, and pages of one
// start serve the next one.
func TestFolder(t *testing.T) {
	folder, pages := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "org"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tiny(t), filepath.Join(folder, "org", "small.gguf")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "broken.gguf"), []byte("<html>"), 0o666); err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for range 2 {
		s := start(t, "-models", folder, "-memory", "200", "-cache-memory", "10", "-cache-dir", pages, "-cache-disk", "100")
		for _, body := range []string{"", `{"prompt": "` + strings.Repeat("pages of keys and values ", 20) + `", "max_tokens": 9, "model": "org/small"}`} {
			var response *http.Response
			var err error
			if body == "" {
				response, err = http.Get("http://" + s.addr + "/v1/models")
			} else {
				response, err = http.Post("http://"+s.addr+"/v1/completions", "application/json", strings.NewReader(body))
			}
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != 200 {
				t.Fatalf("%v, status %d, %s", err, response.StatusCode, data)
			}
			if body == "" && (strings.Count(string(data), `"id":`) != 1 || !strings.Contains(string(data), `"id":"org/small"`) || !strings.Contains(string(data), `"loaded":false`)) {
				t.Errorf("the models are %s", data)
			}
			if body != "" {
				bodies = append(bodies, regexp.MustCompile(`"id":"[^"]*"|"created":\d+`).ReplaceAllString(string(data), ""))
			}
		}
		if err := s.stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	}
	if bodies[0] != bodies[1] {
		t.Errorf("after a restart\n%s\nwant\n%s", bodies[1], bodies[0])
	}
	if left, err := filepath.Glob(filepath.Join(pages, "*.page")); err != nil || len(left) < 2 {
		t.Errorf("%d pages are kept, %v", len(left), err)
	}
}
