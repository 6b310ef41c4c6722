package dialect

import (
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/server/internal/request"
)

// llamaPaths are those of llama.cpp's server that say what it is.
var llamaPaths = []Path{{"GET /props", func() Dialect { return &props{} }, ""}}

// props is /props: what the server does if a request does not say, with its first language model.
type props struct {
	OpenAI
	asksAll
}

// Whole is that of [Dialect].
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
