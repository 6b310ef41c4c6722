package answer

import (
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
)

// Described returns a conversation for a template that knows no tools: its first message, of the
// system, says what tools there are and how to call them, calls are the JSON that [Of] takes for
// them, and what tools answer is said by the user.
func Described(c *chattemplate.Conversation) *chattemplate.Conversation {
	to := *c
	to.Tools, to.Messages = nil, nil
	names := map[string]string{} // of tools, by the ids of calls
	for _, m := range c.Messages {
		text := []string{m.Content}
		for _, call := range m.Calls {
			names[call.ID] = call.Name
			text = append(text, `{"name": `+string(textOf(call.Name))+`, "arguments": `+line(call.Arguments)+"}")
		}
		if m.Role == "tool" {
			if m.Name == "" {
				m.Name = names[m.CallID]
			}
			m.Role, text[0] = "user", strings.TrimSpace("Result of "+m.Name)+":\n"+m.Content
		}
		if m.Content == "" && len(m.Calls) > 0 {
			text = text[1:]
		}
		m.Content, m.Calls, m.CallID, m.Name = strings.Join(text, "\n"), nil, "", ""
		if last := len(to.Messages) - 1; m.Role == "user" && last >= 0 && to.Messages[last].Role == "user" {
			to.Messages[last].Content += "\n\n" + m.Content // as many templates want turns
			continue
		}
		to.Messages = append(to.Messages, m)
	}
	if len(c.Tools) == 0 {
		return &to
	}
	var b strings.Builder
	if len(to.Messages) > 0 && to.Messages[0].Role == "system" {
		b.WriteString(to.Messages[0].Content + "\n\n")
		to.Messages = to.Messages[1:]
	}
	b.WriteString("You may call functions. To call one, answer with nothing but JSON: {\"name\": \"its name\", \"arguments\": {...}}. The functions:\n")
	for i := range c.Tools {
		t := &c.Tools[i]
		b.WriteString(`{"name": ` + string(textOf(t.Name)) + `, "description": ` + string(textOf(t.Description)) + `, "parameters": ` + line(schemaOf(t)) + "}\n")
	}
	to.Messages = append([]chattemplate.Message{{Role: "system", Content: strings.TrimSpace(b.String())}}, to.Messages...)
	return &to
}
