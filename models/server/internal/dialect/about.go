package dialect

import "github.com/attn-go/attn/models/server/internal/request"

// about is the list of all models, or the entry of one.
type about struct {
	OpenAI
	all bool
}

// Read is that of [Dialect].
func (a *about) Read(in *Input) (*request.Request, error) {
	return &request.Request{Model: in.Name, Work: &request.About{All: a.all}}, nil
}

// Whole is that of [Dialect].
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
