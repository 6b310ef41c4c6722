package receipt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/grammar"
)

// ErrMismatch is the kind of a [kernel.Error] about the first part of a receipt that does not hold:
// Arg is contract, model.files, settings, date, messages, prompt, hashes, tokens, text, end, texts,
// query, passages or signature, with the index of a token or text behind it, Got what the receipt
// says, and Want what was computed. Any other kernel.Error is about a receipt that is not of the
// form of this package.
var ErrMismatch = errors.New("receipt: it does not hold")

// mismatch reports a field, or an item of it if i is not negative.
func mismatch(field string, i int, got, want string) error {
	if i >= 0 {
		field = fmt.Sprintf("%s[%d]", field, i)
	}
	return &kernel.Error{Where: "receipt: " + field, Got: got, Want: want, Kind: ErrMismatch}
}

// Options say how much of a receipt is verified.
type Options struct {
	// Spot, if not 0, is the number of texts, passages, or tokens generated that are verified, each
	// of these tokens with all before it and the hash before its own. Random chooses them: the
	// maker must not know it before.
	Spot   int
	Random *rand.Rand
}

// chunk is the most tokens that are read at once for logits after each, and mostLogits the most of
// these.
const (
	chunk      = 128
	mostLogits = 1 << 25
)

// CheckModel returns a [*kernel.Error] if the receipt is of another contract or of other files. A
// model of one file may have another name.
func (r *Receipt) CheckModel(model Model) error {
	if r.Contract != kernel.Contract {
		return mismatch("contract", -1, fmt.Sprint(r.Contract), fmt.Sprint(kernel.Contract))
	}
	if r.Model.Architecture != model.Architecture {
		return mismatch("model.architecture", -1, fmt.Sprintf("%.40q", r.Model.Architecture), fmt.Sprintf("%q", model.Architecture))
	}
	if err := checkFiles("model.files", r.Model.Files, model.Files); err != nil {
		return err
	}
	if got, want := len(r.Model.Adapters), len(model.Adapters); got != want {
		return mismatch("model.adapters", -1, fmt.Sprint(got), fmt.Sprint(want))
	}
	for i, a := range model.Adapters {
		got := r.Model.Adapters[i]
		if got.Scale != a.Scale {
			return mismatch("model.adapters", i, fmt.Sprintf("scale %v", got.Scale), fmt.Sprint(a.Scale))
		}
		if err := checkFiles("model.adapters", got.Files, a.Files); err != nil {
			return err
		}
	}
	return nil
}

func checkFiles(field string, got, want []File) error {
	if len(got) != len(want) {
		return mismatch(field, -1, fmt.Sprintf("%d files", len(got)), fmt.Sprint(len(want)))
	}
	for i, f := range want {
		switch got := got[i]; {
		case len(want) > 1 && got.Name != f.Name:
			return mismatch(field, -1, fmt.Sprintf("%.100q", got.Name), fmt.Sprintf("%q", f.Name))
		case got.SHA256 != f.SHA256:
			return mismatch(field, -1, fmt.Sprintf("%q with SHA-256 %v", path.Base(f.Name), got.SHA256), f.SHA256.String())
		}
	}
	return nil
}

// Verify computes the receipt of a [Generation] again. nil says that all of it holds, or with
// Options.Spot what was chosen. A [*kernel.Error] of [ErrMismatch] is the first thing that does
// not. Other errors say that it could not be verified: from [decoder.Session.Forward], a
// [*kernel.Error] of a grammar that is none, and ctx.Err(). m has the receipt's [Settings.Options];
// model is what it was loaded from, see [Files].
//
// A hash tells that logits differ, not by how much.
func Verify(ctx context.Context, model Model, m *decoder.Model, r *Receipt, o Options) error {
	if err := r.begin(model, o, r.Generation != nil, "generation"); err != nil {
		return err
	}
	options := m.Options()
	if s := settingsOf(&options); s != r.Settings {
		return mismatch("settings", -1, fmt.Sprintf("%+v", r.Settings), fmt.Sprintf("%+v, those of the model", s))
	}
	if err := r.checkIDs(m.Config().Vocab); err != nil {
		return err
	}
	if err := r.checkConversation(ctx, m); err != nil {
		return err
	}
	v, err := newVerification(m, r.Generation)
	if err != nil {
		return err
	}
	if places := o.places(len(r.Tokens)); len(places) < len(r.Tokens) {
		return v.spots(ctx, places)
	}
	return v.all(ctx)
}

