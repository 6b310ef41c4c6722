package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server"
)

// config is a parsed command line.
type config struct {
	addr        string
	models      []named
	options     server.LoadOptions
	settings    server.Settings
	cert, key   string
	connections int
	shutdown    time.Duration
	logJSON     bool
}

// A named model is one with a name of its own, or "" for that of its path.
type named struct{ name, path string }

const usage = `usage: serve -model MODEL [-model MODEL ...] [flags]

Answers HTTP requests with models, in the form of OpenAI's API. A MODEL is a GGUF file, a folder as
Hugging Face has it, or the name of one that make models fetches. It is served under its base name, or
as NAME with NAME=MODEL.

The same request gets the same bytes alone and beside others, with any of the flags but those that say
that they change answers, which system_fingerprint then shows.

SIGTERM and ^C end it: no more requests are taken, and those that are open are answered, or given up
after -shutdown. A second signal ends it at once.

`

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{settings: server.Settings{Sampler: &decoder.Sampler{}}}
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	c.defineModel(fs)
	c.defineLimits(fs)
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, command.Usage(fmt.Errorf("%q: want no arguments, and models with -model", fs.Arg(0)))
	}
	return c, c.check()
}

// cacheTypes are the values of -cache.
var cacheTypes = map[string]kernel.DType{"f32": kernel.Float32, "f16": kernel.Float16, "bf16": kernel.BFloat16, "int8": kernel.Int8, "int4": kernel.Int4}

// defineModel defines the flags of models and of what they answer.
func (c *config) defineModel(fs *flag.FlagSet) {
	fs.Func("model", "`model` to serve; may be repeated", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if _, err := os.Stat(s); !ok || err == nil {
			name, path = "", s
		}
		if c.models = append(c.models, named{name, path}); path == "" {
			return errors.New("want a file, a folder or a name")
		}
		return nil
	})
	fs.IntVar(&c.options.Context, "ctx", 0, "most `tokens` of a text; changes answers (default what the model was trained for, at most 4096)")
	fs.Func("cache", "`type` of the keys and values that are kept: f32, f16, bf16, int8 or int4; changes answers (default f32)", func(s string) error {
		kind, ok := cacheTypes[s]
		if c.options.CacheType = kind; !ok {
			return errors.New("want f32, f16, bf16, int8 or int4")
		}
		return nil
	})
	fs.Func("cache-values", "`type` of the values alone, of which int4 costs less than of keys: f16, bf16, int8 or int4; changes answers (default that of -cache)", func(s string) error {
		kind, ok := cacheTypes[s]
		if c.options.CacheValueType = kind; !ok || kind == kernel.Float32 {
			return errors.New("want f16, bf16, int8 or int4")
		}
		return nil
	})
	fs.Func("activations", "what linear layers compute with: f32, or int8, which is faster; changes answers (default f32)", func(s string) error {
		if c.options.Int8 = s == "int8"; s != "f32" && s != "int8" {
			return errors.New("want f32 or int8")
		}
		return nil
	})
	p := c.settings.Sampler
	fs.IntVar(&c.settings.MaxTokens, "max", 512, "most tokens of an answer, if a request does not say; changes answers, as do the five below")
	fs.Float64Var(&p.Temperature, "temp", 0.2, "temperature, if a request does not say")
	fs.IntVar(&p.TopK, "top-k", 40, "draw from this many most probable tokens, if a request does not say; 0 means all")
	fs.Float64Var(&p.TopP, "top-p", 0.9, "draw from the most probable tokens with this share of the probability, if a request does not say")
	fs.Float64Var(&p.MinP, "min-p", 0, "draw from the tokens that are at least this many times as probable as the most probable one, if a request does not say")
	fs.Uint64Var(&p.Seed, "seed", 1, "seed of the random draws, if a request does not say")
	command.ExecFlags(fs, &c.options.Exec)
}

