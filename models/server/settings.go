package server

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/promptcache"
)

// Settings say what a [Server] takes and how much at once. A field that is 0 has its default.
type Settings struct {
	// CacheBytes is the most memory for keys and values of each language model, which has to fit at
	// start. The default is 1 GiB, or more if a text of the whole context needs that.
	CacheBytes int64

	// PromptCache, if not nil, keeps what language models have computed of texts for the next
	// server, or for those that share it. It never changes an answer. It is the caller's, and may
	// be used until Close has returned.
	PromptCache *promptcache.Cache

	// ModelsBytes is the memory of models that are loaded on demand, see [OnDemand], with their
	// keys and values; default 8 GiB. The least recently used model is unloaded when another one
	// needs its room. Requests keep their models.
	ModelsBytes int64

	Running       int // texts that a language model continues at once; others wait; default 32
	Waiting       int // texts or calls that wait for a model; default 256
	WaitingPerKey int // of which as many may be of one key; default 128
	Requests      int // requests at once whose bodies are read or whose answers are made; default 512

	StepTokens  int // most tokens of prompts in a step while no answer runs; default 128
	ChunkTokens int // most tokens of prompts in a step beside answers; default 64

	BodyBytes   int64 // of a request; default 4 MiB
	BodiesBytes int64 // of all requests that are being answered; default 64 MiB; others get status 503
	KeptBytes   int64 // of answers of /v1/responses, for previous_response_id; default 64 MiB; below 0 none is kept
	Texts       int   // in a request for embeddings or ranks; default 2048
	Messages    int   // in a conversation; default 4096
	Grammars    int   // requests with a response_format at once; others get status 503; default 8
	Choices     int   // of a request for texts: prompts times n; default 16

	// MaxTokens is the most tokens of an answer if the request does not say; default 512. A request
	// may have more, as far as the context goes.
	MaxTokens int

	// Sampler has what a request does not say. The default is the same as in the command chat:
	// temperature 0.2, the 40 most probable tokens, cut to 0.9 of the probability.
	Sampler *decoder.Sampler

	// Date is the day that templates take for today if a request does not say. The zero value is
	// [chattemplate.DefaultDate]. It is part of the fingerprint of models whose template asks for
	// it.
	Date chattemplate.Date

	Timeout      time.Duration // of a request, waiting included; default 10 minutes
	BodyTimeout  time.Duration // for reading a request; default 30 seconds
	WriteTimeout time.Duration // for each part that is written to a client; default 30 seconds
	RetryAfter   time.Duration // what a client is told that comes while too many wait; default 2 seconds

	// Keys are the API keys that are accepted. Without any, all requests are, and each address is a
	// key.
	Keys []Key

	// Hosts are names, without ports, by which clients on this machine may call a server without
	// keys, beside localhost and the addresses of loopback. A proxy that hands the header Host on
	// needs its name here.
	Hosts []string

	// Origins are the origins of other sites' pages that may ask, such as https://chat.example, in
	// the browsers of people who may use the server; "*" stands for all. Without any, none may.
	Origins []string

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
	if err := cmp.Or(
		fill("Running", &s.Running, 32), fill("Waiting", &s.Waiting, 256), fill("WaitingPerKey", &s.WaitingPerKey, 128), fill("Requests", &s.Requests, 512),
		fill("StepTokens", &s.StepTokens, 128), fill("ChunkTokens", &s.ChunkTokens, 64), fill("Texts", &s.Texts, 2048), fill("Choices", &s.Choices, 16),
		fill("Grammars", &s.Grammars, 8), fill("MaxTokens", &s.MaxTokens, 512), fill("Messages", &s.Messages, 4096),
		fill("Timeout", &s.Timeout, 10*time.Minute), fill("BodyTimeout", &s.BodyTimeout, 30*time.Second),
		fill("WriteTimeout", &s.WriteTimeout, 30*time.Second), fill("RetryAfter", &s.RetryAfter, 2*time.Second),
		fill("CacheBytes", &s.CacheBytes, 1<<30), fill("ModelsBytes", &s.ModelsBytes, 8<<30), fill("BodyBytes", &s.BodyBytes, 4<<20), fill("BodiesBytes", &s.BodiesBytes, 64<<20),
	); err != nil {
		return err
	}
	if s.KeptBytes == 0 {
		s.KeptBytes = 64 << 20
	}
	if s.BodiesBytes < s.BodyBytes {
		return &kernel.Error{Where: "server: Settings.BodiesBytes", Got: fmt.Sprint(s.BodiesBytes), Want: fmt.Sprintf("%d or more, BodyBytes", s.BodyBytes)}
	}
	for i, k := range s.Keys {
		if len(k.Secret) < leastSecret || strings.ContainsAny(k.Secret, " \t\r\n") {
			return &kernel.Error{Where: fmt.Sprintf("server: Settings.Keys[%d].Secret", i), Got: fmt.Sprintf("%d bytes", len(k.Secret)), Want: fmt.Sprintf("%d bytes or more without spaces", leastSecret)}
		}
	}
	if n := len(s.ReceiptKey); s.ReceiptKey != nil && n != ed25519.PrivateKeySize {
		return &kernel.Error{Where: "server: Settings.ReceiptKey", Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprint(ed25519.PrivateKeySize)}
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

// fill sets a setting that is 0 to its default, and reports one below.
func fill[T int | int64 | time.Duration](name string, to *T, missing T) error {
	if *to == 0 {
		*to = missing
	}
	if *to < 0 {
		return &kernel.Error{Where: "server: Settings." + name, Got: fmt.Sprint(*to), Want: "0 or more"}
	}
	return nil
}

// leastSecret is the least length of a key: one that is shorter can be guessed.
const leastSecret = 16
