package decoder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/tokenizer"
)

// A vocabulary is what a file or a folder says about tokens and texts.
type vocabulary struct {
	stop         []int32
	tokenizer    *tokenizer.Tokenizer
	tokenizerErr error // why there is none
	template     *chattemplate.Template
	templateErr  error // why there is none
	tries        tries
}

// tries are the tokens that grammars let follow by their bytes: all but special ones, and with
// markers.
type tries struct {
	sync.Mutex
	by map[string]*grammar.Vocabulary // by markers
}

// mostTries is the most vocabularies that are kept. A model has one without markers, and one with
// its answers' markers.
const mostTries = 4

// grammarVocabulary returns the tokens that grammars let follow, of so many ids. The model must
// have a tokenizer.
func (v *vocabulary) grammarVocabulary(size int, markers []int32) *grammar.Vocabulary {
	v.tries.Lock()
	defer v.tries.Unlock()
	key := fmt.Sprint(markers)
	if t := v.tries.by[key]; t != nil {
		return t
	}
	if v.tries.by == nil || len(v.tries.by) == mostTries {
		v.tries.by = map[string]*grammar.Vocabulary{}
	}
	list := make([][]byte, size)
	for id := range min(size, v.tokenizer.Len()) {
		if !v.tokenizer.Special(int32(id)) || slices.Contains(markers, int32(id)) {
			list[id] = v.tokenizer.TokenBytes(int32(id))
		}
	}
	t := grammar.NewVocabulary(list)
	v.tries.by[key] = t
	return t
}

// Stop returns the tokens that the model names as ends of a text or of a turn. The slice
// belongs to the model.
func (v *vocabulary) Stop() []int32 { return v.stop }

// Tokenizer returns the tokenizer of the model, or the error why there is none: package tokenizer
// does not have every kind. A model without one works with token ids alone.
func (v *vocabulary) Tokenizer() (*tokenizer.Tokenizer, error) { return v.tokenizer, v.tokenizerErr }

// Template returns the chat template of the model, or the error why there is none that can be read.
// A model without one continues texts, see Model.Encode, and has no conversations.
func (v *vocabulary) Template() (*chattemplate.Template, error) { return v.template, v.templateErr }

// ReadsDate tells whether the model has a template that can ask for the date.
func (v *vocabulary) ReadsDate() bool { return v.template != nil && v.template.ReadsDate() }

// fromGGUF reads the tokens of a file.
func (v *vocabulary) fromGGUF(f *gguf.File, size int) (err error) {
	if v.stop, err = stopTokens(f, size); err != nil {
		return err
	}
	if v.tokenizer, v.tokenizerErr = tokenizer.FromGGUF(f); v.tokenizerErr == nil && v.tokenizer.Len() != size {
		return gguf.KeyError("tokenizer.ggml.tokens", fmt.Sprintf("%d tokens", v.tokenizer.Len()), fmt.Sprintf("%d, the rows of %q", size, embeddingName))
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
			return nil, gguf.KeyError(key, fmt.Sprint(id), fmt.Sprintf("0 to %d", vocab-1))
		}
		stop = append(stop, int32(id))
	}
	return stop, nil
}

// Encode returns the tokens of a text, after the token that begins a text if the model was trained
// with one. special says whether special tokens that are written in the text, such as <|im_end|>,
// become those tokens; otherwise they are text like all other. It returns the error of
// [Model.Tokenizer].
func (v *vocabulary) Encode(text string, special bool) ([]int32, error) {
	ids, _, err := v.EncodeWithin(text, special, 0)
	return ids, err
}

// EncodeWithin is Encode for a text that is of no use if it has more than most tokens; 0 means any
// number. If it has more, fits is false, ids is nil, and finding out takes no longer than it must:
// see [tokenizer.Tokenizer.EncodeWithin].
func (v *vocabulary) EncodeWithin(text string, special bool, most int) (ids []int32, fits bool, err error) {
	if v.tokenizerErr != nil {
		return nil, false, v.tokenizerErr
	}
	ids, fits = v.tokenizer.EncodeWithin(text, tokenizer.Options{NoSpecial: true, Plain: !special, Limit: most})
	before, _ := v.tokenizer.Ends()
	ids, fits = within(slices.Concat(before, ids), fits, most)
	return ids, fits, nil
}

// within returns ids that fit, or none.
func within(ids []int32, fits bool, most int) ([]int32, bool) {
	if !fits || most > 0 && len(ids) > most {
		return nil, false
	}
	return ids, true
}

// EncodeChat is [Model.EncodeConversation] of messages alone. A template that writes the date
// writes [chattemplate.DefaultDate].
func (v *vocabulary) EncodeChat(ctx context.Context, messages []chattemplate.Message) ([]int32, error) {
	return v.EncodeConversation(ctx, &chattemplate.Conversation{Messages: messages})
}

// EncodeConversation returns the tokens of a conversation as the file's template writes it, up to
// where the assistant's answer begins. Special tokens that are written in a message are text
// like all other: no message can end its turn or begin another one.
//
// The error comes from [Model.Tokenizer], [Model.Template] or the template, or is ctx.Err().
func (v *vocabulary) EncodeConversation(ctx context.Context, c *chattemplate.Conversation) ([]int32, error) {
	if err := errors.Join(v.tokenizerErr, v.templateErr); err != nil {
		return nil, err
	}
	parts, err := v.template.Write(ctx, c, true)
	if err != nil {
		return nil, err
	}
	ids, _, err := v.EncodeParts(parts, 0)
	return ids, err
}

// EncodeParts returns the tokens of what a template has written, [chattemplate.Template.Write],
// after the token that begins a text unless the template has written it. most and fits are as in
// EncodeWithin. The error comes from [Model.Tokenizer].
func (v *vocabulary) EncodeParts(parts []tokenizer.Part, most int) (ids []int32, fits bool, err error) {
	if v.tokenizerErr != nil {
		return nil, false, v.tokenizerErr
	}
	ids, fits = v.tokenizer.EncodePartsWithin(parts, tokenizer.Options{NoSpecial: true, Limit: most})
	if before, _ := v.tokenizer.Ends(); len(before) > 0 && !(len(ids) >= len(before) && slices.Equal(ids[:len(before)], before)) {
		ids = slices.Insert(ids, 0, before...)
	}
	ids, fits = within(ids, fits, most)
	return ids, fits, nil
}

// decoder returns a stream that makes text of tokens, of special ones those that are kept, nil if
// the model has no tokenizer.
func (v *vocabulary) decoder(kept []int32) *tokenizer.Stream {
	if v.tokenizerErr != nil {
		return nil
	}
	return v.tokenizer.Stream(false, kept...)
}
