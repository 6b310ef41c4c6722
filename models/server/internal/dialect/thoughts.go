package dialect

import "github.com/attn-go/attn/models/server/internal/fields"

// thoughts are the fields that say whether and how much a model thinks.
type thoughts struct {
	ReasoningEffort *string     `json:"reasoning_effort"`
	Reasoning       *reasoning  `json:"reasoning"`
	EnableThinking  *bool       `json:"enable_thinking"`
	Thinking        *thinking   `json:"thinking"`
	Budget          *fields.Int `json:"thinking_token_budget"` // most tokens of thinking, -1 for no limit; also where others have it
	BudgetLlama     *fields.Int `json:"reasoning_budget"`
	BudgetQwen      *fields.Int `json:"thinking_budget"`
}

// reasoning is where others have reasoning_effort and thinking_token_budget.
type reasoning struct {
	Effort  *string     `json:"effort"`
	Enabled *bool       `json:"enabled"`
	Most    *fields.Int `json:"max_tokens"`
}

// thinking is where others have enable_thinking and thinking_token_budget.
type thinking struct {
	Type string      `json:"type"`
	Most *fields.Int `json:"budget_tokens"`
}

// variables returns what the template may read beside the messages. A template that does not read
// it writes what it writes without.
func (q *thoughts) variables() map[string]any {
	all := map[string]any{}
	effort := q.ReasoningEffort
	if x := q.Reasoning; x != nil {
		if x.Enabled != nil {
			all["enable_thinking"] = *x.Enabled
		}
		if effort == nil {
			effort = x.Effort
		}
	}
	if x := q.Thinking; x != nil && x.Type != "auto" && x.Type != "adaptive" {
		all["enable_thinking"] = x.Type == "enabled"
	}
	if effort != nil {
		all["reasoning_effort"] = *effort
		if *effort == "none" {
			all["enable_thinking"] = false
		}
	}
	if q.EnableThinking != nil {
		all["enable_thinking"] = *q.EnableThinking
	}
	return all
}

// budget returns the most tokens of thinking, nil for no limit.
func (q *thoughts) budget() (*int, error) {
	if x := q.Thinking; x != nil && x.Type != "enabled" && x.Type != "disabled" && x.Type != "auto" && x.Type != "adaptive" {
		return nil, fields.Errorf("thinking", "thinking.type: got %.40q, want enabled, disabled, adaptive or auto", x.Type)
	}
	r, t := reasoning{}, thinking{}
	fields.Set(&r, q.Reasoning)
	fields.Set(&t, q.Thinking)
	for _, x := range []struct {
		name string
		n    *fields.Int
	}{{"thinking_token_budget", q.Budget}, {"reasoning_budget", q.BudgetLlama}, {"thinking_budget", q.BudgetQwen}, {"reasoning.max_tokens", r.Most}, {"thinking.budget_tokens", t.Most}} {
		if x.n != nil && *x.n < -1 {
			return nil, fields.Errorf(x.name, "%s: got %d, want 0 or more, or -1 for no limit", x.name, *x.n)
		}
		if x.n != nil && *x.n >= 0 {
			n := 0
			fields.SetInt(&n, x.n)
			return &n, nil
		}
	}
	return nil, nil
}
