package decoder

import (
	"fmt"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/tokenizer/bpe"
)

// A vocabulary is what a file says about tokens and texts.
type vocabulary struct {
	stop         []int32
	tokenizer    *bpe.Tokenizer
	tokenizerErr error // why there is none
	template     *chattemplate.Template
	templateErr  error // why there is none
}

// Stop returns the tokens that the file names as ends of a text or of a turn. The slice
// belongs to the model.
func (v *vocabulary) Stop() []int32 { return v.stop }

// Tokenizer returns the tokenizer of the file, or the error why there is none: package bpe does
// not have every kind. A model without one works with token ids alone.
func (v *vocabulary) Tokenizer() (*bpe.Tokenizer, error) { return v.tokenizer, v.tokenizerErr }

// Template returns the chat template of the file, or the error why there is none that can be read.
// A model without one continues texts, see Model.Encode, and has no conversations.
func (v *vocabulary) Template() (*chattemplate.Template, error) { return v.template, v.templateErr }

// load reads the tokens.
func (v *vocabulary) load(f *gguf.File, size int) (err error) {
	if v.stop, err = stopTokens(f, size); err != nil {
		return err
	}
	if v.tokenizer, v.tokenizerErr = bpe.FromGGUF(f); v.tokenizerErr == nil && v.tokenizer.Len() != size {
		return keyError("tokenizer.ggml.tokens", fmt.Sprintf("%d tokens", v.tokenizer.Len()), fmt.Sprintf("%d, the rows of %q", size, embeddingName))
	}
	v.template, v.templateErr = chattemplate.FromGGUF(f, chattemplate.Options{})
	return nil
}

// stopTokens reads the tokens that end a text.
func stopTokens(f *gguf.File, vocab int) (stop []int32, err error) {
	for _, key := range []string{"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"} {
		if _, ok := f.Value(key); !ok {
			continue
		}
		id, err := f.Int(key)
		if err != nil {
			return nil, err
		}
		if id < 0 || id >= int64(vocab) {
			return nil, keyError(key, fmt.Sprint(id), fmt.Sprintf("0 to %d", vocab-1))
		}
		stop = append(stop, int32(id))
	}
	return stop, nil
}

// Encode returns the tokens of a text, after the token that begins a text if the model
// was trained with it. special says whether special tokens that are written in the text, such
// as <|im_end|>, become those tokens; otherwise they are text like all other. The error is
// that of [Model.Tokenizer].
func (v *vocabulary) Encode(text string, special bool) ([]int32, error) {
	if v.tokenizerErr != nil {
		return nil, v.tokenizerErr
	}
	var ids []int32
	if bos, ok := v.bos(); ok {
		ids = append(ids, bos)
	}
	return append(ids, v.tokenizer.Encode(text, special)...), nil
}

// decoder returns a stream that makes text of tokens, nil if the model has no tokenizer.
func (v *vocabulary) decoder() *bpe.Stream {
	if v.tokenizerErr != nil {
		return nil
	}
	return v.tokenizer.Stream(false)
}
