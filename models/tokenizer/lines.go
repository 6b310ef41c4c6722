package tokenizer

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/tokenizer/internal/decode"
	"github.com/attn-go/attn/models/tokenizer/internal/normalize"
	"github.com/attn-go/attn/models/tokenizer/internal/pretokenize"
	"github.com/attn-go/attn/models/tokenizer/internal/wordpiece"
)

// Special tokens of BERT's vocabularies.
var bertRoles = map[string]string{"[UNK]": RoleUnknown, "[CLS]": RoleClass, "[SEP]": RoleSep, "[PAD]": RolePadding, "[MASK]": RoleMask}

// fromLines returns the tokenizer of vocab.txt and of tokenizer_config.json, which may be nil.
func fromLines(data, settings []byte) (*Tokenizer, error) {
	if !utf8.Valid(data) {
		return nil, &kernel.Error{Where: "tokenizer: vocab.txt", Got: "bytes that are not UTF-8", Want: "text"}
	}
	s, err := readSettings(settings, modelSettings{})
	if err != nil {
		return nil, err
	}
	n, err := s.keys.normalizer()
	if err != nil {
		return nil, err
	}
	tokens := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i, line := range tokens {
		tokens[i] = strings.TrimSuffix(line, "\r")
	}
	c, err := bertConfig("vocab.txt", tokens, tokens, n)
	if err != nil {
		return nil, err
	}
	c.left = s.left
	return newTokenizer(c)
}

// bertConfig returns the config of BERT's tokenizers with a vocabulary, which is written as the
// special tokens are in tokens, and as WordPiece has them in pieces.
func bertConfig(item string, tokens, pieces []string, n normalize.Bert) (c config, err error) {
	if len(tokens) > math.MaxInt32 {
		return c, &kernel.Error{Where: "tokenizer: " + item, Got: fmt.Sprintf("%d tokens", len(tokens)), Want: "at most 2147483647"}
	}
	ids := make(map[string]int32, len(tokens))
	c = config{tokens: pieces, ids: ids, normalize: n.Normalize, split: pretokenize.Bert(), chunks: true, roles: map[string]int32{}}
	for i, text := range pieces {
		if first, ok := ids[text]; ok || text == "" {
			return c, &kernel.Error{Where: "tokenizer: " + fmt.Sprintf("%s: token %d", item, i), Got: fmt.Sprintf("%q after token %d", text, first), Want: "no empty token and none twice"}
		}
		ids[text] = int32(i)
		if role, ok := bertRoles[tokens[i]]; ok {
			c.roles[role] = int32(i)
			c.added = append(c.added, addedToken{text: tokens[i], id: int32(i), special: true})
		}
	}
	for _, role := range [...]string{RoleUnknown, RoleClass, RoleSep} {
		if _, ok := c.roles[role]; !ok {
			return c, &kernel.Error{Where: "tokenizer: " + item, Got: "no token [" + strings.ToUpper(role) + "]", Want: "one, for the ends of texts and unknown words"}
		}
	}
	w := wordpiece.New(ids, "##", c.roles[RoleUnknown], 100)
	c.model = func() appender { return w }
	first, last := []int32{c.roles[RoleClass]}, []int32{c.roles[RoleSep]}
	c.single = around(first, last)
	c.pair = template{{ids: first}, {text: true}, {ids: last}, {text: true, second: true, kind: 1}, {ids: last, kind: 1}}
	c.decoder = []decode.Maker{decode.WordPiece("##", true)}
	return c, nil
}

// normalizer returns the normalizer of BERT. Unless it is said whether accents are stripped, they
// go with the case.
func (s *bertSettings) normalizer() (normalize.Bert, error) {
	if !s.Split {
		return normalize.Bert{}, &kernel.Error{Where: "tokenizer: " + settingsFile + ": do_basic_tokenize", Got: "false", Want: "true"}
	}
	accents := s.Lower
	if s.Accents != nil {
		accents = *s.Accents
	}
	return normalize.Bert{Clean: true, CJK: s.CJK, Accents: accents, Lower: s.Lower}, nil
}
