package chattemplate

import (
	"maps"
	"slices"

	"github.com/attn-go/attn/models/internal/jinja"
)

// fixed are the variables that every conversation has.
var fixed = []string{"messages", "add_generation_prompt", "bos_token", "eos_token", "tools", "documents", "strftime_now"}

// WithVariables returns the template with further variables for a conversation, such as enable_thinking. They are nil, bool,
// int, float64 or string, and count as part of the messages: special tokens in them are text. A template
// that does not read them writes what it writes without. The error is a [*kernel.Error] about the variable, also for a name that every
// conversation has, such as messages.
func (t *Template) WithVariables(variables map[string]any) (*Template, error) {
	if len(variables) == 0 {
		return t, nil
	}
	with := *t
	if with.request = maps.Clone(t.request); with.request == nil {
		with.request = map[string]any{}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) { // so that of several errors it is always the same
		v := variables[name]
		value, err := variable(name, v)
		if err != nil {
			return nil, err
		}
		if slices.Contains(fixed, name) {
			return nil, badVariable(name, "one that every conversation has", "another name")
		}
		if text, ok := v.(string); ok {
			value = jinja.Outside(text)
		}
		with.request[name] = value
	}
	return &with, nil
}
