package dialect

import (
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/server/internal/request"
)

// llamaPaths are those of llama.cpp's server that say what it is.
var llamaPaths = []Path{{"GET /props", func() Dialect { return &props{} }, ""}}

// props is /props: what the server does if a request does not say, with its first language model.
type props struct{ OpenAI }

// Read is that of [Dialect].
func (*props) Read(*Input) (*request.Request, error) {
	return &request.Request{Work: &request.About{All: true}}, nil
}

// propsAnswer is what it says.
type propsAnswer struct {
	Settings   *propsSettings  `json:"default_generation_settings,omitempty"`
	Slots      int             `json:"total_slots,omitempty"`
	Model      string          `json:"model_path"`
	Template   string          `json:"chat_template"`
	Modalities map[string]bool `json:"modalities"`
	Build      string          `json:"build_info"`
}

// propsSettings are those of a text.
type propsSettings struct {
	Context int `json:"n_ctx"`
	Params  struct {
		Temperature float64 `json:"temperature"`
		TopK        int     `json:"top_k"`
		TopP        float64 `json:"top_p"`
		Predict     int     `json:"n_predict"`
		Seed        uint64  `json:"seed"`
	} `json:"params"`
}

// Whole is that of [Dialect].
func (*props) Whole(r *request.Request) any {
	a := &propsAnswer{Modalities: map[string]bool{"vision": false, "audio": false}}
	for _, f := range r.Work.(*request.About).Models {
		if a.Build = "attn " + f.Fingerprint; f.Kind != models.KindGenerator {
			continue
		}
		a.Settings = &propsSettings{Context: f.Context}
		p, d := &a.Settings.Params, f.Defaults
		p.Temperature, p.TopK, p.TopP, p.Predict, p.Seed = d.Temperature, d.TopK, d.TopP, d.MaxTokens, d.Seed
		a.Model, a.Template, a.Slots = f.ID, f.Template, f.Slots
		break
	}
	return a
}
