package server

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
	"github.com/attn-go/attn/models/tokenizer"
)

// A served model does the work of requests. There is a type for each kind: [generator], [embedder]
// and [ranker].
type served interface {
	about() *hosted
	kind() models.Kind
	facts(f *request.Facts)                   // adds what the model is
	tokenizer() (*tokenizer.Tokenizer, error) // or an error for the client

	can(w request.Work) error // nil if the model does the work of a request, which may still say what does not fit

	// do does the work of a request, if it can. What is made piece by piece is given to emit, whose
	// error ends it.
	do(r *request.Request, emit func(*request.Event) error) error

	run(ctx context.Context) // computes until ctx ends
	ready() error            // nil if requests are taken
	stats(show func(s *stat, n float64, labels ...string))
}

// A hosted model is what all served ones have.
type hosted struct {
	*Model
	fingerprint string
	s           *Settings
	*limits
}

// limits bound what requests do at once, for all models.
type limits struct {
	share    share         // of requests whose texts are made tokens of
	grammars chan struct{} // a token for each request that has one
}

func (h *hosted) about() *hosted { return h }

// kinds are the kinds as errors name them.
var kinds = map[models.Kind]string{models.KindGenerator: "a language model", models.KindEmbedder: "a model of embeddings", models.KindReranker: "a reranker"}

// serve makes what serves a model. It begins with run.
func serve(m *Model, s *Settings, l *limits, turns *batch.Turns) (served, error) {
	h := hosted{Model: m, fingerprint: m.fingerprint(s), s: s, limits: l}
	switch x := m.model.(type) {
	case models.Generates:
		return newGenerator(h, x.Generator(), turns)
	case models.Embeds:
		return newEmbedder(h, x.Embedder(), turns), nil
	case models.Ranks:
		return newRanker(h, x.Reranker(), turns), nil
	}
	return nil, &kernel.Error{Where: "server: model " + m.name, Got: "one that does no work", Want: "models.Generates, models.Embeds or models.Ranks"}
}

// ready implements served for models that always are.
func (h *hosted) ready() error { return nil }

// named returns the model as receipts name it.
func (m *Model) named() receipt.Model {
	return receipt.Model{Name: m.name, Architecture: m.architecture, Files: m.files, Adapters: m.adapters}
}

// wantReceipt reports why a request cannot have the receipts that it asks for.
func (h *hosted) wantReceipt(r *request.Request) error {
	if r.Receipt && h.files == nil {
		return badParam("receipt", "receipt: got true, but the files of %q are not known", h.name)
	}
	return nil
}

// receipts gives a request its receipts, signed if there is a key.
func (h *hosted) receipts(r *request.Request, all ...*receipt.Receipt) error {
	for _, one := range all {
		if h.s.ReceiptKey != nil {
			if err := one.Sign(h.s.ReceiptKey); err != nil {
				return err
			}
		}
	}
	r.Receipts = all
	return nil
}

// encoding waits until the texts of a request may be made tokens of. release says that they are.
func (h *hosted) encoding(r *request.Request) (release func(), err error) {
	return h.share.take(r.Ctx, r.Size)
}

// work does what a request asks for. emit gets the events of a text.
func (s *Server) work(r *request.Request, emit func(*request.Event) error) error {
	if w, ok := r.Work.(*request.About); ok && w.All {
		w.Models = []request.Facts{}
		for _, m := range s.models {
			w.Models = append(w.Models, factsOf(m, r))
		}
		return nil
	}
	m, err := s.model(r)
	if err != nil {
		return err
	}
	if w, ok := r.Work.(*request.About); ok {
		w.Models = []request.Facts{factsOf(m, r)}
		return nil
	}
	if err := m.can(r.Work); err != nil {
		return err
	}
	if m, err = hold(m, r); err != nil {
		return err
	}
	r.Fingerprint = m.about().fingerprint
	switch w := r.Work.(type) {
	case *request.Tokenize:
		return tokenize(m, r, w)
	case *request.Detokenize:
		return detokenize(m, w)
	}
	return m.do(r, func(e *request.Event) error {
		if e.First && r.Made == 1 {
			s.metrics.first.WithLabelValues(r.Model).Observe(r.First.Seconds())
		}
		return emit(e)
	})
}

// model returns the model that a request means.
func (s *Server) model(r *request.Request) (served, error) {
	name := r.Model
	r.Model = "" // the log names those that there are
	var found []served
	for _, m := range s.models {
		if name == m.about().name || r.Tagged && name == m.about().name+":latest" || name == "" && (len(s.models) == 1 || r.Unnamed && m.can(r.Work) == nil) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return nil, dialect.Fail(http.StatusNotFound, "model_not_found", "there is no model %.100q: %s", name, s.names(r)).Of("model")
	}
	r.Model = found[0].about().name
	return found[0], nil
}

// does says what models of a kind do.
var does = map[models.Kind]string{models.KindGenerator: "writes texts", models.KindEmbedder: "makes vectors", models.KindReranker: "ranks"}

// names says which models can do what a request asks for, of many the first.
func (s *Server) names(r *request.Request) string {
	const most = 8
	var list []string
	for _, m := range s.models {
		if m.can(r.Work) != nil {
			continue
		}
		if len(list) == most {
			list = append(list, "others of /v1/models")
			break
		}
		list = append(list, strconv.Quote(m.about().name))
	}
	if len(list) == 0 {
		return "no model here " + cmp.Or(does[r.Work.Kind()], "can do that")
	}
	return "want " + strings.Join(list, " or ")
}

// ofKind reports that a request is one for models of another kind.
func ofKind(m served, w request.Work) error {
	if kind := w.Kind(); kind != "" && kind != m.kind() {
		return badParam("model", "%q is %s, want %s", m.about().name, kinds[m.kind()], kinds[kind])
	}
	return nil
}

// tokenize makes tokens of a text.
func tokenize(m served, r *request.Request, w *request.Tokenize) error {
	tok, err := m.tokenizer()
	if err != nil {
		return badParam("model", "%v", err)
	}
	release, err := m.about().encoding(r)
	if err != nil {
		return err
	}
	defer release()
	if w.IDs = tok.Encode(w.Text, tokenizer.Options{NoSpecial: !w.Special}); w.IDs == nil {
		w.IDs = []int32{}
	}
	for role, to := range map[string]*string{tokenizer.RoleBOS: &w.BOS, tokenizer.RoleEOS: &w.EOS} {
		if id, ok := tok.Role(role); ok {
			*to = tok.Token(id)
		}
	}
	f := factsOf(m, r)
	r.Prompt, w.Most, w.Template = len(w.IDs), f.Context, f.Template
	return nil
}

// detokenize makes a text of tokens.
func detokenize(m served, w *request.Detokenize) error {
	tok, err := m.tokenizer()
	if err != nil {
		return badParam("model", "%v", err)
	}
	if i := options.Outside(w.IDs, tok.Len()); i >= 0 {
		return badParam("tokens", "tokens[%d]: got %d, want 0 to %d", i, w.IDs[i], tok.Len()-1)
	}
	w.Text = tok.Decode(w.IDs, true)
	return nil
}

// factsOf returns what a model is.
func factsOf(m served, r *request.Request) request.Facts {
	h := m.about()
	f := request.Facts{ID: h.name, Object: "model", Created: r.Created.Unix(), OwnedBy: "attn", Kind: m.kind(), Architecture: h.architecture, Contract: kernel.Contract, Fingerprint: h.fingerprint, Digest: h.digest}
	m.facts(&f)
	return f
}
