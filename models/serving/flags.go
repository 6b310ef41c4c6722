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
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/flags"
	"github.com/attn-go/attn/models/promptcache"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server"
)

// Models are the models that a command serves.
type Models struct {
	Options server.LoadOptions
	list    []named

	folder    string // of models that are loaded on demand
	fetch     flags.Fetch
	cacheDir  string
	cacheDisk int64
	flags     *flag.FlagSet
}

// A named model has a name of its own, or "" for its path's.
type named struct{ name, path string }

// Flags defines the flags that set m, what the models answer by s, and how much at once.
func (m *Models) Flags(fs *flag.FlagSet, s *server.Settings) {
	m.flags = fs
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
	m.fetch.Flag(fs)
	m.language().Flags(fs)
	settings.Sampler = &decoder.Sampler{}
	const unless = "; a request may say otherwise; changes answers"
	fs.IntVar(&settings.MaxTokens, "max", 512, "most tokens of an answer"+unless)
	flags.Sampler(fs, settings.Sampler, &settings.Date, unless)
	flags.ReceiptKey(fs, func(path string) (err error) {
		settings.ReceiptKey, err = receipt.ReadKey(path)
		return err
	})
	command.ExecFlags(fs, &m.Options.Exec)
	command.KeepPackedFlag(fs, &m.Options.KeepPacked)
	command.LoRAFlag(fs, &m.Options.LoRA)
	fs.StringVar(&m.Options.DraftModel, "draft-model", "", "smaller `model` with the same vocabulary, which guesses tokens for the single -model to check. It changes no answer and shares -cache-memory")
	fs.BoolVar(&m.Options.MTP, "mtp", false, "let the single -model's own layer for further tokens guess, as attn chat -mtp does. It changes no answer and shares -cache-memory,\nwhere each running text takes one more page of that layer")
	fs.IntVar(&m.Options.Draft, "draft", 4, "most tokens of an answer that -draft-model or -mtp guesses in a step, fewer beside other answers; with -mtp 1 unless given")
}

// language are the settings of language models.
func (m *Models) language() flags.Language {
	o := &m.Options
	return flags.Language{Context: &o.Context, CacheType: &o.CacheType, CacheValueType: &o.CacheValueType, Unrotated: &o.Unrotated, Integers: &o.DynamicInt12, Precision: &o.Precision}
}

// limits defines the flags of what the models take at once.
func (m *Models) limits(fs *flag.FlagSet, s *server.Settings) {
	fs.StringVar(&m.cacheDir, "cache-dir", "", "keep keys and values of texts in this `folder`, so that a restart need not compute them again. Texts can be read off it.\nIt changes no answer. Several servers on any CPUs may share it")
	megabytes(fs, "cache-disk", &m.cacheDisk, 8192, "that -cache-dir may take; least recently used texts go first")
	megabytes(fs, "cache-memory", &s.CacheBytes, 1024, "of memory for keys and values of each language model, at least enough for a text of -ctx tokens")
	fs.IntVar(&s.Running, "running", 32, "most texts that a language model continues at once")
	fs.IntVar(&s.Waiting, "waiting", 256, "most requests that wait for a model; others get status 503")
	fs.IntVar(&s.WaitingPerKey, "waiting-per-key", 128, "most requests of one key, or of one address if there are no keys, that wait; others get status 429")
	fs.IntVar(&s.StepTokens, "step", 128, "most prompt tokens in a step while no answer runs; more makes long prompts faster, and others wait longer")
	fs.IntVar(&s.ChunkTokens, "chunk", 64, "most prompt tokens in a step beside answers; fewer makes answers smoother and prompts slower")
	fs.IntVar(&s.Messages, "messages", 4096, "most messages of a conversation")
	fs.IntVar(&s.Texts, "texts", 2048, "most texts of a request for embeddings or ranks")
	fs.IntVar(&s.Grammars, "grammars", 8, "most requests with a response_format at once, 128 MiB each at most; others get status 503")
	fs.IntVar(&s.Choices, "choices", 16, "most choices of a request")
}

// Check reports settings that are missing or do not fit each other, as a [command.UsageError].
func (m *Models) Check(s *server.Settings) error {
	if len(m.list) == 0 && m.folder == "" {
		return command.Usage(errors.New("-model is missing: want at least one"))
	}
	if len(m.Options.LoRA) > 0 && (len(m.list) != 1 || m.folder != "") {
		return command.Usage(fmt.Errorf("-lora is of one model: want %s", m.one()))
	}
	if m.Options.DraftModel != "" && (len(m.list) != 1 || m.folder != "") {
		return command.Usage(fmt.Errorf("-draft-model is for one model: want %s", m.one()))
	}
	if m.Options.MTP && (len(m.list) != 1 || m.folder != "") {
		return command.Usage(fmt.Errorf("-mtp is for one model: want %s", m.one()))
	}
	if m.Options.MTP && m.Options.DraftModel != "" {
		return command.Usage(errors.New("-mtp and -draft-model are one or the other"))
	}
	if m.Options.DraftModel == "" && !m.Options.MTP && m.given("draft") {
		return command.Usage(errors.New("-draft is given, and -draft-model and -mtp are missing"))
	}
	if m.cacheDir == "" && m.given("cache-disk") {
		return command.Usage(errors.New("-cache-disk is given, and -cache-dir is missing"))
	}
	if m.folder == "" && m.given("memory") {
		return command.Usage(errors.New("-memory is given, and -models is missing"))
	}
	for _, n := range []struct {
		flag string
		n    int
	}{
		{"-running", s.Running}, {"-waiting", s.Waiting}, {"-waiting-per-key", s.WaitingPerKey}, {"-max", s.MaxTokens}, {"-step", s.StepTokens},
		{"-chunk", s.ChunkTokens}, {"-texts", s.Texts}, {"-choices", s.Choices}, {"-draft", m.Options.Draft}, {"-grammars", s.Grammars}, {"-messages", s.Messages},
	} {
		if n.n < 1 {
			return command.Usage(fmt.Errorf("%s is %d, want 1 or more", n.flag, n.n))
		}
	}
	if err := m.language().Check(); err != nil {
		return err
	}
	if err := s.Sampler.Check(); err != nil {
		return command.Usage(err)
	}
	return command.CheckExec(m.Options.Exec)
}

