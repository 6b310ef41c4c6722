package bpe

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/tokenizer/internal/added"
)

// Tokenizer is a vocabulary, ready for use. It does not change and is safe for concurrent use.
type Tokenizer struct {
	config  Config
	split   splitter
	bytes   [][]byte         // of every token
	byteIDs [256]int32       // the token of every byte, or -1
	merges  map[pair]merge   // by what is merged
	whole   map[string]int32 // normal tokens by their bytes, if Config.WholePieces
	special *added.Set       // what is cut out of texts if special tokens are parsed
	always  *added.Set       // what is cut out of all texts; special has it too
}

// pair are the ids of two neighbours.
type pair struct{ left, right int32 }

// merge is what becomes of a pair.
type merge struct{ rank, id int32 }

// New returns a tokenizer for a vocabulary. It keeps the slices and the map of c. Errors are of
// type *ConfigError.
func New(c Config) (*Tokenizer, error) {
	if len(c.Tokens) == 0 || len(c.Tokens) > math.MaxInt32 {
		return nil, &ConfigError{"Config.Tokens", fmt.Sprintf("%d tokens", len(c.Tokens)), "1 to 2147483647"}
	}
	if c.Types != nil && len(c.Types) != len(c.Tokens) {
		return nil, &ConfigError{"Config.Types", fmt.Sprintf("%d types", len(c.Types)), fmt.Sprintf("%d, as there are tokens", len(c.Tokens))}
	}
	for role, id := range c.IDs {
		if id < 0 || int(id) >= len(c.Tokens) {
			return nil, &ConfigError{"Config.IDs of " + role, fmt.Sprint(id), fmt.Sprintf("0 to %d", len(c.Tokens)-1)}
		}
	}
	split, ok := splitters[c.Pre]
	if !ok {
		return nil, &ConfigError{"Config.Pre", fmt.Sprintf("%q", c.Pre), "one of " + strings.Join(splitterNames(), ", ")}
	}
	t := &Tokenizer{config: c, split: split}
	ids, err := t.setTokens()
	if err != nil {
		return nil, err
	}
	return t, t.setMerges(ids)
}

// setTokens sets what is known of single tokens and returns their ids.
func (t *Tokenizer) setTokens() (map[string]int32, error) {
	ids := make(map[string]int32, len(t.config.Tokens))
	t.bytes = make([][]byte, len(t.config.Tokens))
	for i, token := range t.config.Tokens {
		if token == "" {
			return nil, &ConfigError{fmt.Sprintf("token %d", i), "an empty one", "at least one character"}
		}
		if first, ok := ids[token]; ok {
			return nil, &ConfigError{fmt.Sprintf("token %d", i), fmt.Sprintf("%q as token %d", token, first), "no token twice"}
		}
		id := int32(i)
		ids[token] = id
		t.bytes[i] = []byte(token)
		if t.Type(id) == Normal {
			t.bytes[i] = toBytes(token)
		}
	}
	t.setPieces(ids)
	return ids, t.setAdded()
}

// setAdded sets the tokens that are cut out of texts.
func (t *Tokenizer) setAdded() error {
	var special, always []added.Token
	for i, token := range t.config.Tokens {
		id := int32(i)
		switch t.Type(id) {
		case Control, Unknown:
			special = append(special, added.Token{Text: token, ID: id})
		case UserDefined:
			always = append(always, added.Token{Text: token, ID: id})
		default:
			continue
		}
		if len(token) > added.MaxLength {
			return &ConfigError{fmt.Sprintf("token %d", i), fmt.Sprintf("%d bytes of type %d", len(token), t.Type(id)), fmt.Sprintf("at most %d", added.MaxLength)}
		}
	}
	t.special, t.always = added.New(slices.Concat(special, always)), added.New(always)
	return nil
}

// setPieces sets the tokens of single bytes and of whole pieces.
func (t *Tokenizer) setPieces(ids map[string]int32) {
	for b, c := range alphabet {
		t.byteIDs[b] = -1
		if id, ok := ids[string(c)]; ok && t.Type(id) == Normal {
			t.byteIDs[b] = id
		}
	}
	if !t.config.WholePieces {
		return
	}
	t.whole = make(map[string]int32, len(ids))
	for i, bytes := range t.bytes {
		if t.Type(int32(i)) == Normal {
			t.whole[string(bytes)] = int32(i)
		}
	}
}

// setMerges sets the merges. Of two that are equal the last counts, as in the reference
// implementation.
func (t *Tokenizer) setMerges(ids map[string]int32) error {
	t.merges = make(map[pair]merge, len(t.config.Merges))
	for rank, text := range t.config.Merges {
		left, right, _ := strings.Cut(text, " ")
		l, knownLeft := ids[left]
		r, knownRight := ids[right]
		id, known := ids[left+right]
		if !knownLeft || !knownRight || !known {
			return &ConfigError{fmt.Sprintf("merge %d", rank), fmt.Sprintf("%q", text), "two tokens with a space between them that together are a token"}
		}
		t.merges[pair{l, r}] = merge{int32(rank), id}
	}
	return nil
}

// Len returns the number of tokens. Ids are below it.
func (t *Tokenizer) Len() int { return len(t.config.Tokens) }

// Token returns the token with an id as the vocabulary has it, or "" if there is none.
func (t *Tokenizer) Token(id int32) string {
	if t.unknown(id) {
		return ""
	}
	return t.config.Tokens[id]
}

// Type returns the type of a token, or 0 if there is none with this id.
func (t *Tokenizer) Type(id int32) Type {
	switch {
	case t.unknown(id):
		return 0
	case t.config.Types == nil:
		return Normal
	}
	return t.config.Types[id]
}

// ID returns the id of the token with a role, such as EOS, and whether there is one.
func (t *Tokenizer) ID(role string) (id int32, ok bool) {
	id, ok = t.config.IDs[role]
	return id, ok
}

// AddBOS returns whether the model expects the BOS token before every text.
func (t *Tokenizer) AddBOS() bool { return t.config.AddBOS }

// AddEOS returns whether the model expects the EOS token after every text.
func (t *Tokenizer) AddEOS() bool { return t.config.AddEOS }

func (t *Tokenizer) unknown(id int32) bool { return id < 0 || int(id) >= len(t.config.Tokens) }
