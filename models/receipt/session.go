package receipt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
)

// VerifySession verifies the receipts of a conversation, one for each turn in their order: each by
// [Verify], and that it [Follows] the one before it. So no turn is left out, and what the model has
// said in an earlier one is what it was given in a later one. No receipts at all are an error.
func VerifySession(ctx context.Context, model Model, m *decoder.Model, all []*Receipt, o Options) error {
	if len(all) == 0 {
		return &kernel.Error{Where: "receipt: file", Got: "no receipts", Want: "one of each turn of a conversation"}
	}
	for i, r := range all {
		if err := Verify(ctx, model, m, r, o); err != nil {
			return turnError(i, err)
		}
		if i > 0 {
			if err := Follows(ctx, m, all[i-1], r); err != nil {
				return turnError(i, err)
			}
		}
	}
	return nil
}

func turnError(i int, err error) error { return fmt.Errorf("turn %d: %w", i, err) }

// Follows reports where a receipt does not go on from the receipt of the turn before it, by a
// [*kernel.Error] of [ErrMismatch]. It goes on if both are of one model with one Settings, and if
// its messages are the messages of the turn before, then what the model has answered there, taken
// apart by the template's format as [answer] does, and then messages of others. Tools, variables
// and what the system says may be others in each turn: each receipt has its own. So may the ids of
// calls, and an answer may have lost its reasoning, as many clients leave that out. A call that the
// end of the answer has cut off is content, or a call with what is whole of its arguments. Both
// receipts must hold by themselves, which [Verify] tells.
func Follows(ctx context.Context, m *decoder.Model, before, r *Receipt) error {
	if before.Generation == nil || r.Generation == nil || len(before.Messages) == 0 || len(r.Messages) == 0 {
		return &kernel.Error{Where: "receipt: file", Got: "a receipt without messages", Want: "one of each turn of a conversation"}
	}
	if err := r.CheckModel(Model{Architecture: before.Model.Architecture, Files: before.Model.Files}); err != nil {
		return err
	}
	if r.Settings != before.Settings {
		return mismatch("settings", -1, fmt.Sprintf("%+v", r.Settings), fmt.Sprintf("%+v, those of the turn before", before.Settings))
	}
	old, said := withoutSystem(before.Messages), withoutSystem(r.Messages)
	for i := range old {
		if i >= len(said) || !said[i].repeats(&old[i]) {
			return unlike(said, i, quoted(old, i)+", as in the turn before")
		}
	}
	if err := checkAnswer(ctx, m, before, said, len(old)); err != nil {
		return err
	}
	for i := len(old) + 1; i < len(said); i++ {
		if said[i].Role == "assistant" {
			return unlike(said, i, "no other answer after that of the turn before")
		}
	}
	return nil
}

// withoutSystem returns the messages of a conversation except the system's.
func withoutSystem(all []Message) []Message {
	return slices.DeleteFunc(slices.Clone(all), func(m Message) bool { return m.Role == "system" })
}

// unlike reports a message, whose number counts those without the system's.
func unlike(said []Message, i int, want string) error {
	return mismatch("messages", i, quoted(said, i), want)
}

// checkAnswer reports a message that is not what the turn before has answered.
func checkAnswer(ctx context.Context, m *decoder.Model, before *Receipt, said []Message, at int) error {
	template, err := m.Template()
	if err != nil {
		return err
	}
	parts, err := template.Write(ctx, before.talk(), true)
	if err != nil {
		return err
	}
	format := answer.Of(template)
	open := format.Opens(parts)
	var readings []Message
	for _, tools := range [][]chattemplate.Tool{before.Tools, nil} { // tool_choice may have allowed none
		for _, required := range []bool{false, true} {
			for _, single := range []bool{false, true} {
				for _, grows := range []bool{false, true} { // the last call, which the end of the answer has cut off
					one := reading(format, answer.Asked{Tools: tools, Required: required, Single: single, Open: open, Grows: grows}, before.Text)
					if at < len(said) && said[at].repeats(&one) {
						return nil
					}
					readings = append(readings, one)
				}
			}
		}
	}
	return unlike(said, at, quoted(readings, 0)+", the answer of the turn before")
}

// reading returns a text as a message of the model.
func reading(f *answer.Format, asked answer.Asked, text string) Message {
	if !f.Parses(asked) {
		return Message{Role: "assistant", Content: text}
	}
	p := f.Parser(asked)
	m := Message{Role: "assistant"}
	begun, rest := p.Add(text), p.End()
	m.Reasoning, m.Content, m.Calls = begun.Reasoning+rest.Reasoning, begun.Text+rest.Text, append(begun.Calls, rest.Calls...)
	if call := rest.Open; call != nil {
		call.Arguments = answer.Whole(string(call.Arguments))
		m.Calls = append(m.Calls, *call)
	}
	return m
}

// repeats tells whether a message says what another one does, perhaps without its reasoning.
func (m *Message) repeats(other *Message) bool {
	return m.Role == other.Role && m.Content == other.Content && m.Name == other.Name && (m.Reasoning == other.Reasoning || m.Reasoning == "") &&
		slices.EqualFunc(m.Calls, other.Calls, func(a, b chattemplate.ToolCall) bool {
			return a.Name == b.Name && bytes.Equal(compact(a.Arguments), compact(b.Arguments))
		})
}

// compact returns JSON without spaces.
func compact(data json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	return b.Bytes()
}

// quoted returns a message for an error.
func quoted(list []Message, i int) string {
	if i >= len(list) {
		return "none"
	}
	data, _ := json.Marshal(list[i]) // texts that are UTF-8 have no error
	return fmt.Sprintf("%.300s", data)
}
