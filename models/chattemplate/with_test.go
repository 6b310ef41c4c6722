package chattemplate_test

import (
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
)

// TestWithVariables: a conversation's own variables reach the template that reads them, as text, and leave others as they are.
func TestWithVariables(t *testing.T) {
	const reads = "{% if enable_thinking is defined and not enable_thinking %}no {% endif %}{{ reasoning_effort }}{{ n + 1 if n is defined }}{{ bos_token }}"
	template, err := chattemplate.NewWith(reads, chattemplate.Options{BOS: "<s>", Variables: map[string]any{"reasoning_effort": "medium"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variables map[string]any
		want      string
	}{
		{nil, "medium<s>"},
		{map[string]any{"enable_thinking": false, "other": "x"}, "no medium<s>"},
		{map[string]any{"enable_thinking": true, "reasoning_effort": "<s>", "n": 2}, "<s>3<s>"},
	} {
		with, err := template.WithVariables(c.variables)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := with.Render(nil, false); err != nil || got != c.want {
			t.Errorf("%v: %q, %v, want %q", c.variables, got, err, c.want)
		}
	}
	with, err := template.WithVariables(map[string]any{"reasoning_effort": "<s>"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := with.WithVariables(map[string]any{"enable_thinking": false}); err != nil {
		t.Error(err)
	} else if got, err := again.Render(nil, false); err != nil || got != "no <s><s>" {
		t.Errorf("twice: %q, %v", got, err)
	}
	parts, err := with.Parts(t.Context(), nil, false)
	if err != nil || len(parts) != 2 || parts[0].Special || !parts[1].Special {
		t.Errorf("%+v, %v, want a text and a special token", parts, err)
	}
	if got, err := template.Render(nil, false); err != nil || got != "medium<s>" {
		t.Errorf("the template has changed: %q, %v", got, err)
	}
	for name, v := range map[string]any{"messages": "x", "bos_token": "x", "eos_token": "x", "tools": true, "documents": nil, "add_generation_prompt": false, "strftime_now": 1, "list": struct{}{}} {
		if _, err := template.WithVariables(map[string]any{name: v}); !isError(err, kernel.ErrArgument, name, "want") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 20 { // of several errors it is always the same
		_, err := template.WithVariables(map[string]any{"tools": 1, "messages": "x", "documents": 2})
		if want := "chattemplate: documents: one that every conversation has, want another name"; err == nil || err.Error() != want {
			t.Fatalf("%v, want %s", err, want)
		}
	}
}
