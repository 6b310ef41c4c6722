package receipt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
)

// A Recorder makes the receipt of one text. It is for one goroutine at a time.
type Recorder struct {
	r     Receipt
	chain chain
	text  strings.Builder

	readsDate bool // the model's template
}

// Record returns a recorder of a text that m, which model names, continues after a prompt with
// options o, with the tokens of o.Sampler.Seed. The error is a [*kernel.Error] for a model that a
// receipt cannot name. [Recorder.Logits] must get the logits that each token is chosen from, and
// then [Recorder.Add] the token:
//
//	r, err := receipt.Record(model, m, prompt, &o)
//	o.Logits = func(_ int, logits []float32) { r.Logits(logits) }
//	for token, err := range m.Generate(ctx, prompt, o) {
//		r.Add(token)
//	}
func Record(model Model, m *decoder.Model, prompt []int32, o *decoder.GenerateOptions) (*Recorder, error) {
	if len(o.Bias) > 0 {
		return nil, bad("GenerateOptions.Bias", fmt.Sprintf("some for %d tokens", len(o.Bias)), "none, as a receipt has no place for it")
	}
	options := m.Options()
	c := &Recorder{readsDate: m.ReadsDate(), r: Receipt{
		Version: Version, Contract: kernel.Contract, Model: model, Generation: &Generation{
			Settings: settingsOf(&options), Sampler: Sampler(o.Sampler), MaxTokens: o.MaxTokens, Stop: slices.Clone(o.Stop), StopText: slices.Clone(o.StopText),
			Prompt: slices.Clone(prompt), End: decoder.EndNone.String(),
		}}}
	if o.Stop == nil {
		c.r.Stop = slices.Clone(m.Stop())
	}
	if c.r.Stop == nil {
		c.r.Stop = []int32{}
	}
	if c.r.Markers = slices.Clone(o.Markers); o.Budget != nil {
		budget := Budget(*o.Budget)
		c.r.Budget = &budget
	}
	if o.Grammar != nil {
		s := o.Grammar.Source()
		c.r.Grammar = &Grammar{formGBNF, string([]rune(s.Text))} // with U+FFFD for each byte that is not UTF-8, as JSON's readers have it
		if s.JSON {
			c.r.Grammar.Form = formSchema
		}
	}
	return c, model.check()
}

// Conversation says that the prompt is a conversation as the model's template writes it, which
// Verify checks, too. The receipt has its date if the template asks for it. A receipt has no place
// for bytes that are not UTF-8, nor for further fields of messages: such conversations are refused
// by a [*kernel.Error], and none is added.
func (c *Recorder) Conversation(talk *chattemplate.Conversation) error {
	said, err := newConversation(talk)
	if err != nil {
		return err
	}
	if c.r.Conversation = *said; c.readsDate && len(said.Messages) > 0 {
		c.r.Date = &talk.Date
	}
	return nil
}

// Logits adds the logits that the next token is chosen from.
func (c *Recorder) Logits(logits []float32) { c.r.Hashes = append(c.r.Hashes, c.chain.add(logits)) }

// Add adds the token that was chosen from them.
func (c *Recorder) Add(t decoder.Token) {
	c.r.Tokens = append(c.r.Tokens, t.ID)
	c.text.WriteString(t.Text)
	c.r.End = t.End.String()
}

// Receipt returns the receipt of what was added so far: without a token it is nil.
func (c *Recorder) Receipt() *Receipt {
	n := len(c.r.Tokens)
	if n == 0 {
		return nil
	}
	r, g := c.r, *c.r.Generation
	g.Tokens, g.Hashes, g.Text = slices.Clone(g.Tokens), slices.Clone(g.Hashes[:n]), c.text.String()
	r.Generation = &g
	return &r
}

// A chain is the hash of rows of logits.
type chain struct {
	last Hash
	hash hash.Hash
}

// add adds a row and returns the hash of all so far.
func (c *chain) add(logits []float32) Hash {
	if c.hash == nil {
		c.hash = sha256.New()
	}
	c.hash.Reset()
	c.hash.Write(c.last[:])
	writeFloats(c.hash, logits)
	c.hash.Sum(c.last[:0])
	return c.last
}

// littleEndian says whether numbers lie in memory as they are hashed.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// writeFloats adds numbers to a hash, in little-endian order.
func writeFloats(h hash.Hash, all []float32) {
	if littleEndian && len(all) > 0 {
		h.Write(unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), 4*len(all)))
		return
	}
	var buf [1 << 10]byte
	for part := range slices.Chunk(all, len(buf)/4) {
		for i, x := range part {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(x))
		}
		h.Write(buf[:4*len(part)])
	}
}
