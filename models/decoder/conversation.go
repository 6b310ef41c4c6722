package decoder

import (
	"context"
	"errors"
	"slices"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/tokenizer/bpe"
)

// EncodeChat returns the tokens of a conversation as the file's template writes it, up to
// where the assistant's answer begins. Special tokens that are written in a message are text
// like all other: no message can end its turn or begin another one.
//
// The error is that of [Model.Tokenizer] or [Model.Template], that of the template, or ctx.Err().
func (v *vocabulary) EncodeChat(ctx context.Context, messages []chattemplate.Message) ([]int32, error) {
	if err := errors.Join(v.tokenizerErr, v.templateErr); err != nil {
		return nil, err
	}
	parts, err := v.template.Parts(ctx, messages, true)
	if err != nil {
		return nil, err
	}
	ids := v.tokenizer.EncodeParts(parts)
	if bos, ok := v.bos(); ok && (len(ids) == 0 || ids[0] != bos) {
		ids = slices.Insert(ids, 0, bos)
	}
	return ids, nil
}

// bos returns the token that begins every text, if the model was trained with one.
func (v *vocabulary) bos() (id int32, ok bool) {
	id, ok = v.tokenizer.ID(bpe.BOS)
	return id, ok && v.tokenizer.AddBOS()
}
