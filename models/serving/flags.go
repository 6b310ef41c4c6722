package serving

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server"
)

// Models are the models that a command serves.
type Models struct {
	Options server.LoadOptions
	list    []named
}

// A named model is one with a name of its own, or "" for that of its path.
type named struct{ name, path string }

// cacheTypes are the values of -cache.
var cacheTypes = map[string]kernel.DType{"f32": kernel.Float32, "f16": kernel.Float16, "bf16": kernel.BFloat16, "int8": kernel.Int8, "int4": kernel.Int4}

// Flags defines the flags that set m, what the models answer by s, and how much at once.
func (m *Models) Flags(fs *flag.FlagSet, s *server.Settings) {
	m.answers(fs, s)
	m.limits(fs, s)
}

// answers defines the flags of models and of what they answer.
func (m *Models) answers(fs *flag.FlagSet, settings *server.Settings) {
	fs.Func("model", "`model` to serve; may be repeated", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if _, err := os.Stat(s); !ok || err == nil {
			name, path = "", s
		}
		if m.list = append(m.list, named{name, path}); path == "" {
			return errors.New("want a file, a folder or a name")
		}
		return nil
	})
	fs.IntVar(&m.Options.Context, "ctx", 0, "most `tokens` of a text; changes answers (default what the model was trained for, at most 4096)")
	fs.Func("cache", "`type` of the keys and values that are kept: f32, f16, bf16, int8 or int4; changes answers (default f32)", func(s string) error {
		kind, ok := cacheTypes[s]
		if m.Options.CacheType = kind; !ok {
			return errors.New("want f32, f16, bf16, int8 or int4")
		}
		return nil
	})
	fs.Func("cache-values", "`type` of the values alone, of which int4 costs less than of keys: f16, bf16, int8 or int4; changes answers (default that of -cache)", func(s string) error {
		kind, ok := cacheTypes[s]
		if m.Options.CacheValueType = kind; !ok || kind == kernel.Float32 {
			return errors.New("want f16, bf16, int8 or int4")
		}
		return nil
	})
	fs.BoolVar(&m.Options.Unrotated, "unrotated", false, "keep keys and values of int4 as they are: they are rotated before they are rounded, which loses less; changes answers")
	fs.Func("attention", "what attention computes with: f32, or integers, which is faster and needs a -cache of int8 or int4; changes answers (default f32)", func(s string) error {
		if m.Options.DynamicInt12 = s == "integers"; s != "f32" && s != "integers" {
			return errors.New("want f32 or integers")
		}
		return nil
	})
	fs.Func("activations", "what linear layers compute with: f32, or int8, which is faster; changes answers (default f32)", func(s string) error {
		if m.Options.Int8 = s == "int8"; s != "f32" && s != "int8" {
			return errors.New("want f32 or int8")
		}
		return nil
	})
	settings.Sampler = &decoder.Sampler{}
	p := settings.Sampler
	fs.IntVar(&settings.MaxTokens, "max", 512, "most tokens of an answer, if a request does not say; changes answers, as do the five below")
	fs.Float64Var(&p.Temperature, "temp", 0.2, "temperature, if a request does not say")
	fs.IntVar(&p.TopK, "top-k", 40, "draw from this many most probable tokens, if a request does not say; 0 means all")
	command.Float(fs, &p.TopP, "top-p", 0.9, decoder.LeastTopP, "draw from the most probable tokens with this `share` of the probability, if a request does not say; 0 means the most probable one")
	fs.Float64Var(&p.MinP, "min-p", 0, "draw from the tokens that are at least this many times as probable as the most probable one, if a request does not say")
	fs.Uint64Var(&p.Seed, "seed", 1, "seed of the random draws, if a request does not say")
	fs.Var(&settings.Date, "date", "`day` that a template which writes the date takes for today, if a request does not say: YYYY-MM-DD, or today for the day of the start; changes answers (default 2024-07-26)")
	fs.Func("receipt-key", "`file` of a private key of Ed25519 in PEM that signs receipts", func(path string) (err error) {
		settings.ReceiptKey, err = receipt.ReadKey(path)
		return err
	})
	command.ExecFlags(fs, &m.Options.Exec)
}

