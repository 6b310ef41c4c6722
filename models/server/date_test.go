package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/request"
)

// A template's date comes from the settings or the request, never from the clock. Receipts have it,
// and so have fingerprints of models whose template asks for it.
func TestDate(t *testing.T) {
	files := map[bool]*tinyllama.File{false: tinyllama.New(nil), true: tinyllama.New(nil)}
	models := map[bool]*Model{}
	for dated, f := range files {
		f.AddVocabulary()
		if dated {
			f.AddDate()
		}
		m, err := Load(f.Write(t), LoadOptions{Context: 400, Name: chatModel})
		if err != nil {
			t.Fatal(err)
		}
		models[dated] = m
	}
	servers := map[string]map[bool]*Server{"2024-07-26": {}, "2026-11-28": {}}
	for day, all := range servers {
		for dated, m := range models {
			s := fixed()
			s.Now = func() time.Time { return time.Unix(1<<32, 0) }
			if day != chattemplate.DefaultDate.String() {
				s.Date, _ = chattemplate.ParseDate(day)
			}
			all[dated] = serverOf(t, s, m)
		}
	}
	old, late := servers["2024-07-26"], servers["2026-11-28"]
	if old[true].Fingerprint(chatModel) == late[true].Fingerprint(chatModel) || old[false].Fingerprint(chatModel) != late[false].Fingerprint(chatModel) {
		t.Error("the date is in the fingerprint of the wrong models")
	}
	type answer struct {
		Choices  json.RawMessage
		Receipts []*receipt.Receipt
	}
	const body = `{"model": "tiny", "messages": [{"role": "user", "content": "what day?"}], "max_tokens": 9, "temperature": 0, "receipt": true`
	for day, all := range servers {
		got := answerOf[answer](t, post(all[true], "/v1/chat/completions", body+`}`))
		asked := answerOf[answer](t, post(late[true], "/v1/chat/completions", body+`, "date": "`+day+`"}`))
		if string(got.Choices) != string(asked.Choices) || got.Receipts[0].Date.String() != day || asked.Receipts[0].Date.String() != day {
			t.Errorf("%s: %s with the setting, %s with the field; receipts of %v and %v", day, got.Choices, asked.Choices, got.Receipts[0].Date, asked.Receipts[0].Date)
		}
		m := models[true]
		if err := receipt.Verify(t.Context(), m.named(), generateOf(m), got.Receipts[0], receipt.Options{}); err != nil {
			t.Error(err)
		}
		if e := answerOf[request.Facts](t, get(all[true], "/v1/models/tiny")); e.Defaults.Date != day {
			t.Errorf("defaults have the date %q", e.Defaults.Date)
		}
	}
	for _, bad := range []string{`"today"`, `"2024-02-30"`, `"28.11.2026"`, `""`, `20261128`} {
		if w := post(old[true], "/v1/chat/completions", body+`, "date": `+bad+`}`); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"param":"date"`) {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
}
