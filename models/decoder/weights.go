package decoder

import (
	"errors"
	"fmt"
	"strings"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/adapters"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A loader reads the tensors of a decoder, by their names in GGUF files.
type loader struct{ *tensors.Reader }

// fileLoader returns a loader of the tensors of a file, whose path may be "".
func fileLoader(f *gguf.File, path string) *loader {
	return &loader{&tensors.Reader{Store: tensors.OfGGUF(f, path)}}
}

// folderLoader opens the tensors of a folder, which the caller closes, and merges adapters into
// them.
func folderLoader(dir string, m *arch.Model, o Options) (*loader, error) {
	s, err := tensors.Open(dir)
	if err != nil {
		return nil, err
	}
	if m.Quantized != nil {
		err = s.Dequantize(m.Quantized)
	}
	if err == nil {
		err = adapters.Merge(s, "", o.LoRA, o.Exec)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if m.Family.InTurn {
		s.SeparateExperts()
	}
	if t, ok := m.Layers[0].Mixer.(*arch.Latent); ok {
		s.SeparateLatents(t.Heads, t.Plain, t.Values)
	}
	l := &loader{&tensors.Reader{Store: s, Rename: s.Renamed(m.Family.Names)}}
	for name, by := range m.Factors {
		for i := range m.Layers {
			s.Multiply(l.Rename(fmt.Sprintf("blk.%d.%s.weight", i, name)), by)
		}
	}
	ignored := m.Family.Ignored
	if o.MTP && m.Family.Ahead != nil && m.Ahead() != nil { // without that, readAhead says what is wrong
		var err error
		if ignored, err = l.moveAhead(m); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		m.More = max(m.More, 1)
	}
	l.Ignore(append([]string{".rotary_emb.inv_freq"}, ignored...)...) // of older checkpoints: config.json says it
	l.ignoreMore(m, o.MTP)
	return l, nil
}

// ignoreMore marks the tensors of layers that guess further tokens as used, but not the first
// layer's if that is read. Layers beyond the model's count stay unused, which is an error.
func (l *loader) ignoreMore(m *arch.Model, but bool) {
	for i := range m.More {
		if layer := len(m.Layers) + i; (i > 0 || !but) && l.guesses(layer) {
			l.Ignore(fmt.Sprintf("blk.%d.", layer), fmt.Sprintf("model.layers.%d.", layer))
		}
	}
}

// vocabulary returns the number of tokens: the rows of the embedding.
func (l *loader) vocabulary() (int, error) {
	info, _ := l.Info(embeddingName)
	if len(info.Shape) != 2 || info.Shape[0] < 1 || info.Shape[0] > most {
		return 0, l.Bad(embeddingName, fmt.Sprintf("[vocabulary, width] with 1 to %d rows", most))
	}
	return info.Shape[0], nil
}

// A headSource says where the output matrix of a model is.
type headSource uint8

const (
	headIfThere headSource = iota // a tensor, or the embedding without one, as in GGUF files
	headOwn                       // a tensor: tie_word_embeddings is false
	headTied                      // the embedding: tie_word_embeddings is true
	headUnread                    // nowhere: embedders and classifiers compute no logits
)

// ends loads the embedding, and the output matrix: the store's, or the embedding again. A head that
// is said to be the embedding but has other numbers counts, as in transformers: somebody has
// trained it, and the key is wrong.
func (l *loader) ends(c *Config, from headSource, bias arch.Bias) (embedding, head tensors.Linear) {
	matrix := func(name string, bias arch.Bias) tensors.Linear {
		return l.Linear(tensors.Inner, tensors.Part{Name: strings.TrimSuffix(name, ".weight"), Shape: []int{c.Vocab, c.Width}, Bias: bias})
	}
	embedding = matrix(embeddingName, arch.Absent)
	has := l.Has(headName)
	switch {
	case from == headOwn && !has:
		l.Fail(configError("tie_word_embeddings", "false, and no tensor lm_head.weight", "that tensor, or true if it is the embedding"))
	case from == headUnread || from == headTied && (!has || l.Dry != nil || l.Equal(headName, embeddingName, c.Vocab, c.Width)):
		for _, name := range []string{headName, "output.scale", "output.input_scale"} {
			l.Skip(name) // not needed, if it is there
		}
		if from == headUnread {
			l.Skip("output.bias")
		}
	case has:
		return embedding, matrix(headName, bias)
	}
	return embedding, embedding
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
