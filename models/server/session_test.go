package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/receipt"
)

// A sessionAnswer is an answer of a session.
type sessionAnswer struct {
	ID     string
	Output []struct {
		Type   string
		CallID string `json:"call_id"`
	}
	Receipts []json.RawMessage
}

// outputs returns what tools answer to the calls of an answer.
func (a *sessionAnswer) outputs(turn int) (list []string) {
	for _, item := range a.Output {
		if item.Type == "function_call" {
			list = append(list, fmt.Sprintf(`{"type": "function_call_output", "call_id": %q, "output": "%d degrees"}`, item.CallID, turn))
		}
	}
	return list
}

// session has a conversation of some turns through /v1/responses, with calls of tools and what they
// answer, thinking and instructions that change, and returns the receipt of each turn.
func session(t *testing.T, s *Server, seed int) (lines [][]byte) {
	t.Helper()
	previous, input := "", `"what is the weather?"`
	for turn, more := range []string{
		`"tool_choice": "required", "instructions": "be brief"`, `"tool_choice": "auto", "reasoning": {"effort": "high"}`, `"tool_choice": {"type": "function", "name": "weather"}, "instructions": "be brief"`, `"tool_choice": "none"`, `"tool_choice": "required", "parallel_tool_calls": false`,
	} {
		var answer sessionAnswer
		var next []string
		for try := range 100 { // a model of random weights rarely calls a tool in place of thinking for ever
			answer = answerOf[sessionAnswer](t, post(s, "/v1/responses", fmt.Sprintf(
				`{"model": "tools", %s, %s, "input": %s, "max_output_tokens": 60, "temperature": 1, "seed": %d, "receipt": true%s}`, responsesTools, more, input, seed+try, previous)))
			if next = answer.outputs(turn); len(next) > 0 || !strings.Contains(more, "required") {
				break
			}
		}
		if len(answer.Receipts) != 1 || turn == 0 && len(next) == 0 {
			t.Fatalf("turn %d has %d receipts and %d calls", turn, len(answer.Receipts), len(next))
		}
		lines = append(lines, answer.Receipts[0])
		previous, input = `, "previous_response_id": "`+answer.ID+`"`, "["+strings.Join(append(next, `{"role": "user", "content": "and?"}`), ", ")+"]"
	}
	return lines
}

// TestSessions: the receipts of a session with tools hold together, turn by turn; one that is left
// out, of another session, or that goes on from something that was not said is found, although each
// holds by itself.
func TestSessions(t *testing.T) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	file.AddTools()
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // where digests of files are kept
	m, err := Load(file.Write(t), LoadOptions{Context: 700, Name: toolModel})
	if err != nil {
		t.Fatal(err)
	}
	s := serverOf(t, numbered(), m)
	model := receipt.Model{Files: m.files, Architecture: "llama"}
	parsed := func(lines [][]byte) (all []*receipt.Receipt) {
		t.Helper()
		for _, line := range lines {
			r, err := receipt.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	verify := func(all []*receipt.Receipt) error {
		return receipt.VerifySession(t.Context(), model, generateOf(m), all, receipt.Options{})
	}
	lines := session(t, s, 5)
	if *updatePages {
		if err := os.WriteFile("../receipt/testdata/session.json", append(bytes.Join(lines, []byte("\n")), '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	all, other := parsed(lines), parsed(session(t, s, 40))
	if err := errors.Join(verify(all), verify(other)); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, r := range all {
		for _, message := range r.Messages {
			calls += len(message.Calls)
		}
	}
	if calls == 0 || len(all[len(all)-1].Tools) != 2 {
		t.Error("the session has no calls")
	}
	for what, wrong := range map[string][]*receipt.Receipt{
		"a turn is left out": {all[0], all[2]}, "the order is another one": {all[1], all[0]}, "a turn is there twice": {all[0], all[0]},
		"a turn is of another session": {all[0], all[1], other[2]}, "the first turn is another one": {other[0], all[1]},
	} {
		if err := verify(wrong); !errors.Is(err, receipt.ErrMismatch) || !strings.Contains(err.Error(), "messages[") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A client changes what the model has said.
	said := func(answer string) *receipt.Receipt {
		body := `{"model": "tools", "messages": [{"role": "user", "content": "what?"}` + answer + `], "max_tokens": 20, "receipt": true}`
		return parsed([][]byte{answerOf[struct{ Receipts []json.RawMessage }](t, post(s, "/v1/chat/completions", body)).Receipts[0]})[0]
	}
	first := said("")
	content, err := json.Marshal(first.Text)
	if err != nil {
		t.Fatal(err)
	}
	turn := func(content string) string {
		return `, {"role": "assistant", "content": ` + content + `}, {"role": "user", "content": "and?"}`
	}
	if err := verify([]*receipt.Receipt{first, said(turn(string(content)))}); err != nil {
		t.Errorf("what was said: %v", err)
	}
	for _, answer := range []string{turn(`"something else"`), "", turn(string(content)) + turn(string(content))} {
		r := said(answer)
		if err := verify([]*receipt.Receipt{r}); err != nil {
			t.Error(err)
		}
		if err := verify([]*receipt.Receipt{first, r}); !errors.Is(err, receipt.ErrMismatch) {
			t.Errorf("%s: %v", answer, err)
		}
	}
	if !slices.EqualFunc(session(t, s, 5), lines, bytes.Equal) {
		t.Error("the same session has other receipts")
	}
}
