package dialect

import "github.com/attn-go/attn/models/server/internal/request"

// asksAll is what reads requests about all models, or about what does not depend on one.
type asksAll struct{}

// Read is that of [Dialect].
func (asksAll) Read(*Input) (*request.Request, error) {
	return &request.Request{Work: &request.About{All: true}}, nil
}

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