// begin checks what all kinds of receipts have, and that this one is of the kind that is wanted.
func (r *Receipt) begin(model Model, o Options, is bool, want string) error {
	if err := r.check(); err != nil {
		return err
	}
	if !is {
		return &kernel.Error{Where: "receipt: file", Got: "a receipt of another kind", Want: "one of " + want}
	}
	if o.Spot < 0 || o.Spot > 0 && o.Random == nil {
		return &kernel.Error{Where: "receipt: Options.Spot", Got: fmt.Sprint(o.Spot), Want: "0 or more, with Random"}
	}
	if err := r.CheckModel(model); err != nil {
		return err
	}
	return r.CheckSignature()
}

// places returns the indices, below n, that are verified, in ascending order.
func (o *Options) places(n int) []int {
	k := n
	if o.Spot > 0 && o.Spot < n {
		k = o.Spot
	}
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	if k < n {
		o.Random.Shuffle(n, func(i, j int) { places[i], places[j] = places[j], places[i] })
		slices.Sort(places[:k])
	}
	return places[:k]
}

// checkIDs reports a token that the model does not have.
func (r *Generation) checkIDs(vocab int) error {
	for _, list := range []struct {
		field string
		ids   []int32
	}{{"prompt", r.Prompt}, {"tokens", r.Tokens}, {"markers", r.Markers}} {
		for i, id := range list.ids {
			if id < 0 || int(id) >= vocab {
				return mismatch(list.field, i, fmt.Sprint(id), fmt.Sprintf("0 to %d", vocab-1))
			}
		}
	}
	return nil
}

// checkConversation writes the conversation again.
func (r *Generation) checkConversation(ctx context.Context, m *decoder.Model) error {
	if len(r.Messages) == 0 {
		return nil
	}
	if err := r.checkDate(m.ReadsDate()); err != nil {
		return err
	}
	ids, err := m.EncodeConversation(ctx, r.talk())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return mismatch("messages", -1, "a conversation that the template refuses", err.Error())
	}
	for i := range min(len(ids), len(r.Prompt)) {
		if ids[i] != r.Prompt[i] {
			return mismatch("prompt", i, fmt.Sprint(r.Prompt[i]), fmt.Sprintf("%d, which the messages give", ids[i]))
		}
	}
	if len(ids) != len(r.Prompt) {
		return mismatch("prompt", -1, fmt.Sprintf("%d tokens", len(r.Prompt)), fmt.Sprintf("%d, which the messages give", len(ids)))
	}
	return nil
}

// A verification is a call of Verify.
type verification struct {
	r      *Generation
	m      *decoder.Model
	s      *decoder.Session
	text   *decoder.Text
	tokens []int32 // of prompt and answer
	rows   int     // that are read at once

	options decoder.GenerateOptions
}

func newVerification(m *decoder.Model, r *Generation) (*verification, error) {
	v := &verification{r: r, m: m, tokens: slices.Concat(r.Prompt, r.Tokens), options: r.options()}
	v.rows = min(chunk, max(1, mostLogits/m.Config().Vocab))
	var err error
	if v.options.Grammar, err = r.grammarOf(); err != nil {
		return nil, err
	}
	if v.s, err = m.NewSession(1, len(v.tokens)); err != nil {
		return nil, err
	}
	v.text = v.s.NewText()
	return v, nil
}

