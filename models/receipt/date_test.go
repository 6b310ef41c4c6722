package receipt

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// A receipt has the date that a template has written, and holds on any other day. One without the
// date, as older ones, says what it lacks.
func TestDate(t *testing.T) {
	f := tinyllama.New(nil)
	f.AddVocabulary()
	f.AddDate()
	model, m := load(t, f.Write(t), decoder.Options{})
	messages := []chattemplate.Message{{Role: "user", Content: "what day is it?"}}
	today := chattemplate.DateOf(time.Date(2026, 11, 28, 23, 59, 59, 0, time.UTC))
	prompt, err := m.EncodeConversation(t.Context(), &chattemplate.Conversation{Messages: messages, Date: today})
	if err != nil {
		t.Fatal(err)
	}
	o := decoder.GenerateOptions{MaxTokens: 3}
	c, err := Record(model, m, prompt, &o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Conversation(&chattemplate.Conversation{Messages: messages, Date: today}); err != nil {
		t.Fatal(err)
	}
	o.Logits = func(_ int, logits []float32) { c.Logits(logits) }
	for token, err := range m.Generate(t.Context(), prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		c.Add(token)
	}
	good := c.Receipt()
	if data, err := good.Bytes(); err != nil || !strings.Contains(string(data), `"date":"2026-11-28"`) {
		t.Errorf("%s, %v", data, err)
	}
	if err := Verify(t.Context(), model, m, copied(t, good), Options{}); err != nil {
		t.Error(err)
	}
	for field, forge := range map[string]func(r *Receipt){
		"date":   func(r *Receipt) { r.Date = nil },
		"prompt": func(r *Receipt) { r.Date = &chattemplate.DefaultDate },
	} {
		r := copied(t, good)
		forge(r)
		var bad *kernel.Error
		if err := Verify(t.Context(), model, m, r, Options{}); !errors.As(err, &bad) || !isAbout(bad, field, -2) {
			t.Errorf("%v, want a mismatch of %s", err, field)
		}
	}
	plainModel, plain := tiny(t, m.Options().Exec)
	r := record(t, plainModel, plain, decoder.GenerateOptions{MaxTokens: 3})
	if r.Date != nil {
		t.Errorf("a template without a date has %v", r.Date)
	}
	r.Date = &today
	var bad *kernel.Error
	if err := Verify(t.Context(), plainModel, plain, r, Options{}); !errors.As(err, &bad) || bad.Arg() != "date" {
		t.Errorf("a date that no template has written: %v", err)
	}
}
