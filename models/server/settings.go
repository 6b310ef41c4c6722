package server

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
)

// Settings say what a [Server] takes and how much at once. A field that is 0 has its default.
type Settings struct {
	// CacheBytes is the memory for keys and values of each language model, which is allocated at
	// start. The default is 1 GiB, or more if a text of the whole context needs that.
	CacheBytes int64

	Running       int // texts that a language model continues at once; others wait; default 32
	Waiting       int // texts or calls that wait for a model; default 256
	WaitingPerKey int // of which as many may be of one key; default 128
	Requests      int // requests at once whose bodies are read or whose answers are made; default 512

	StepTokens  int // most tokens of prompts in a step while no answer runs; default 128
	ChunkTokens int // most tokens of prompts in a step beside answers; default 64

	BodyBytes   int64 // of a request; default 4 MiB
	BodiesBytes int64 // of all requests that are being answered; default 64 MiB; others get status 503
	Texts       int   // in a request for embeddings or ranks; default 2048
	Messages    int   // in a conversation; default 4096
	Grammars    int   // requests with a response_format at once; others get status 503; default 8
	Choices     int   // of a request for texts: prompts times n; default 16

	// MaxTokens is the most tokens of an answer if the request does not say; default 512. A request may
	// have more, as far as the context goes.
	MaxTokens int

	// Sampler has what a request does not say. The default is that of command chat: temperature 0.2,
	// the 40 most probable tokens, of which those with 0.9 of the probability.
	Sampler *decoder.Sampler

	// Date is the day that templates take for today if a request does not say. The zero value is
	// [chattemplate.DefaultDate]. It is part of the fingerprint of models whose template asks for it.
	Date chattemplate.Date

	Timeout      time.Duration // of a request, waiting included; default 10 minutes
	BodyTimeout  time.Duration // for reading a request; default 30 seconds
	WriteTimeout time.Duration // for each part that is written to a client; default 30 seconds
	RetryAfter   time.Duration // what a client is told that comes while too many wait; default 2 seconds

	// Keys are the API keys that are accepted. Without any, all requests are, and each address is a
	// key.
	Keys []Key

	// Hosts are names, without ports, by which clients on this machine may call a server without keys, beside
	// localhost and the addresses of loopback. A proxy that hands the header Host on needs its name here.
	Hosts []string

	// ReceiptKey, if not nil, signs receipts.
	ReceiptKey ed25519.PrivateKey

	// Pprof serves profiles at /debug/pprof/, to whoever has a key.
	Pprof bool

	Logger *slog.Logger     // default slog.Default()
	Now    func() time.Time // of created; default time.Now
	NewID  func() string    // of answers and requests; default 26 random letters and digits
}

// A Key is an API key. Requests with one name share one line of those that wait.
type Key struct{ Name, Secret string }

// complete fills in defaults, and reports what is out of range.
func (s *Settings) complete() error {
	for _, n := range []struct {
		name    string
		to      *int
		missing int
	}{
		{"Running", &s.Running, 32}, {"Waiting", &s.Waiting, 256}, {"WaitingPerKey", &s.WaitingPerKey, 128}, {"Requests", &s.Requests, 512},
		{"StepTokens", &s.StepTokens, 128}, {"ChunkTokens", &s.ChunkTokens, 64}, {"Texts", &s.Texts, 2048}, {"Choices", &s.Choices, 16}, {"Grammars", &s.Grammars, 8},
		{"MaxTokens", &s.MaxTokens, 512}, {"Messages", &s.Messages, 4096},
	} {
		if *n.to == 0 {
			*n.to = n.missing
		}
		if *n.to < 0 {
			return &kernel.Error{Where: "server: Settings." + n.name, Got: fmt.Sprint(*n.to), Want: "0 or more"}
		}
	}
	for _, d := range []struct {
		name    string
		to      *time.Duration
		missing time.Duration
	}{
		{"Timeout", &s.Timeout, 10 * time.Minute}, {"BodyTimeout", &s.BodyTimeout, 30 * time.Second},
		{"WriteTimeout", &s.WriteTimeout, 30 * time.Second}, {"RetryAfter", &s.RetryAfter, 2 * time.Second},
	} {
		if *d.to == 0 {
			*d.to = d.missing
		}
		if *d.to < 0 {
			return &kernel.Error{Where: "server: Settings." + d.name, Got: d.to.String(), Want: "0 or more"}
		}
	}
	return s.completeRest()
}

// completeRest is complete for what is neither a count nor a time.
func (s *Settings) completeRest() error {
	for _, n := range []struct {
		name    string
		to      *int64
		missing int64
	}{{"CacheBytes", &s.CacheBytes, 1 << 30}, {"BodyBytes", &s.BodyBytes, 4 << 20}, {"BodiesBytes", &s.BodiesBytes, 64 << 20}} {
		if *n.to == 0 {
			*n.to = n.missing
		}
		if *n.to < 0 {
			return &kernel.Error{Where: "server: Settings." + n.name, Got: fmt.Sprint(*n.to), Want: "0 or more"}
		}
	}
	if s.BodiesBytes < s.BodyBytes {
		return &kernel.Error{Where: "server: Settings.BodiesBytes", Got: fmt.Sprint(s.BodiesBytes), Want: fmt.Sprintf("%d or more, BodyBytes", s.BodyBytes)}
	}
	for i, k := range s.Keys {
		if len(k.Secret) < leastSecret || strings.ContainsAny(k.Secret, " \t\r\n") {
			return &kernel.Error{Where: "server: " + fmt.Sprintf("Settings.Keys[%d].Secret", i), Got: fmt.Sprintf("%d bytes", len(k.Secret)), Want: fmt.Sprintf("%d bytes or more without spaces", leastSecret)}
		}
	}
	if err := s.checkReceiptKey(); err != nil {
		return err
	}
	if s.Sampler == nil {
		s.Sampler = &decoder.Sampler{Temperature: 0.2, TopK: 40, TopP: 0.9, Seed: 1}
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.NewID == nil {
		s.NewID = rand.Text
	}
	return s.Sampler.Check()
}

// leastSecret is the least length of a key: one that is shorter can be guessed.
const leastSecret = 16

// checkReceiptKey reports a key of another kind.
func (s *Settings) checkReceiptKey() error {
	if n := len(s.ReceiptKey); s.ReceiptKey != nil && n != ed25519.PrivateKeySize {
		return &kernel.Error{Where: "server: Settings.ReceiptKey", Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprint(ed25519.PrivateKeySize)}
	}
	return nil
}
