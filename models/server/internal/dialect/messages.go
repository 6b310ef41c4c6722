package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// A message belongs to a conversation.
type message struct {
	Role      string         `json:"role"`
	Content   fields.Content `json:"content"`
	Name      string         `json:"name"`
	Reasoning string         `json:"reasoning_content"`
	Thoughts  string         `json:"reasoning"` // as others name it
	Calls     []toolCall     `json:"tool_calls"`
	CallID    string         `json:"tool_call_id"`

	// Of Ollama's API.
	Thinking string `json:"thinking"`
	Tool     string `json:"tool_name"`
}

// A toolCall is a call of a tool.
type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function called `json:"function"`
}

// called is the function of a call.
type called struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string that is JSON, or an object
}

// A tool is one that a model may call.
type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// A function is what a tool is.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// messagesOf returns the messages of a conversation.
func messagesOf(list []message) ([]chattemplate.Message, error) {
	all := make([]chattemplate.Message, len(list))
	for i, m := range list {
		switch m.Role {
		case "developer": // what newer models of OpenAI call it
			m.Role = "system"
		case "system", "user", "assistant", "tool":
		default:
			return nil, fields.Errorf("messages", "messages[%d].role: got %.40q, want system, user, assistant or tool", i, m.Role)
		}
		m.Reasoning, m.Name = cmp.Or(m.Reasoning, m.Thoughts, m.Thinking), cmp.Or(m.Name, m.Tool)
		if m.Role != "assistant" && (len(m.Calls) > 0 || m.Reasoning != "") {
			at := fmt.Sprintf("messages[%d].role", i)
			return nil, fields.Errorf(at, "%s: got %s beside tool_calls or reasoning_content, want assistant", at, m.Role)
		}
		all[i] = chattemplate.Message{Role: m.Role, Content: string(m.Content), Name: m.Name, Reasoning: m.Reasoning, CallID: m.CallID}
		for k, call := range m.Calls {
			arguments, err := argumentsOf(call.Function.Arguments)
			at := fmt.Sprintf("messages[%d].tool_calls[%d]", i, k)
			switch {
			case call.Type != "" && call.Type != "function":
				return nil, fields.Errorf(at, "%s.type: got %.40q, want function", at, call.Type)
			case call.Function.Name == "":
				return nil, fields.Errorf(at, "%s.function.name: got none, want that of a tool", at)
			case err != nil:
				return nil, fields.Errorf(at, "%s.function.arguments: %v", at, err)
			}
			all[i].Calls = append(all[i].Calls, chattemplate.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: arguments})
		}
	}
	return all, nil
}

// argumentsOf returns the object of arguments, which may be in a string. None are an object without
// any.
func argumentsOf(data json.RawMessage) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(data, &text) == nil {
		data = json.RawMessage(text)
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return json.RawMessage("{}"), nil
	}
	if data[0] != '{' || !json.Valid(data) {
		return nil, fmt.Errorf("got %.40q, want a JSON object", data)
	}
	return data, nil
}

// toolName is the form of the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,128}$`)

// mostTools is the most tools of a request.
const mostTools = 1024

// toolsOf returns the tools of a conversation. name and schema are the fields that have these.
func toolsOf(list []tool, name, schema string) ([]chattemplate.Tool, error) {
	if len(list) > mostTools {
		return nil, fields.Errorf("tools", "tools: got %d, want at most %d", len(list), mostTools)
	}
	var all []chattemplate.Tool
	seen := map[string]bool{}
	for i, t := range list {
		at := fmt.Sprintf("tools[%d]", i)
		f := t.Function
		switch {
		case t.Type != "function":
			return nil, fields.Errorf(at, "%s.type: got %.40q, want function", at, t.Type)
		case !toolName.MatchString(f.Name):
			return nil, fields.Errorf(at, "%s.%s: got %.40q, want 1 to 128 letters, digits or _ . : / -", at, name, f.Name)
		case seen[f.Name]:
			return nil, fields.Errorf(at, "%s.%s: got %.40q twice, want another name", at, name, f.Name)
		}
		seen[f.Name] = true
		if fields.IsNull(f.Parameters) {
			f.Parameters = nil
		} else if f.Parameters = bytes.TrimSpace(f.Parameters); len(f.Parameters) > 0 && f.Parameters[0] != '{' {
			return nil, fields.Errorf(at, "%s.%s: got %.40s, want a JSON Schema of an object", at, schema, f.Parameters)
		}
		all = append(all, chattemplate.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters, Strict: f.Strict})
	}
	return all, nil
}

