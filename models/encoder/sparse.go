package encoder

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/inventory"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/tokenizer"
)

// The files of bge-m3 with a torch.nn.Linear: of one output, the weight of a token, and of the
// vector of a token.
const sparseName, tokensName = "sparse_linear.pt", "colbert_linear.pt"

// readSparse reads the weights of tokens for states of a width, or returns nil if the model has
// none. Of a model that predicts words it only checks them for an inventory. The tokens that
// FlagEmbedding leaves out are cls_token, eos_token, pad_token and unk_token.
func (x *origin) readSparse(width int, v *inventory.Inventory) (*embedding.SparseHead, error) {
	if !x.folder {
		return nil, nil
	}
	if x.modules.Words {
		return x.readWords(v)
	}
	w, bias, err := x.readLinear(sparseName, 1, width)
	if w == nil || err != nil {
		return nil, err
	}
	var not []int32
	for _, role := range []string{tokenizer.RoleClass, tokenizer.RoleEOS, tokenizer.RolePadding, tokenizer.RoleUnknown} {
		if id, ok := x.tokenizer.Role(role); ok {
			not = append(not, id)
		}
	}
	return embedding.NewSparseHead(w, bias[0], not)
}

// readTokens reads the layer that makes vectors of tokens beside vectors of texts, if the folder
// has it.
func (x *origin) readTokens(width int) ([]embedding.Step, error) {
	if !x.folder || x.modules.Words || x.modules.Late != nil {
		return nil, nil
	}
	w, bias, err := x.readLinear(tokensName, 0, width)
	if w == nil || err != nil {
		return nil, err
	}
	s, err := embedding.Dense(w, bias, len(bias), width)
	return []embedding.Step{s}, err
}

// readLinear reads the weights, [n, k], and the bias of a layer that torch.save has written. n may
// be 0 for any number. Without the file they are nil.
func (x *origin) readLinear(name string, n, k int) (w, bias []float32, err error) {
	f, err := tensors.OpenTorch(filepath.Join(x.path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, _ := f.Info("bias"); n == 0 && len(info.Shape) == 1 {
		n = info.Shape[0]
	}
	r := &tensors.Reader{Store: f}
	w, bias = r.Floats("weight", max(1, n), k), r.Floats("bias", max(1, n))
	return w, bias, r.Done()
}

// readWords reads the head that predicts words, or only checks it for an inventory.
func (x *origin) readWords(v *inventory.Inventory) (*embedding.SparseHead, error) {
	names, w, vocab := x.model.Family.Words, x.model.Width, x.model.Vocab
	if names == nil || x.model.Embed.Width > 0 {
		return nil, &kernel.Error{Where: x.path + ": the architecture", Got: "one without a known head that predicts words", Want: "bert, distilbert, roberta, xlm-roberta or camembert"}
	}
	r, ofTable := &tensors.Reader{Store: x.Store, Dry: v}, x.reader()
	ofTable.Dry = v
	act := x.model.Layers[0].Feed.(*arch.Dense).Activation
	if names.GELU {
		act = activations.GELU
	}
	head := &embedding.Words{
		Dense: r.Floats(names.Dense+".weight", w, w), DenseBias: r.Floats(names.Dense+".bias", w), Activation: act.Alone,
		Weight: r.Floats(names.Norm+".weight", w), NormBias: r.Floats(names.Norm+".bias", w), Epsilon: float32(x.model.Layers[0].Norm.Epsilon),
		Bias: r.Floats(names.Bias, vocab),
	}
	own, err := x.hasWords(r)
	if err != nil {
		return nil, err
	}
	table := &tensors.Numbers{}
	if own {
		table = r.Numbers(names.Decoder+".weight", vocab, w)
	} else {
		table = ofTable.Numbers(words, vocab, w)
	}
	if err := errors.Join(r.Err(), ofTable.Err()); err != nil || v != nil {
		return nil, err
	}
	head.Table = table.Matrix(vocab, w)
	return embedding.NewWordHead(head)
}

// hasWords tells whether a head that predicts words has a matrix of its own in place of the
// embedding. One that is said to be the embedding but is there counts, as in transformers.
func (x *origin) hasWords(r *tensors.Reader) (bool, error) {
	names := x.model.Family.Words
	bad := func(what, got, want string) error {
		return &kernel.Error{Where: x.path + ": " + what, Got: got, Want: want}
	}
	if other := names.Decoder + ".bias"; other != names.Bias && r.Has(other) && !r.Equal(other, names.Bias, x.model.Vocab) {
		return false, bad(other, "other numbers than "+names.Bias, "the same ones, or no such tensor")
	}
	c := struct {
		Tied bool `json:"tie_word_embeddings"`
	}{true}
	if err := folder.ReadJSON(filepath.Join(folder.Transformer(x.path), configName), &c); err != nil {
		return false, err
	}
	own := r.Has(names.Decoder + ".weight")
	if !own && !c.Tied {
		return false, bad("tie_word_embeddings", "false, and no tensor "+names.Decoder+".weight", "that tensor, or true if it is the embedding")
	}
	return own, nil
}