// one says what a flag wants that is of one model. A worker of a gateway lacks -models.
func (m *Models) one() string {
	if m.flags.Lookup("models") == nil {
		return "one -model"
	}
	return "one -model, and no -models"
}

// given tells whether a flag is in the arguments.
func (m *Models) given(name string) (is bool) {
	m.flags.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// Load loads the models and returns a server of them. Models may be fetched until ctx ends.
func (m *Models) Load(ctx context.Context, s server.Settings, log *slog.Logger) (*server.Server, error) {
	m.fetch.Allow(ctx, os.Stderr)
	if m.Options.DraftModel == "" && !m.given("draft") {
		m.Options.Draft = 0 // the default is for -draft-model
	}
	if m.cacheDir != "" {
		folder, err := promptcache.OpenFolder(m.cacheDir, m.cacheDisk)
		if err != nil {
			return nil, fmt.Errorf("-cache-dir: %w", err)
		}
		s.PromptCache = promptcache.New(folder, log)
	}
	var list []*server.Model
	for _, one := range m.list {
		begin := time.Now()
		o := m.Options
		o.Name = one.name
		model, err := server.Load(one.path, o)
		if bad := (*kernel.Error)(nil); errors.As(err, &bad) {
			for arg, flag := range map[string]string{": LoadOptions.DraftModel": "-draft-model", "Options.MTP": "-mtp"} {
				if strings.HasSuffix(bad.Where, arg) {
					return nil, &kernel.Error{Where: flag, Got: bad.Got, Want: bad.Want, Kind: bad.Kind}
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("-model %s: %w", one.path, err)
		}
		log.Info("loaded", "model", model.Name(), "duration", time.Since(begin))
		list = append(list, model)
	}
	later, err := m.onDemand(&s, log)
	if err != nil {
		return nil, err
	}
	srv, err := server.New(s, append(list, later...)...)
	if err != nil {
		return nil, err
	}
	for _, model := range list {
		log.Info("serving", "model", model.Name(), "system_fingerprint", srv.Fingerprint(model.Name()))
	}
	return srv, nil
}

// FolderFlags defines the flags of models that are loaded on demand, for a command that is no
// worker of a gateway.
func (m *Models) FolderFlags(fs *flag.FlagSet, s *server.Settings) {
	fs.StringVar(&m.folder, "models", "", "load models from this `folder` and folders below it when a request names them, by their paths there")
	megabytes(fs, "memory", &s.ModelsBytes, 8192, "of memory for the models of -models and their keys and values; a model that needs room unloads the least recently used one")
}

// onDemand returns the models of the folder. Those that cannot be loaded, or take more memory than
// there is, are left out, and the log says why.
func (m *Models) onDemand(s *server.Settings, log *slog.Logger) (list []*server.Model, err error) {
	if m.folder == "" {
		return nil, nil
	}
	paths, err := models.List(m.folder)
	if err != nil {
		return nil, fmt.Errorf("-models: %w", err)
	}
	for _, path := range paths {
		o := m.Options
		if o.Name, err = filepath.Rel(m.folder, path); err != nil {
			return nil, fmt.Errorf("-models: %w", err)
		}
		o.Name = strings.TrimSuffix(filepath.ToSlash(o.Name), ".gguf")
		model, err := server.OnDemand(path, o)
		if err == nil && model.Memory(s) > s.ModelsBytes {
			err = fmt.Errorf("it takes %d MiB with its keys and values, want at most the %d of -memory", model.Memory(s)>>20, s.ModelsBytes>>20)
		}
		if err != nil {
			log.Warn("not served", "model", path, "error", err)
			continue
		}
		log.Info("served on demand", "model", model.Name(), "MiB", model.Memory(s)>>20)
		list = append(list, model)
	}
	if len(list) == 0 && len(m.list) == 0 {
		return nil, fmt.Errorf("-models %s: got no model that can be served, want at least one", m.folder)
	}
	return list, nil
}

// Kept defines the flag that sets how many bytes of answers a server keeps, for a command that is
// no worker of a gateway.
func Kept(fs *flag.FlagSet, s *server.Settings) {
	const missing = 64
	s.KeptBytes = missing << 20
	fs.Func("kept", fmt.Sprintf("`MiB` of /v1/responses answers to keep for previous_response_id; 0 keeps none (default %d)", missing), func(text string) error {
		n, err := strconv.ParseUint(text, 10, 30)
		if err != nil {
			return errors.New("want a number of MiB from 0 on")
		}
		if s.KeptBytes = int64(n) << 20; n == 0 {
			s.KeptBytes = -1
		}
		return nil
	})
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
