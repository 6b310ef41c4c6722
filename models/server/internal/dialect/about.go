package dialect

import (
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/server/internal/request"
)

// asksAll is what reads requests about all models, or about what does not depend on one.
type asksAll struct{}

// Read implements [Dialect].
func (asksAll) Read(*Input) (*request.Request, error) {
	return &request.Request{Work: &request.About{All: true}}, nil
}

// about is the list of all models, or the entry of one.
type about struct {
	OpenAI
	all bool
}

// Read implements [Dialect].
func (a *about) Read(in *Input) (*request.Request, error) {
	return &request.Request{Model: in.Name, Work: &request.About{All: a.all}}, nil
}

// Whole implements [Dialect].
func (a *about) Whole(r *request.Request) any {
	list := r.Work.(*request.About).Models
	if !a.all {
		return list[0]
	}
	return struct {
		Object string          `json:"object"`
		Data   []request.Facts `json:"data"`
	}{"list", list}
}

// llamaPaths are the paths on which llama.cpp's server says what it is.
var llamaPaths = []Path{{"GET /props", func() Dialect { return &props{} }, ""}}

// props is /props: what the server does if a request does not say, with its first language model.
type props struct {
	OpenAI
	asksAll
}

// Whole implements [Dialect].
func (*props) Whole(r *request.Request) any {
	type object = map[string]any
	answer := object{"modalities": object{"vision": false, "audio": false}}
	for _, f := range r.Work.(*request.About).Models {
		if d := f.Defaults; f.Kind == models.KindGenerator {
			answer["model_path"], answer["chat_template"], answer["build_info"], answer["total_slots"] = f.ID, f.Template, "attn "+f.Fingerprint, f.Slots
			answer["default_generation_settings"] = object{"n_ctx": f.Context, "params": object{
				"temperature": d.Temperature, "top_k": d.TopK, "top_p": d.TopP, "n_predict": d.MaxTokens, "seed": d.Seed,
			}}
			break
		}
	}
	return answer
}
