package dialect

import (
	"fmt"
	"math"
	"time"

	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// ollamaEmbed is /api/embed: vectors of texts; old is /api/embeddings, which makes one.
type ollamaEmbed struct {
	ollama
	ollamaClock
	old bool
}

// ollamaEmbedRequest is the body of a request.
type ollamaEmbedRequest struct {
	Model      string        `json:"model"`
	Input      fields.Inputs `json:"input"`
	Truncate   *bool         `json:"truncate"` // default true
	Dimensions *fields.Int   `json:"dimensions"`
	Receipt    bool          `json:"receipt"` // whether to add a receipt
}

// ollamaEmbeddingsRequest is the body of /api/embeddings.
type ollamaEmbeddingsRequest struct {
	Model  string `json:"model"`
	Prompt string `json:"prompt"`
}

// Read implements [Dialect].
func (d *ollamaEmbed) Read(in *Input) (*request.Request, error) {
	var q ollamaEmbedRequest
	d.start(in)
	if d.old {
		var one ollamaEmbeddingsRequest
		if err := in.decode(&one); err != nil {
			return nil, err
		}
		q.Model, q.Input.Texts = one.Model, []string{one.Prompt}
	} else if err := in.decode(&q); err != nil {
		return nil, err
	}
	w := &request.Embed{Inputs: request.Inputs(q.Input), Truncate: true}
	fields.Set(&w.Truncate, q.Truncate)
	w.Dimensions = dimensionsOf(q.Dimensions)
	return &request.Request{Model: q.Model, Tagged: true, Receipt: q.Receipt, Work: w}, nil
}

// Whole implements [Dialect].
func (d *ollamaEmbed) Whole(r *request.Request) any {
	vectors := r.Work.(*request.Embed).Vectors
	if d.old {
		return map[string][]float32{"embedding": vectors[0]}
	}
	return struct {
		Model      string        `json:"model"`
		Embeddings [][]float32   `json:"embeddings"`
		Total      time.Duration `json:"total_duration,omitempty"`
		Prompt     int           `json:"prompt_eval_count"`
		marks
	}{r.Model, vectors, d.total(), r.Prompt, marksOf(r)}
}

// ollamaDetailsOf returns the details of a model, as far as they are known.
func ollamaDetailsOf(f *request.Facts) map[string]any {
	return map[string]any{"family": f.Architecture, "families": []string{f.Architecture}, "format": "", "parent_model": "", "parameter_size": "", "quantization_level": ""}
}

// ollamaModels is /api/tags and /api/ps: the models, and those that are loaded.
type ollamaModels struct {
	ollama
	asksAll
	loaded bool
}

// ollamaModel is a model of the list. Its size is not known here.
type ollamaModel struct {
	Name     string         `json:"name"`
	Model    string         `json:"model"`
	Modified string         `json:"modified_at,omitempty"`
	Size     int64          `json:"size"`
	Digest   string         `json:"digest"`
	Details  map[string]any `json:"details"`
	*ollamaLoaded
}

// ollamaLoaded is what a model has that is loaded.
type ollamaLoaded struct {
	Expires string `json:"expires_at"`
	Video   int64  `json:"size_vram"`
	Context int    `json:"context_length"`
}

// Whole implements [Dialect].
func (m *ollamaModels) Whole(r *request.Request) any {
	list := []ollamaModel{}
	for _, f := range r.Work.(*request.About).Models {
		one := ollamaModel{Name: f.ID, Model: f.ID, Digest: f.Digest, Details: ollamaDetailsOf(&f)}
		if m.loaded && f.Loaded != nil && !*f.Loaded {
			continue
		}
		if m.loaded { // until the server ends, as with keep_alive -1 in Ollama
			one.ollamaLoaded = &ollamaLoaded{ollamaTime(r.Created.Add(math.MaxInt64)), 0, f.Context}
		} else {
			one.Modified = ollamaTime(r.Created)
		}
		list = append(list, one)
	}
	return map[string][]ollamaModel{"models": list}
}

// ollamaShow is /api/show: what a model is.
type ollamaShow struct{ ollama }

// ollamaShowRequest is the body of a request.
type ollamaShowRequest struct {
	Model string `json:"model"`
	Name  string `json:"name"` // the old name of it
}

// Read implements [Dialect].
func (*ollamaShow) Read(in *Input) (*request.Request, error) {
	var q ollamaShowRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	if q.Model == "" {
		q.Model = q.Name
	}
	return &request.Request{Model: q.Model, Tagged: true, Work: &request.About{}}, nil
}

// Whole implements [Dialect].
func (*ollamaShow) Whole(r *request.Request) any {
	f := &r.Work.(*request.About).Models[0]
	info := map[string]any{"general.architecture": f.Architecture, f.Architecture + ".context_length": f.Context}
	for name, n := range map[string]int{".block_count": f.Layers, ".embedding_length": f.Dimensions, ".vocab_size": f.Vocabulary} {
		if n > 0 {
			info[f.Architecture+name] = n
		}
	}
	capabilities := append([]string{}, f.Abilities...)
	for _, task := range f.Tasks {
		if task != "chat" { // which every model that has it has beside completion
			capabilities = append(capabilities, task)
		}
	}
	parameters := ""
	if d := f.Defaults; d != nil {
		parameters = fmt.Sprintf("num_predict %d\ntemperature %v\ntop_k %d\ntop_p %v\nseed %d", d.MaxTokens, d.Temperature, d.TopK, d.TopP, d.Seed)
	}
	return struct {
		Parameters   string         `json:"parameters"`
		Template     string         `json:"template"` // in the language Jinja
		Details      map[string]any `json:"details"`
		Info         map[string]any `json:"model_info"`
		Capabilities []string       `json:"capabilities"`
		Modified     string         `json:"modified_at"`
	}{parameters, f.Template, ollamaDetailsOf(f), info, capabilities, ollamaTime(r.Created)}
}

// ollamaVersion is /api/version: of Ollama's API that this is, which clients look at before they
// ask for more.
type ollamaVersion struct {
	ollama
	asksAll
}

// Whole implements [Dialect].
func (*ollamaVersion) Whole(*request.Request) any { return map[string]string{"version": "0.12.6"} }