// limits defines the flags of what the models take at once.
func (m *Models) limits(fs *flag.FlagSet, s *server.Settings) {
	megabytes(fs, "cache-memory", &s.CacheBytes, 1024, "of memory for keys and values of each language model; at least what a text of -ctx tokens takes")
	fs.IntVar(&s.Running, "running", 32, "texts that a language model continues at once")
	fs.IntVar(&s.Waiting, "waiting", 256, "requests that may wait for a model; others get status 503")
	fs.IntVar(&s.WaitingPerKey, "waiting-per-key", 128, "requests of one key, or without keys of one address, that may wait; others get status 429")
	fs.IntVar(&s.StepTokens, "step", 128, "most tokens of prompts in a step while no answer runs: with more, long prompts take less time and others wait longer")
	fs.IntVar(&s.ChunkTokens, "chunk", 64, "most tokens of prompts in a step beside answers: with fewer, answers run more evenly and prompts take longer")
	fs.IntVar(&s.Messages, "messages", 4096, "most messages of a conversation")
	fs.IntVar(&s.Texts, "texts", 2048, "most texts of a request for embeddings or ranks")
	fs.IntVar(&s.Grammars, "grammars", 8, "requests with a response_format at once, of which each may take 128 MiB; others get status 503")
	fs.IntVar(&s.Choices, "choices", 16, "most choices of a request")
}

// Check reports settings that are missing or do not fit each other, as a [command.UsageError].
func (m *Models) Check(s *server.Settings) error {
	if len(m.list) == 0 {
		return command.Usage(errors.New("-model is missing: want at least one"))
	}
	for _, n := range []struct {
		flag string
		n    int
	}{
		{"-running", s.Running}, {"-waiting", s.Waiting}, {"-waiting-per-key", s.WaitingPerKey}, {"-max", s.MaxTokens}, {"-step", s.StepTokens},
		{"-chunk", s.ChunkTokens}, {"-texts", s.Texts}, {"-choices", s.Choices}, {"-grammars", s.Grammars}, {"-messages", s.Messages},
	} {
		if n.n < 1 {
			return command.Usage(fmt.Errorf("%s is %d, want 1 or more", n.flag, n.n))
		}
	}
	o := decoder.Options{CacheType: m.Options.CacheType, CacheValueType: m.Options.CacheValueType, DynamicInt12: m.Options.DynamicInt12}
	if o.DynamicInt12 && errors.Is(o.Check(), kernel.ErrArgument) {
		return command.Usage(errors.New("-attention integers needs a -cache of int8 or int4"))
	}
	if err := s.Sampler.Check(); err != nil {
		return command.Usage(err)
	}
	return command.CheckExec(m.Options.Exec)
}

// Load loads the models and returns a server of them.
func (m *Models) Load(s server.Settings, log *slog.Logger) (*server.Server, error) {
	var list []*server.Model
	for _, one := range m.list {
		begin := time.Now()
		o := m.Options
		o.Name = one.name
		model, err := server.Load(one.path, o)
		if err != nil {
			return nil, fmt.Errorf("-model %s: %w", one.path, err)
		}
		log.Info("loaded", "model", model.Name(), "duration", time.Since(begin))
		list = append(list, model)
	}
	srv, err := server.New(s, list...)
	if err != nil {
		return nil, err
	}
	for _, model := range list {
		log.Info("serving", "model", model.Name(), "system_fingerprint", srv.Fingerprint(model.Name()))
	}
	return srv, nil
}

// megabytes defines a flag of a size.
func megabytes(fs *flag.FlagSet, name string, to *int64, missing int64, what string) {
	*to = missing << 20
	fs.Func(name, fmt.Sprintf("`MiB` %s (default %d)", what, missing), func(text string) error {
		var n int64
		if _, err := fmt.Sscanf(text, "%d", &n); err != nil || n < 1 || n > 1<<30 || fmt.Sprint(n) != text {
			return errors.New("want a number of MiB from 1 on")
		}
		*to = n << 20
		return nil
	})
}

// isName tells whether a value of -host is a name without a port.
func isName(name string) bool { return name != "" && !strings.ContainsAny(name, ":/ ") }

// readKeys reads a file of keys. Empty lines and those that begin with # do not count.
func readKeys(path string) (keys []server.Key, err error) {
	data, err := command.ReadFile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case len(words) == 1:
			keys = append(keys, server.Key{Name: fmt.Sprintf("line %d", n), Secret: words[0]})
		case len(words) == 2:
			keys = append(keys, server.Key{Name: words[0], Secret: words[1]})
		default:
			return nil, fmt.Errorf("%s: line %d: got %d words, want KEY or NAME KEY", path, n, len(words))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: got no key, want at least one", path)
	}
	return keys, nil
}