// A toolChoice says which tools may be called: a word, or an object, in the forms of all APIs.
type toolChoice struct {
	Type     string   `json:"type"` // function, allowed_tools, or what a string says
	Function named    `json:"function"`
	Name     string   `json:"name"` // of a function, where others have it
	Allowed  *allowed `json:"allowed_tools"`
	allowed           // where others have them
	Single   bool     `json:"disable_parallel_tool_use"`
}

// named is a function by its name.
type named struct {
	Name string `json:"name"`
}

// allowed are tools of which an answer may call some.
type allowed struct {
	Mode  string      `json:"mode"` // auto or required
	Tools []namedTool `json:"tools"`
}

// A namedTool is a tool by its name.
type namedTool struct {
	Type     string `json:"type"`
	Function named  `json:"function"`
	Name     string `json:"name"` // where others have it
}

// Word implements [fields.Worded].
func (c *toolChoice) Word(text string) { c.Type = text }

// choosing returns what the choice says of tools.
func (c *toolChoice) choosing(tools []chattemplate.Tool) (to request.Choosing, err error) {
	if c == nil {
		return request.Choosing{}, nil
	}
	mode := c.Type
	to.Single = c.Single
	switch c.Type {
	case "function", "tool":
		mode, to.Names = "required", []string{cmp.Or(c.Function.Name, c.Name)}
	case "allowed_tools":
		list := cmp.Or(c.Allowed, &c.allowed)
		mode, to.Names = list.Mode, []string{}
		for _, t := range list.Tools {
			to.Names = append(to.Names, cmp.Or(t.Function.Name, t.Name))
		}
	}
	switch mode {
	case "none":
		to.None = true
	case "auto":
	case "required", "any":
		to.Required = true
	default:
		return to, fields.Errorf("tool_choice", "tool_choice: got %.40q, want none, auto, required, or a function", mode)
	}
	for _, name := range to.Names {
		if !slices.ContainsFunc(tools, func(t chattemplate.Tool) bool { return t.Name == name }) {
			return to, fields.Errorf("tool_choice", "tool_choice: got the function %.40q, want one of tools", name)
		}
	}
	if to.Required && to.Names != nil && len(to.Names) == 0 {
		return to, fields.Errorf("tool_choice", "tool_choice: got %s with no allowed tool, want at least one", mode)
	}
	if to.Required && len(tools) == 0 {
		return to, fields.Errorf("tool_choice", "tool_choice: got %s without tools, want tools", mode)
	}
	return to, nil
}

// A setting is what a conversation has beside its messages.
type setting struct {
	tools    []tool
	choice   *toolChoice
	parallel *bool
	thoughts
	flat string // the field of a schema where tools are their functions; "" where they have these
}

// set sets it.
func (s *setting) set(w *request.Generate) (err error) {
	c := w.Conversation
	name, schema := "name", s.flat
	if s.flat == "" {
		name, schema = "function.name", "function.parameters"
	}
	if c.Tools, err = toolsOf(s.tools, name, schema); err != nil {
		return err
	}
	if w.Tools, err = s.choice.choosing(c.Tools); err != nil {
		return err
	}
	w.Tools.Schema = schema
	w.Tools.Single = w.Tools.Single || s.parallel != nil && !*s.parallel
	c.Variables = s.variables()
	w.Thinking, err = s.budget()
	return err
}

// A callPart is a call of a tool, or a part of one in a stream.
type callPart struct {
	Index    *int         `json:"index,omitempty"` // in a stream
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function functionPart `json:"function"`
}

type functionPart struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// callParts returns calls, or their parts.
func callParts(list []request.CallPart, stream bool) (all []callPart) {
	for _, c := range list {
		p := callPart{ID: c.ID, Function: functionPart{c.Name, c.Arguments}}
		if c.ID != "" {
			p.Type = "function"
		}
		if stream {
			p.Index = &c.Index
		}
		all = append(all, p)
	}
	return all
}
