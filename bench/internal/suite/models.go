package suite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/weights"
)

// A modelTask is what a model is timed with.
type modelTask struct {
	name          string // on the command line
	model         *model
	task          string
	texts, tokens int
	quick         bool // also in a quick run
}

var modelTasks = []modelTask{
	{"minilm-1x16", miniLM, results.TaskEmbed, 1, 16, false},
	{"minilm-8x64", miniLM, results.TaskEmbed, 8, 64, true},
	{"minilm-32x128", miniLM, results.TaskEmbed, 32, 128, false},
	{"smollm2-prompt-256", smolLM2, results.TaskPrompt, 1, 256, false},
	{"smollm2-generate-128", smolLM2, results.TaskGenerate, 1, 128, false},
	{"smollm2-generate-32", smolLM2, results.TaskGenerate, 1, 32, true},
}

// A model is one whose weights attn fetch downloads.
type model struct {
	name    string
	path    string // for weights.Find
	weights string // the file of weights, if path is a folder
	load    func(path string) (preparer, error)
}

var (
	miniLM = &model{"all-MiniLM-L6-v2", weights.MiniLM, "model.safetensors", func(path string) (preparer, error) {
		e, err := encoder.Load(path, encoder.LoadOptions{})
		return func(ctx context.Context, t modelTask, exec kernel.Exec) (func() (any, error), error) {
			return embedding(ctx, e.With(encoder.Options{Exec: exec}), t), nil
		}, err
	}}
	smolLM2 = &model{"SmolLM2-135M-Instruct", weights.SmolLM2, "", func(path string) (preparer, error) {
		m, err := decoder.Load(path, decoder.Options{})
		return func(ctx context.Context, t modelTask, exec kernel.Exec) (func() (any, error), error) {
			with, err := m.With(decoder.Options{Exec: exec})
			if err != nil {
				return nil, err
			}
			return generation(ctx, with, t)
		}, err
	}}
)

// A preparer prepares a task of a loaded model. The call that it returns computes the task once,
// and its result is [][]float32 or []int32.
type preparer func(ctx context.Context, t modelTask, exec kernel.Exec) (call func() (any, error), err error)

// modelRows measure whole models on all tiers with vectors. Those whose weights are not there are
// noted in f.NotRun.
func modelRows(c *Config, f *results.File) (rows []row) {
	if c.noVectors("models", f) {
		return nil
	}
	for _, m := range []*model{miniLM, smolLM2} {
		path, missing := weights.Find(m.path)
		sum := sync.OnceValues(func() (string, error) { return fileSum(filepath.Join(path, m.weights)) })
		load := sync.OnceValues(func() (preparer, error) { return m.load(path) })
		for _, t := range modelTasks {
			if t.model != m || !c.takes(t.quick, t.name) {
				continue
			}
			if errors.Is(missing, os.ErrNotExist) {
				f.NotRun = append(f.NotRun, fmt.Sprintf("%s: %v", m.name, missing))
				break
			}
			for _, e := range c.execs(c.vectorTiers()) {
				rows = append(rows, row{fmt.Sprintf("%s %s threads=%d", t.name, e.Tier, e.Threads), appended(&f.Models, func(ctx context.Context) (r results.Model, err error) {
					l, err := load()
					if err := cmp.Or(missing, err); err != nil {
						return r, err
					}
					if r, err = t.measure(ctx, c, l, e); err == nil {
						r.Weights, err = sum()
					}
					return r, err
				})})
			}
		}
	}
	return rows
}

// measure measures a task.
func (t modelTask) measure(ctx context.Context, c *Config, prepare preparer, e kernel.Exec) (r results.Model, err error) {
	call, err := prepare(ctx, t, e)
	if err != nil {
		return r, fmt.Errorf("%s: %w", t.name, err)
	}
	var last any
	_, times, err := c.measure(ctx, defaultTime, nil, func() (err error) {
		last, err = call()
		return err
	})
	if err != nil {
		return r, fmt.Errorf("%s: %w", t.name, err)
	}
	r = results.Model{Model: t.model.name, Shape: t.name, Task: t.task, Texts: t.texts, Tokens: t.tokens, Tier: e.Tier.String(), Threads: e.Threads, Timing: results.NewTiming(times[0]), SHA256: digest(last)}
	r.Rate = 1e9 * float64(t.tokens) / r.Ns
	if t.task == results.TaskEmbed {
		r.Rate = 1e9 * float64(t.texts) / r.Ns
	}
	return r, nil
}

// embedding turns texts into vectors.
func embedding(ctx context.Context, e *encoder.Encoder, t modelTask) func() (any, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([][]int32, t.texts)
	for i := range ids {
		ids[i] = make([]int32, t.tokens)
		for j := range ids[i] {
			ids[i][j] = rng.Int32N(int32(e.Vocab()))
		}
	}
	return func() (any, error) { return e.EmbedTokens(ctx, ids) }
}

// promptTokens is the length of the prompt before what is generated.
const promptTokens = 8

// generation reads a prompt or continues a text.
func generation(ctx context.Context, m *decoder.Model, t modelTask) (func() (any, error), error) {
	s, err := m.NewSession(2, promptTokens+t.tokens)
	if err != nil {
		return nil, err
	}
	ids := make([]int32, max(promptTokens, t.tokens))
	for i := range ids {
		ids[i] = int32(20 + i*7919%(m.Config().Vocab-20))
	}
	if t.task == results.TaskPrompt {
		return func() (any, error) {
			text := s.NewText()
			defer text.Free()
			return s.Forward(ctx, decoder.Step{Text: text, Tokens: ids})
		}, nil
	}
	prompt := s.NewText()
	if _, err := s.Forward(ctx, decoder.Step{Text: prompt, Tokens: ids[:promptTokens-1], Logits: decoder.LogitsNone}); err != nil {
		return nil, err
	}
	return func() (any, error) {
		text, err := prompt.Fork(prompt.Len())
		if err != nil {
			return nil, err
		}
		defer text.Free()
		var tokens []int32
		for token, err := range s.Generate(ctx, decoder.GenerateOptions{MaxTokens: t.tokens, Stop: []int32{}}, decoder.Step{Text: text, Tokens: ids[promptTokens-1 : promptTokens]}) {
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token.ID)
		}
		return tokens, nil
	}, nil
}

// digest returns the SHA-256 of the bits of a result, little endian.
func digest(result any) string {
	h := sha256.New()
	rows, ok := result.([][]float32)
	if !ok {
		binary.Write(h, binary.LittleEndian, result)
	}
	for _, row := range rows {
		binary.Write(h, binary.LittleEndian, row)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fileSum returns the SHA-256 of a file.
func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