// read reads the tokens up to the one before n, and returns the logits that are wanted.
func (v *verification) read(ctx context.Context, n int, rows decoder.Rows) ([]float32, error) {
	if n == v.text.Len() {
		return nil, nil
	}
	logits, err := v.s.Forward(ctx, decoder.Step{Text: v.text, Tokens: v.tokens[v.text.Len():n], Logits: rows})
	if err != nil {
		return nil, err
	}
	return logits[0], nil
}

// all verifies all tokens.
func (v *verification) all(ctx context.Context) error {
	c, err := v.m.Continue(v.options)
	if err != nil {
		return err
	}
	prompt, vocab := len(v.r.Prompt), v.m.Config().Vocab
	if _, err := v.read(ctx, prompt-1, decoder.LogitsNone); err != nil {
		return err
	}
	var hashes chain
	var text strings.Builder
	for i := 0; i < len(v.r.Tokens); {
		n := min(v.rows, len(v.r.Tokens)-i)
		logits, err := v.read(ctx, prompt+i+n-1, decoder.LogitsAll)
		if err != nil {
			return err
		}
		for ; n > 0; n-- {
			grown, err := v.token(c, &hashes, i, logits[:vocab])
			if err != nil {
				return err
			}
			text.WriteString(grown)
			logits, i = logits[vocab:], i+1
		}
	}
	if text.String() != v.r.Text {
		return mismatch("text", -1, fmt.Sprintf("%.60q", v.r.Text), fmt.Sprintf("%.60q, which the tokens give", text.String()))
	}
	return nil
}

// spots verifies the tokens at some places, in ascending order.
func (v *verification) spots(ctx context.Context, places []int) error {
	for _, i := range places {
		logits, err := v.read(ctx, len(v.r.Prompt)+i, decoder.LogitsLast)
		if err != nil {
			return err
		}
		c, err := v.m.Continue(v.options)
		if err != nil {
			return err
		}
		if _, err := c.Skip(len(v.r.Prompt), v.r.Tokens[:i]); err != nil {
			return forged(i, err)
		}
		hashes := chain{}
		if i > 0 {
			hashes.last = v.r.Hashes[i-1]
		}
		if _, err := v.token(c, &hashes, i, logits); err != nil {
			return err
		}
	}
	return nil
}

// forged makes a mismatch of an error about tokens up to i that a generation cannot have. Others
// stay what they are.
func forged(i int, err error) error {
	switch {
	case errors.Is(err, kernel.ErrArgument):
		return mismatch("tokens", i, "a token after the end of the text", "none: "+err.Error())
	case errors.Is(err, grammar.ErrToken):
		return mismatch("tokens", i, "tokens that the grammar refuses", err.Error())
	}
	return err
}

// token verifies the token at a place, and returns what the text grows by.
func (v *verification) token(c *decoder.Continuation, hashes *chain, i int, logits []float32) (string, error) {
	if h := hashes.add(logits); h != v.r.Hashes[i] {
		return "", mismatch("hashes", i, v.r.Hashes[i].String(), h.String()+", of the logits")
	}
	t, err := c.Next(v.tokens[:len(v.r.Prompt)+i], logits)
	if err != nil {
		return "", forged(i, err)
	}
	if t.ID != v.r.Tokens[i] {
		return "", mismatch("tokens", i, fmt.Sprint(v.r.Tokens[i]), fmt.Sprintf("%d, by the logits, the sampler and its seed", t.ID))
	}
	if last := i == len(v.r.Tokens)-1; last && t.End.String() != v.r.End {
		return "", mismatch("end", -1, fmt.Sprintf("%.20q", v.r.End), fmt.Sprintf("%q", t.End))
	} else if !last && t.End != decoder.EndNone {
		return "", mismatch("tokens", i+1, "a token after the end of the text", "none: "+t.End.String())
	}
	return t.Text, nil
}
