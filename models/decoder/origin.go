package decoder

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder/internal/ranking"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/adapters"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/weights"
)

// A use is what a model is for.
type use int

const (
	generates use = iota // texts
	embeds
	ranks
)

// An origin is the files of a model and what they say, without the weights.
type origin struct {
	*network
	*loader
	use
	path    string
	file    *gguf.File         // nil for a folder
	head    headSource         // of a generator
	modules *embedding.Modules // of a model of embeddings
	steps   []embedding.Step
}

// load finds a model and reads it. The origin is closed.
func load(model string, u use, o Options) (*origin, *Model, error) {
	if err := o.Check(); err != nil {
		return nil, nil, err
	}
	x, err := open(model, u, o)
	if err != nil {
		return nil, nil, err
	}
	m, err := x.load(o)
	return x, m, naming(x.path, errors.Join(err, x.close()))
}

// open reads what the files of a model and its adapters say. The caller closes the origin.
func open(model string, u use, o Options) (*origin, error) {
	path, err := weights.Resolve(model)
	if err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		x, err := openFolder(path, u, o)
		return x, naming(path, err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	x, err := openFile(f, path, u, o)
	if err != nil {
		return nil, naming(path, errors.Join(err, f.Close()))
	}
	return x, nil
}

// naming returns an error that names a path, once.
func naming(path string, err error) error {
	if err == nil || strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// openFile reads what a file says. The file stays the caller's if its path is "".
func openFile(f *gguf.File, path string, u use, o Options) (*origin, error) {
	m, err := settings.Decoders.ReadFile(f, gguf.KeyError)
	if err != nil {
		return nil, err
	}
	x := &origin{network: &network{arch: m, config: configOf(m)}, loader: fileLoader(f, path), use: u, path: path, file: f}
	if err := adapters.Merge(x.Store, m.Family.GGUF, o.LoRA, o.Exec); err != nil {
		return nil, err
	}
	x.network.adapters = x.Adapters
	x.loader.ignoreMore(m, o.MTP)
	n := &x.config.Vocab
	if *n, err = x.loader.vocabulary(); err != nil {
		return nil, err
	}
	if key := m.Family.GGUF + ".vocab_size"; has(f, key) {
		if size, err := f.Int(key); err != nil {
			return nil, err
		} else if size != int64(*n) {
			return nil, gguf.KeyError(key, fmt.Sprint(size), fmt.Sprintf("%d, the rows of %q", *n, embeddingName))
		}
	}
	return x, x.network.vocabulary.fromGGUF(f, *n)
}

func has(f *gguf.File, key string) bool {
	_, ok := f.Value(key)
	return ok
}

// openFolder reads what a folder says.
func openFolder(path string, u use, o Options) (*origin, error) {
	dir := path
	if u != generates {
		dir = folder.Transformer(path)
	}
	m, err := settings.Decoders.ReadFolder(dir, configError)
	if err != nil {
		return nil, err
	}
	x := &origin{network: &network{arch: m, config: configOf(m)}, use: u, path: path, head: headOwn}
	if x.loader, err = folderLoader(dir, m, o); err != nil {
		return nil, err
	}
	x.network.adapters = x.Adapters
	if m.Logits.Tied {
		x.head = headTied
		x.tie()
	}
	n := &x.config.Vocab
	if *n, err = x.loader.vocabulary(); err == nil {
		if id := int(m.Embed.Placeholders.Other); id >= *n {
			err = configError("text_config.pad_token_id", fmt.Sprint(id), fmt.Sprintf("less than %d, the rows of %q", *n, embeddingName))
		} else {
			err = x.network.vocabulary.fromFolder(dir, *n)
		}
	}
	if err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

func (x *origin) close() error {
	if x.file != nil {
		return x.file.Close()
	}
	return x.Close()
}

// load reads the weights.
func (x *origin) load(o Options) (*Model, error) {
	if o.Precision == precision.BFloat16 { // which is all that is packed in another way
		x.Pack.Precision = o.Precision
	}
	x.Pack.Exec, x.Meter = o.Exec, loading.New(x.Bytes(), o.Progress)
	if err := x.prepare(); err != nil {
		return nil, err
	}
	if x.More = o.MTP; o.KeepPacked {
		if err := x.KeepPacked(); err != nil {
			return nil, err
		}
		defer x.Packed.Close()
	}
	if x.file != nil && x.path != "" {
		x.file.DropMetadata()
	}
	return x.model(x.loader, x.head, o)
}

// prepare reads what the use of a model needs beside the network.
func (x *origin) prepare() (err error) {
	switch {
	case x.use == ranks && x.file != nil:
		x.ranking, err = ranking.ReadFile(x.file, x.ranked())
	case x.use == ranks:
		x.ranking, err = ranking.ReadFolder(x.path, x.ranked())
	case x.use == embeds && x.file != nil:
		x.head = headUnread
		return errors.Join(x.readPooling(), x.readDense())
	case x.use == embeds:
		x.head = headUnread
		return x.readModules()
	case x.config.Bidirectional && x.file != nil:
		return noGenerator(x.arch, gguf.KeyError)
	case x.config.Bidirectional:
		return noGenerator(x.arch, configError)
	}
	if err == nil && x.use == ranks && !x.ranking.Answers {
		x.head = headUnread
	}
	return err
}

// readModules reads what follows the network in a folder.
func (x *origin) readModules() (err error) {
	if x.modules, err = folder.ReadModules(x.path); err != nil {
		return err
	}
	if !x.modules.Listed {
		return &kernel.Error{Where: "modules.json: the pooling", Got: "no such file", Want: "the modules of a model of embeddings; this is a model that generates text"}
	}
	return nil
}

// poolings are the values of pooling_type in GGUF files.
var poolings = map[int64]embedding.Pooling{1: embedding.PoolMean, 2: embedding.PoolFirst, 3: embedding.PoolLast}

// readPooling reads how the states of tokens become a vector.
func (x *origin) readPooling() error {
	key := x.config.Architecture + ".pooling_type"
	n, err := x.file.Int(key)
	if err != nil {
		return err
	}
	how, ok := poolings[n]
	if !ok {
		return gguf.KeyError(key, fmt.Sprint(n), "1 (mean), 2 (cls) or 3 (last token)")
	}
	x.modules = &embedding.Modules{Poolings: []embedding.Pooling{how}}
	return nil
}

// readDense reads the layers that follow the pooling in GGUF files of EmbeddingGemma, if
// they are there: dense_2 and dense_3, without bias and activation.
func (x *origin) readDense() error {
	width := x.config.Width
	for _, name := range []string{"dense_2.weight", "dense_3.weight"} {
		info, ok := x.Info(name)
		if !ok {
			continue
		}
		if len(info.Shape) != 2 || info.Shape[0] < 1 || info.Shape[0] > most {
			return x.Bad(name, fmt.Sprintf("[outputs, %d]", width))
		}
		n := info.Shape[0]
		w := x.Floats(name, n, width)
		if x.Err() != nil {
			return x.Err()
		}
		if x.Dry == nil {
			s, err := embedding.Dense(w, nil, n, width)
			if err != nil {
				return fmt.Errorf("decoder: %s: %w", x.Where(name), err)
			}
			x.steps = append(x.steps, s)
		}
		width = n
	}
	return nil
}
