package dialect

import (
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// A responsesItem is an item of input.
type responsesItem struct {
	Type    string         `json:"type"` // "" is message
	Role    string         `json:"role"`
	Content fields.Content `json:"content"`
}

// Fields is that of [fields.Tabled].
func (*responsesItem) Fields() fields.Table { return fields.ResponsesItem }

// inputMessages returns the messages that items are, or that a text is.
func inputMessages(in *fields.TextOr[responsesItem]) (all []chattemplate.Message, err error) {
	if in.List == nil && in.Text != "" {
		return []chattemplate.Message{{Role: "user", Content: in.Text}}, nil
	}
	for i, it := range in.List {
		if it.Type != "" && it.Type != "message" {
			return nil, fields.Errorf("input", "input[%d].type: got %.40q, want message", i, it.Type)
		}
		switch it.Role {
		case "developer":
			it.Role = "system"
		case "system", "user", "assistant":
		default:
			return nil, fields.Errorf("input", "input[%d].role: got %.40q, want system, developer, user or assistant", i, it.Role)
		}
		all = append(all, chattemplate.Message{Role: it.Role, Content: string(it.Content)})
	}
	return all, nil
}
