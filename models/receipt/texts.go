package receipt

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/reranking"
)

// Embeddings are what an embedder has made of texts.
type Embeddings struct {
	Settings EmbeddingSettings `json:"settings"`
	Texts    []Reading         `json:"texts"`
}

// EmbeddingSettings are the settings of [embedding.LoadOptions] and [embedding.Options] that change
// vectors.
type EmbeddingSettings struct {
	Int8       bool   `json:"int8"`               // the precision is that, as in [Settings]
	BFloat16   bool   `json:"bfloat16,omitempty"` // or that
	Unit       bool   `json:"unit"`
	Context    int    `json:"context"`
	Prompt     string `json:"prompt"` // its name
	Dimensions int    `json:"dimensions"`
}

// A Ranking is what a reranker has made of passages.
type Ranking struct {
	Int8        bool      `json:"int8"`                  // the precision is that, as in [Settings]
	BFloat16    bool      `json:"bfloat16,omitempty"`    // or that
	Instruction string    `json:"instruction,omitempty"` // of [reranking.Options], as is Label
	Label       string    `json:"label,omitempty"`
	Query       string    `json:"query"`
	Passages    []Reading `json:"passages"` // in the order in which they were given
}

// A Reading is a text that was read, and the SHA-256 of what came of it.
type Reading struct {
	Text   string  `json:"text"`   // without bytes that are not UTF-8, which models do not see
	Tokens []int32 `json:"tokens"` // as the model sees them: cut, with query and special tokens
	Hash   Hash    `json:"hash"`   // of the vector, or of the score
}

// MostTexts is the most texts or passages of a receipt.
const MostTexts = 1 << 16

// read returns what was read, and hashes what came of it.
func read(text string, tokens []int32, result []float32) Reading {
	return Reading{text, slices.Concat([]int32{}, tokens), hashOf(result)}
}

func hashOf(result []float32) (h Hash) {
	sum := sha256.New()
	writeFloats(sum, result)
	sum.Sum(h[:0])
	return h
}

// valid returns what models see of a text. JSON holds no other bytes.
func valid(text string) string { return strings.ToValidUTF8(text, "") }

// RecordEmbeddings returns the receipt of the vectors that e, which model names and which was
// loaded with load, made of texts. It refuses Options.Split and more than [MostTexts] texts or
// [MostTokens] tokens by a [*kernel.Error].
func RecordEmbeddings(model Model, load embedding.LoadOptions, e *embedding.Embedder, texts []string, vectors [][]float32) (*Receipt, error) {
	o := e.Options()
	if o.Split {
		return nil, bad("Options.Split", true, "false: a receipt has one vector for the tokens of a text")
	}
	if len(vectors) != len(texts) {
		return nil, bad("vectors", len(vectors), fmt.Sprintf("%d, one for each text", len(texts)))
	}
	all := &Embeddings{Settings: EmbeddingSettings{load.Precision == precision.Int8, load.Precision == precision.BFloat16, load.Unit, load.Context, o.Prompt, o.Dimensions}}
	for i, text := range texts {
		text = valid(text)
		all.Texts = append(all.Texts, read(text, e.Tokens(text), vectors[i]))
	}
	r := &Receipt{Version: Version, Contract: kernel.Contract, Model: model, Embeddings: all}
	return r, r.check()
}

// RecordRanking returns the receipt of the scores that k, which model names and which was loaded
// with load, gave to passages. Errors come from [reranking.Reranker.Pairs], or are a
// [*kernel.Error] for more than [MostTexts] passages or [MostTokens] tokens.
func RecordRanking(ctx context.Context, model Model, load embedding.LoadOptions, k *reranking.Reranker, query string, passages []string, scores []float32) (*Receipt, error) {
	if len(scores) != len(passages) {
		return nil, bad("scores", len(scores), fmt.Sprintf("%d, one for each passage", len(passages)))
	}
	o := k.Options()
	all := &Ranking{Int8: load.Precision == precision.Int8, BFloat16: load.Precision == precision.BFloat16, Instruction: o.Instruction, Label: o.Label, Query: valid(query)}
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = valid(p)
	}
	pairs, err := k.Pairs(ctx, all.Query, texts)
	if err != nil {
		return nil, err
	}
	for i, p := range pairs {
		all.Passages = append(all.Passages, read(texts[i], p.Tokens(), scores[i:i+1]))
	}
	r := &Receipt{Version: Version, Contract: kernel.Contract, Model: model, Ranking: all}
	return r, r.check()
}

// LoadOptions returns the options to load the embedder with.
func (s *EmbeddingSettings) LoadOptions() embedding.LoadOptions {
	p, _ := precisionOf("", s.Int8, s.BFloat16) // a receipt that is read has one
	return embedding.LoadOptions{Precision: p, Unit: s.Unit, Context: s.Context}
}

