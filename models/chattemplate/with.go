package chattemplate

import (
	"fmt"
	"maps"

	"github.com/attn-go/attn/models/internal/jinja"
)

// With returns the template with further variables for a conversation, such as enable_thinking. They are nil, bool,
// int, float64 or string, and count as part of the messages: special tokens in them are text. A template
// that does not read them writes what it writes without. The error is a [*VariableError], also for a name that every
// conversation has, such as messages.
func (t *Template) With(variables map[string]any) (*Template, error) {
	if len(variables) == 0 {
		return t, nil
	}
	with := *t
	if with.request = maps.Clone(t.request); with.request == nil {
		with.request = map[string]any{}
	}
	own, _ := (&Template{}).variables(nil, false)
	for name, v := range variables {
		value, err := variable(name, v)
		if err != nil {
			return nil, err
		}
		if _, is := own[name]; is {
			return nil, &VariableError{name, fmt.Sprintf("%T for a variable that conversations have", v)}
		}
		if text, ok := v.(string); ok {
			value = jinja.Outside(text)
		}
		with.request[name] = value
	}
	return &with, nil
}