// defineLimits defines the flags of connections and limits.
func (c *config) defineLimits(fs *flag.FlagSet) {
	s := &c.settings
	fs.StringVar(&c.addr, "addr", "127.0.0.1:8080", "`address` to listen at; port 0 takes a free one")
	fs.Func("keys", "`file` with an API key in each line, alone or as NAME KEY; requests of a name share one line of those that wait", func(path string) (err error) {
		s.Keys, err = readKeys(path)
		return err
	})
	fs.StringVar(&c.cert, "tls-cert", "", "PEM `file` of the certificates for TLS")
	fs.StringVar(&c.key, "tls-key", "", "PEM `file` of the private key for TLS")
	megabytes := func(name string, to *int64, missing int64, what string) {
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
	megabytes("cache-memory", &s.CacheBytes, 1024, "of memory for keys and values of each language model; at least what a text of -ctx tokens takes")
	megabytes("body", &s.BodyBytes, 4, "that a request may have")
	megabytes("bodies", &s.BodiesBytes, 64, "that all requests which are being answered may have")
	fs.IntVar(&s.Running, "running", 32, "texts that a language model continues at once")
	fs.IntVar(&s.Waiting, "waiting", 256, "requests that may wait for a model; others get status 503")
	fs.IntVar(&s.WaitingPerKey, "waiting-per-key", 128, "requests of one key, or without keys of one address, that may wait; others get status 429")
	fs.IntVar(&s.Requests, "requests", 512, "requests that are read and answered at once; others get status 503")
	fs.IntVar(&c.connections, "connections", 1024, "connections that are open at once; others wait")
	fs.IntVar(&s.StepTokens, "step", 128, "most tokens of prompts in a step while no answer runs: with more, long prompts take less time and others wait longer")
	fs.IntVar(&s.ChunkTokens, "chunk", 64, "most tokens of prompts in a step beside answers: with fewer, answers run more evenly and prompts take longer")
	fs.Func("host", "`name` by which clients on this machine may call a server without keys, beside localhost; may be repeated", func(name string) error {
		if s.Hosts = append(s.Hosts, name); name == "" || strings.ContainsAny(name, ":/ ") {
			return errors.New("want a name without a port")
		}
		return nil
	})
	fs.IntVar(&s.Messages, "messages", 4096, "most messages of a conversation")
	fs.IntVar(&s.Texts, "texts", 2048, "most texts of a request for embeddings or ranks")
	fs.IntVar(&s.Grammars, "grammars", 8, "requests with a response_format at once, of which each may take 128 MiB; others get status 503")
	fs.IntVar(&s.Choices, "choices", 16, "most choices of a request")
	fs.DurationVar(&s.Timeout, "timeout", 10*time.Minute, "most time of a request, waiting included")
	fs.DurationVar(&s.BodyTimeout, "read-timeout", 30*time.Second, "most time for reading a request")
	fs.DurationVar(&s.WriteTimeout, "write-timeout", 30*time.Second, "most time for writing a part of an answer, after which a client counts as gone")
	fs.DurationVar(&c.shutdown, "shutdown", 30*time.Second, "time for requests that are open when it ends")
	fs.BoolVar(&s.Pprof, "pprof", false, "serve profiles at /debug/pprof/, to whoever has a key")
	fs.BoolVar(&c.logJSON, "log-json", false, "write the log as JSON lines")
}

// check reports settings that are missing or do not fit each other.
func (c *config) check() error {
	switch {
	case len(c.models) == 0:
		return command.Usage(errors.New("-model is missing: want at least one"))
	case (c.cert == "") != (c.key == ""):
		return command.Usage(errors.New("-tls-cert and -tls-key: got one of them, want both or none"))
	case c.connections < 1:
		return command.Usage(fmt.Errorf("-connections is %d, want 1 or more", c.connections))
	case c.shutdown < 0:
		return command.Usage(fmt.Errorf("-shutdown is %v, want 0 or more", c.shutdown))
	}
	for _, n := range []struct {
		flag string
		n    int
	}{
		{"-running", c.settings.Running}, {"-waiting", c.settings.Waiting}, {"-waiting-per-key", c.settings.WaitingPerKey}, {"-requests", c.settings.Requests}, {"-max", c.settings.MaxTokens},
		{"-step", c.settings.StepTokens}, {"-chunk", c.settings.ChunkTokens}, {"-texts", c.settings.Texts}, {"-choices", c.settings.Choices}, {"-grammars", c.settings.Grammars},
	} {
		if n.n < 1 {
			return command.Usage(fmt.Errorf("%s is %d, want 1 or more", n.flag, n.n))
		}
	}
	if err := c.checkAddress(); err != nil {
		return command.Usage(err)
	}
	if err := c.settings.Sampler.Check(); err != nil {
		return command.Usage(err)
	}
	return command.CheckExec(c.options.Exec)
}

// checkAddress refuses to be open to a network without keys.
func (c *config) checkAddress() error {
	host, _, err := net.SplitHostPort(c.addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	ip := net.ParseIP(host)
	if loopback := host == "localhost" || ip != nil && ip.IsLoopback(); !loopback && len(c.settings.Keys) == 0 {
		return fmt.Errorf("-addr is %q, which others can reach: want -keys with it, or a loopback address", c.addr)
	}
	return nil
}

// readKeys reads a file of keys. Empty lines and those that begin with # do not count.
func readKeys(path string) (keys []server.Key, err error) {
	data, err := os.ReadFile(path)
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
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: got no key, want at least one", path)
	}
	return keys, lines.Err()
}

// logger returns where the log goes.
func (c *config) logger(w io.Writer) *slog.Logger {
	if c.logJSON {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
