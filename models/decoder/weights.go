package decoder

import (
	"slices"
	"strings"

	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A loader reads the tensors of a decoder, by their names in GGUF files.
type loader struct {
	*tensors.Reader
	lessOne bool // norms lack 1
}

// fileLoader returns a loader of the tensors of a file, whose path may be "".
func fileLoader(f *gguf.File, path string) *loader {
	return &loader{Reader: &tensors.Reader{Store: tensors.OfGGUF(f, path)}}
}

// folderLoader opens the tensors of a folder, which the caller closes.
func folderLoader(dir string, a *architecture) (*loader, error) {
	s, err := tensors.Open(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range s.Names() {
		old := strings.HasSuffix(name, ".rotary_emb.inv_freq") // of older checkpoints: config.json says it
		if old || slices.ContainsFunc(a.ignored, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			s.Use(name)
		}
	}
	return &loader{&tensors.Reader{Store: s, Rename: s.Renamed(a.Names)}, a.Norm.LessOne}, nil
}

// with prepares the loader for reading with options.
func (l *loader) with(o Options) *loader {
	l.Pack.Exec, l.Meter = o.Exec, loading.New(l.Bytes(), o.Progress)
	return l
}

// norm returns the weights of a norm.
func (l *loader) norm(name string, n int) []float32 {
	x := l.Floats(name+".weight", n)
	if l.lessOne {
		for i := range x {
			x[i]++
		}
	}
	return x
}

// A source is the weights, and the bias if there is one, of a layer with n outputs.
type source struct {
	name string // without .weight and .bias
	n    int
	bias arch.Bias
}

// projection loads layers with k inputs and joins them.
func (l *loader) projection(k int, sources ...source) tensors.Linear {
	var parts []tensors.Part
	for _, s := range sources {
		parts = append(parts, tensors.Part{Name: s.name, Shape: []int{s.n, k}, Bias: s.bias})
	}
	return l.Linear(tensors.Inner, parts...)
}

// A headSource says where the output matrix of a model is.
type headSource uint8

const (
	headIfThere headSource = iota // a tensor, or the embedding without one, as in GGUF files
	headOwn                       // a tensor: tie_word_embeddings is false
	headTied                      // the embedding: tie_word_embeddings is true
	headUnread                    // nowhere: embedders and classifiers compute no logits
)

// ends loads the embedding, and the output matrix: that of the store, or the embedding
// again. A head that is said to be the embedding but has other numbers counts, as in
// transformers: somebody has trained it, and the key is wrong.
func (l *loader) ends(c *Config, from headSource) (embedding *linear.Linear, head tensors.Linear) {
	p := l.projection(c.Width, source{strings.TrimSuffix(embeddingName, ".weight"), c.Vocab, arch.Absent})
	head = p
	has := l.Has(headName)
	switch {
	case from == headOwn && !has:
		l.Fail(configError("tie_word_embeddings", "false, and no tensor lm_head.weight", "that tensor, or true if it is the embedding"))
	case from == headUnread || from == headTied && (!has || l.Dry != nil || l.Equal(headName, embeddingName, c.Vocab, c.Width)):
		l.Skip(headName) // not needed, if it is there
	case has:
		head = l.projection(c.Width, source{strings.TrimSuffix(headName, ".weight"), c.Vocab, arch.Absent})
	}
	if l.Err() != nil || l.Dry != nil {
		return nil, head
	}
	return p.Parts[0], head
}

// tie has the loader read the head in place of an embedding that is not there.
func (l *loader) tie() {
	if name := l.Rename; !l.Has(embeddingName) && l.Has(headName) {
		l.Rename = func(ours string) string {
			if ours == embeddingName {
				ours = headName
			}
			return name(ours)
		}
	}
}

const embeddingName, headName = "token_embd.weight", "output.weight"
