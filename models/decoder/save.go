package decoder

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/kernel"
	engine "github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/precision"
)

// savedForm is the version of what [Text.Save] writes and of how the layers of models compute.
// Raise it with every change of what the keys, values and states of a model depend on beside its
// files, its options and the contract.
const savedForm = 1

// StateFingerprint returns a hash of all that the keys, values and states of a text depend on
// beside its tokens: the contract, the options, and the files of the model, for which digest
// stands. Where it is the same, [Text.Load] takes what [Text.Save] has written and goes on with the
// same bits.
func (m *Model) StateFingerprint(digest string) string {
	h, o := sha256.New(), &m.options
	windows := ""
	if len(m.layout.windows) > 1 { // whose layers have another order
		windows = fmt.Sprintf("groups %v\n", m.layout.places)
	}
	fmt.Fprintf(h, "saved %d\ncontract %d\nmodel %q\ncontext %d\ncache %v %v %v\nint12 %v\nint8 %v\n", savedForm, kernel.Contract, digest,
		o.Context, o.CacheType, o.ValueType(), o.hadamardOf(m.caches(o, 0)), o.DynamicInt12, o.Precision == precision.Int8)
	if o.Precision == precision.BFloat16 {
		fmt.Fprintln(h, "bf16")
	}
	fmt.Fprint(h, windows, m.adapters)
	return hex.EncodeToString(h.Sum(nil))
}

// Save appends to dst what a text has of the tokens from one index to another: their keys and
// values, as [kvcache.Sequence.Save] writes them, and the states of recurrent layers at the
// checkpoints after the first of them, see [Text.Checkpoint]. It has the same bytes on every
// machine, however the text was read. Tokens whose keys the text does not have, as it would read
// them again, are a [*kernel.Error].
func (t *Text) Save(dst []byte, from, to int) ([]byte, error) {
	if t.session == nil || from < 0 || from > to || to > t.kv.Len() {
		return dst, &kernel.Error{Where: "decoder: Text.Save", Got: fmt.Sprintf("tokens %d to %d of %d", from, to, t.kv.Len()), Want: "some of those that the text has read"}
	}
	out := dst
	for _, sequence := range t.kv {
		var err error
		if out, err = sequence.Save(out, from, to-from); err != nil {
			return dst, err
		}
	}
	for _, after := range t.session.model.checkpoints(from, to) {
		s := t.state(after)
		if s == nil || s.After != after {
			return dst, &kernel.Error{Where: "decoder: Text.Save", Got: fmt.Sprintf("no state after %d tokens", after), Want: "a state at each checkpoint"}
		}
		for i, taps := range s.Taps {
			for _, x := range slices.Concat(taps, s.Layers[i]) {
				out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
			}
		}
	}
	return out, nil
}

// checkpoints returns after how many tokens a text keeps a state, of those from one index to
// another.
func (m *Model) checkpoints(from, to int) (list []int) {
	for at := from; m.checkpoint > 0; {
		if at = m.nextCheckpoint(at); at > to {
			break
		}
		list = append(list, at)
	}
	return list
}

// Load adds tokens to a text with what [Text.Save] has written of the same tokens after the same
// ones, in place of reading them. It is for the caller to see that they are the same. After an
// error the text is as it was: it comes from [Session.Forward] for tokens that the model does not
// have or that are too many, a kvcache.CapacityError if the cache has too few free pages, or a
// [*kernel.Error] for data that has not the length of what Save writes.
func (t *Text) Load(tokens []int32, data []byte) error {
	s := t.session
	if s == nil {
		return &kernel.Error{Where: "decoder: Text.Load", Got: "a text that is freed", Want: "one of a session"}
	}
	if err := s.check([]Step{{Text: t, Tokens: tokens}}, same); err != nil {
		return err
	}
	at, n := t.Len(), len(tokens)
	if t.kv.Len() != at {
		return &kernel.Error{Where: "decoder: Text.Load", Got: "a text that is to read tokens again", Want: "one that has just been read or truncated"}
	}
	var states []*engine.State
	rest := len(data)
	for _, after := range s.model.checkpoints(at, at+n) {
		states = append(states, s.newState(after, nil))
		rest -= 4 * int(s.model.layers.Carries(after))
	}
	if err := t.loadKeys(n, data, rest); err != nil {
		s.spare = append(s.spare, states...)
		return err
	}
	data = data[rest:]
	for _, state := range states {
		state.Users++
		for i, taps := range state.Taps {
			for _, layer := range [...][]float32{taps, state.Layers[i]} {
				for i := range layer {
					layer[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
				}
				data = data[4*len(layer):]
			}
		}
	}
	t.states = append(t.states, states...)
	t.tokens = append(t.tokens, tokens...)
	t.thin()
	return nil
}

// loadKeys adds the keys and values of n tokens, the first bytes of data.
func (t *Text) loadKeys(n int, data []byte, size int) error {
	s := t.session
	s.texts, s.counts = append(s.texts[:0], t), append(s.counts[:0], n)
	if err := s.extend(); err != nil {
		return err
	}
	data = data[:max(0, size)]
	for i, sequence := range t.kv {
		mine := len(data) // of the last group, with what is too much
		if i < len(t.kv)-1 {
			page, err := bytesOf(s.model.layout.groups[i])
			if err != nil {
				return err
			}
			mine = min(mine, n*page/s.model.options.PageSize)
		}
		if err := sequence.Load(data[:mine]); err != nil {
			return errors.Join(err, t.cutKeys(t.Len()))
		}
		data = data[mine:]
	}
	return nil
}
