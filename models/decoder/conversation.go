package decoder

import (
	"context"
	"errors"
	"slices"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/tokenizer"
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
	ids := v.tokenizer.EncodeParts(parts, tokenizer.Options{NoSpecial: true})
	if before, _ := v.tokenizer.Ends(); len(before) > 0 && !(len(ids) >= len(before) && slices.Equal(ids[:len(before)], before)) {
		ids = slices.Insert(ids, 0, before...)
	}
	return ids, nil
}