func (e *Embeddings) check() error {
	if _, err := precisionOf("embeddings.settings", e.Settings.Int8, e.Settings.BFloat16); err != nil {
		return err
	}
	if s := &e.Settings; s.Context < 0 || s.Context > MostTokens {
		return bad("embeddings.settings.context", s.Context, fmt.Sprintf("0 to %d", MostTokens))
	} else if s.Dimensions < 0 {
		return bad("embeddings.settings.dimensions", s.Dimensions, "0 or more")
	}
	return checkReadings("texts", e.Texts)
}

func (k *Ranking) check() error {
	if _, err := precisionOf("ranking", k.Int8, k.BFloat16); err != nil {
		return err
	}
	return checkReadings("passages", k.Passages)
}

func checkReadings(field string, all []Reading) error {
	if n := len(all); n < 1 || n > MostTexts {
		return bad(field, n, fmt.Sprintf("1 to %d", MostTexts))
	}
	tokens := 0
	for _, one := range all {
		tokens += len(one.Tokens)
	}
	if tokens > MostTokens {
		return bad(field, fmt.Sprintf("%d tokens", tokens), fmt.Sprintf("at most %d together", MostTokens))
	}
	return nil
}

// VerifyEmbeddings is [Verify] for a receipt of Embeddings. e was loaded with
// [EmbeddingSettings.LoadOptions]; the other settings are taken from the receipt. Other errors come
// from [embedding.Embedder.EmbedEncoded].
func VerifyEmbeddings(ctx context.Context, model Model, e *embedding.Embedder, r *Receipt, o Options) error {
	if err := r.begin(model, o, r.Embeddings != nil, "embeddings"); err != nil {
		return err
	}
	options := e.Options()
	options.Prompt, options.Dimensions, options.Split, options.Overlap = r.Embeddings.Settings.Prompt, r.Embeddings.Settings.Dimensions, false, 0
	e = e.With(options)
	if _, err := e.EmbedTokens(ctx, nil); err != nil {
		return mismatch("settings", -1, "one that the model does not have", err.Error())
	}
	tokens := func(texts []string) (ids [][]int32, err error) {
		for _, text := range texts {
			ids = append(ids, e.Tokens(text))
		}
		return ids, nil
	}
	return verifyReadings(ctx, "texts", r.Embeddings.Texts, o, tokens, func(ctx context.Context, _ []string, ids [][]int32) ([][]float32, error) {
		return e.EmbedEncoded(ctx, ids)
	})
}

// VerifyRanking is [Verify] for a receipt of a Ranking. k was loaded with the receipt's precision;
// the other settings are taken from the receipt. Other errors come from [reranking.Reranker.Score].
func VerifyRanking(ctx context.Context, model Model, k *reranking.Reranker, r *Receipt, o Options) error {
	if err := r.begin(model, o, r.Ranking != nil, "a ranking"); err != nil {
		return err
	}
	settings := k.Options()
	settings.Instruction, settings.Label = r.Ranking.Instruction, r.Ranking.Label
	k = k.With(settings)
	if err := k.Check(); err != nil {
		return mismatch("settings", -1, "one that the model does not have", err.Error())
	}
	tokens := func(texts []string) ([][]int32, error) {
		pairs, err := k.Pairs(ctx, r.Ranking.Query, texts)
		ids := make([][]int32, len(pairs))
		for i, p := range pairs {
			ids[i] = p.Tokens()
		}
		return ids, err
	}
	return verifyReadings(ctx, "passages", r.Ranking.Passages, o, tokens, func(ctx context.Context, texts []string, _ [][]int32) ([][]float32, error) {
		scores, err := k.Score(ctx, r.Ranking.Query, texts)
		return slices.Collect(slices.Chunk(scores, 1)), err
	})
}

// verifyReadings compares the tokens of texts and the hashes of what compute makes of them, some
// texts at a time.
func verifyReadings(ctx context.Context, field string, all []Reading, o Options, tokens func(texts []string) ([][]int32, error), compute func(ctx context.Context, texts []string, ids [][]int32) ([][]float32, error)) error {
	for places := range slices.Chunk(o.places(len(all)), chunk) {
		texts := make([]string, len(places))
		for i, at := range places {
			texts[i] = all[at].Text
		}
		ids, err := tokens(texts)
		if err != nil {
			return err
		}
		for i, at := range places {
			if got := all[at].Tokens; !slices.Equal(got, ids[i]) {
				return mismatch(field, at, "tokens "+brief(got), brief(ids[i])+", which the text gives")
			}
		}
		results, err := compute(ctx, texts, ids)
		if err != nil {
			return err
		}
		for i, at := range places {
			if h := hashOf(results[i]); h != all[at].Hash {
				return mismatch(field, at, all[at].Hash.String(), h.String()+", of what was computed")
			}
		}
	}
	return nil
}

// brief returns the beginning of tokens, for a message.
func brief(ids []int32) string {
	if len(ids) > 8 {
		return fmt.Sprintf("%d of %d", ids[:8], len(ids))
	}
	return fmt.Sprint(ids)
}
