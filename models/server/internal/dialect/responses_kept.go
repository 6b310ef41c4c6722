package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// keptResponse is a response that is asked for again, deleted or cancelled.
type keptResponse struct {
	OpenAI
	remove, cancel bool
	name           string
	body           json.RawMessage
}

// keptIn returns the answer that a path names.
func keptIn(in *Input) (*keptAnswer, error) {
	v, ok := in.Kept.Get(in.Shelf, in.Name)
	if !ok {
		return nil, noResponse(in.Name)
	}
	return v.(*keptAnswer), nil
}

// checkQuery reports a field of the query that names lacks, or an include that answers never have.
func checkQuery(in *Input, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(in.Query)) {
		known := name
		if name == "include[]" { // as some clients write a list
			known = "include"
		}
		if len(in.Query[name]) > 1 && known != "include" || !slices.Contains(names, known) {
			return fields.Errorf(name, "%.40s: got %.40q in the query, want one of %s", name, in.Query.Get(name), strings.Join(names, ", "))
		}
		for _, value := range in.Query[name] {
			if known == "include" && !slices.Contains(included, value) {
				return fields.Errorf("include", "include: got %.60q, want %s", value, strings.Join(included, " or "))
			}
		}
	}
	return nil
}

// Read implements [Dialect]. What include asks for is in the body if the request asked for it: an
// answer is kept as it was.
func (d *keptResponse) Read(in *Input) (*request.Request, error) {
	if err := checkQuery(in, "stream", "include"); err != nil {
		return nil, err
	}
	if q := in.Query.Get("stream"); q != "" && q != "false" && q != "False" {
		return nil, fields.Errorf("stream", "stream: got %.40q in the query, want false: a kept response comes as a whole, as it was", q)
	}
	a, err := keptIn(in)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(slices.Concat(in.Query["include"], in.Query["include[]"]), func(name string) bool { return name == logprobsIncluded }) && !a.logprobs {
		return nil, fields.Errorf("include", "include: got %s, want it in the request that made the response: it was made without logarithms", logprobsIncluded)
	}
	d.name, d.body = in.Name, a.body
	if d.cancel {
		return nil, Fail(http.StatusBadRequest, "", "the response is complete, and none is made in the background: whoever closes the connection cancels one")
	}
	if d.remove {
		in.Kept.Delete(in.Shelf, in.Name)
	}
	return &request.Request{Work: &request.About{All: true}}, nil
}

// Whole implements [Dialect].
func (d *keptResponse) Whole(*request.Request) any {
	if !d.remove {
		return d.body
	}
	return struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{d.name, "response", true}
}

// inputItems is the list of the items that a kept response was made from, including the items of
// earlier responses.
type inputItems struct {
	OpenAI
	list []inputItem
	more bool
}

// inputItem is an item of input, of which the fields are there that its type has.
type inputItem struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Status    string         `json:"status"`
	Role      string         `json:"role,omitempty"`
	Content   *[]thoughtPart `json:"content,omitempty"`
	Summary   *[]any         `json:"summary,omitempty"`
	CallID    string         `json:"call_id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Arguments *string        `json:"arguments,omitempty"`
	Output    *string        `json:"output,omitempty"`
}

// The most items of a list, and how many it has if the query does not say.
const mostItems, someItems = 100, 20

// Read implements [Dialect].
func (d *inputItems) Read(in *Input) (*request.Request, error) {
	if err := checkQuery(in, "limit", "order", "after", "include"); err != nil {
		return nil, err
	}
	a, err := keptIn(in)
	if err != nil {
		return nil, err
	}
	limit := someItems
	if text := in.Query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostItems {
			return nil, fields.Errorf("limit", "limit: got %.40q, want 1 to %d", text, mostItems)
		}
	}
	all := itemsOfInput(in.Name, a.said[:len(a.said)-1])
	switch order := in.Query.Get("order"); order {
	case "", "desc":
		slices.Reverse(all)
	case "asc":
	default:
		return nil, fields.Errorf("order", "order: got %.40q, want asc or desc", order)
	}
	if after := in.Query.Get("after"); after != "" {
		at := slices.IndexFunc(all, func(it inputItem) bool { return it.ID == after })
		if at < 0 {
			return nil, fields.Errorf("after", "after: got %.80q, want the id of an item", after)
		}
		all = all[at+1:]
	}
	d.more = len(all) > limit
	d.list = all[:min(limit, len(all))]
	return &request.Request{Work: &request.About{All: true}}, nil
}

// itemsOfInput returns messages as items of the input of a response.
func itemsOfInput(name string, said []chattemplate.Message) []inputItem {
	list := []inputItem{}
	add := func(kind itemKind, it inputItem) *inputItem {
		it.ID, it.Status = fmt.Sprintf("%s_in_%s_%d", responsesIDs[kind], strings.TrimPrefix(name, "resp_"), len(list)), "completed"
		list = append(list, it)
		return &list[len(list)-1]
	}
	for _, m := range said {
		switch m.Role {
		case "tool":
			add(callItem, inputItem{Type: "function_call_output", CallID: m.CallID, Output: &m.Content})
			continue
		case "assistant":
			if m.Reasoning != "" {
				add(thoughtItem, inputItem{Type: "reasoning", Summary: &[]any{}, Content: &[]thoughtPart{{"reasoning_text", m.Reasoning}}})
			}
			if m.Content != "" || m.Reasoning == "" && len(m.Calls) == 0 {
				add(textItem, inputItem{Type: "message", Role: m.Role, Content: &[]thoughtPart{{"output_text", m.Content}}})
			}
		default:
			add(textItem, inputItem{Type: "message", Role: m.Role, Content: &[]thoughtPart{{"input_text", m.Content}}})
		}
		for _, call := range m.Calls {
			arguments := string(call.Arguments)
			add(callItem, inputItem{Type: "function_call", CallID: call.ID, Name: call.Name, Arguments: &arguments})
		}
	}
	return list
}

// Whole implements [Dialect].
func (d *inputItems) Whole(*request.Request) any {
	list := struct {
		Object string      `json:"object"`
		Data   []inputItem `json:"data"`
		First  *string     `json:"first_id"`
		Last   *string     `json:"last_id"`
		More   bool        `json:"has_more"`
	}{Object: "list", Data: d.list, More: d.more}
	if n := len(d.list); n > 0 {
		list.First, list.Last = &d.list[0].ID, &d.list[n-1].ID
	}
	return list
}
