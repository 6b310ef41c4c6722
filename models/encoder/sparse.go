package encoder

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/tokenizer"
)

// sparseName is the file of bge-m3 with the layer that gives tokens their weights, a torch.nn.Linear of one output.
const sparseName = "sparse_linear.pt"

// readSparse reads the weights of tokens for states of a width, or returns nil if the model has none. The tokens that FlagEmbedding
// leaves out are cls_token, eos_token, pad_token and unk_token.
func (x *origin) readSparse(width int) (*embedding.SparseHead, error) {
	if !x.folder {
		return nil, nil
	}
	f, err := tensors.OpenTorch(filepath.Join(x.path, sparseName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &tensors.Reader{Store: f}
	w, bias := r.Floats("weight", 1, width), r.Floats("bias", 1)
	if err := r.Done(); err != nil {
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
