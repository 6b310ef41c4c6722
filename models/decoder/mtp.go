package decoder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	engine "github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
)

// Some models bring a layer that guesses further tokens (multi-token prediction, MTP; nextn in GGUF
// files). With each token it reads the state before it: the model's, after the last norm, or its
// own where it guessed that token. It is a model of its own, in a session of its own, and shares
// embeddings and the head with the other one unless the files have some for it. What it reads of a
// text begins where states are known: a call of Forward keeps the states of its last tokens, so
// that a long prompt takes no memory for all of them.

// readAhead reads the layer that guesses further tokens.
func (n *network) readAhead(l *loader, words, logits tensors.Linear) {
	a, layer := n.arch.Ahead(), len(n.arch.Layers)
	name := func(name string) string { return fmt.Sprintf("blk.%d.nextn.%s", layer, name) }
	if a == nil || n.arch.More == 0 || !l.guesses(layer) {
		l.Fail(&kernel.Error{Where: "decoder: Options.MTP", Got: "true of a model without a layer that guesses further tokens", Want: "false"})
		return
	}
	own := func(name string, shared tensors.Linear, other string) tensors.Linear {
		switch {
		case l.Equal(name+".weight", other, n.config.Vocab, n.config.Width):
			l.Skip(name + ".weight")
		case l.Has(name + ".weight"):
			return l.Linear(tensors.Inner, tensors.Part{Name: name, Shape: []int{n.config.Vocab, n.config.Width}})
		}
		return shared
	}
	if n.arch.OwnWords && !l.Has(name("embed_tokens.weight")) {
		l.Fail(configError("mtp_use_dedicated_embeddings", "true, and no tensor mtp.embed_tokens.weight", "that tensor, or false with Options.MTP"))
	}
	words = own(name("embed_tokens"), words, embeddingName)
	head := n.head
	head.Linear = own(name("shared_head_head"), logits, headName)
	n.ahead = &network{arch: a, config: configOf(a), head: head, layers: engine.ReadAhead(a, layer, l.Reader, engine.Packed{Linear: words.One()})}
	n.ahead.config.Vocab = n.config.Vocab
}

// guesses tells whether the files have a layer that guesses further tokens in a place.
func (l *loader) guesses(layer int) bool {
	return l.Has(fmt.Sprintf("blk.%d.nextn.eh_proj.weight", layer))
}

// guessing counts the layers of the files that guess further tokens, under a name that says what
// reads them: of a generator the option MTP takes the first one. Layers that are apart in folders
// are counted by their first norms.
func (l *loader) guessing(m *arch.Model, u use) (name string, n int) {
	for i := range m.More {
		if l.guesses(len(m.Layers) + i) {
			n++
		}
	}
	n += l.apart()
	switch {
	case u != generates || m.Ahead() == nil:
		return "guessing layers, which nothing reads", n
	case n > 1:
		return "guessing layers, the first one read with -mtp", n
	}
	return "guessing layers, read with -mtp", n
}

// apart counts the layers that guess further tokens and are apart in folders.
func (l *loader) apart() (n int) {
	for _, name := range l.Names() {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "model."), "mtp.layers.")
		if ok && (strings.HasSuffix(rest, ".input_layernorm.weight") || strings.HasSuffix(rest, ".enorm.weight")) {
			n++
		}
	}
	return n
}

// moveAhead gives the tensors of the first layer that is apart in folders the names that others
// have. It returns how names of the further ones begin. All of its parts must be there, also the
// norm that other files may lack.
func (l *loader) moveAhead(m *arch.Model) (further []string, err error) {
	last := fmt.Sprintf("blk.%d.nextn.shared_head_norm.weight", len(m.Layers))
	at, n := strings.TrimSuffix(l.Rename(last), "shared_head.norm.weight"), l.apart()
	if n > 0 && m.More > 0 && n != m.More {
		return nil, configError("num_nextn_predict_layers", fmt.Sprintf("%d, and tensors of %d", m.More, n), "as many as there are tensors of, with Options.MTP")
	}
	for _, root := range []string{"mtp.", "model.mtp."} {
		if !slices.ContainsFunc(l.Names(), func(name string) bool { return strings.HasPrefix(name, root) }) {
			continue
		}
		parts := 0 // layers of the files that a layer is made of
		for _, name := range m.Family.Ahead {
			if name[0] == fmt.Sprintf("layers.%d.", parts) {
				parts++
			}
			if err := l.Move(root+name[0], at+name[1]); err != nil {
				return nil, err
			}
		}
		for i := parts; i < parts*n; i++ {
			further = append(further, fmt.Sprintf("%slayers.%d.", root, i))
		}
		if !l.Has(last) {
			return nil, l.Bad(last, fmt.Sprintf("the last norm of that layer, [%d]", m.Width))
		}
	}
	return further, nil
}
