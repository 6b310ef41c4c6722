package relay

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/server"
)

// FuzzUnpack reads any header of a message that is sealed, and the conversation of any body: a
// header is one that pack writes and reads again, or is refused.
func FuzzUnpack(f *testing.F) {
	f.Add(`{"Kind":"ask","From":"_INBOX.a.b","Call":"c","Method":"POST","Path":"/v1/chat/completions","Size":9}`, []byte(`{"model":"m","messages":[{"content":"a"},1]}`))
	f.Add(`{"Kind":"data","At":3,"Status":200,"Fields":{"X":["a","b"]},"End":true}`, []byte(`{"messages":[`))
	f.Add(`{"At":-1}`, []byte{})
	a := newAffinity()
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		a.remember(a.conversation(&server.Call{Path: "/v1/chat/completions", Body: data}), "x")
		msg := nats.NewMsg("s")
		msg.Data = data
		msg.Header.Set(relayHeader, text)
		hub.Seal(msg, text)
		h, err := unpack(msg)
		if err != nil {
			if !errors.Is(err, errMessage) {
				t.Fatal(err)
			}
			return
		}
		if h.At < 0 || h.Size < 0 || h.Size > mostBody {
			t.Fatalf("%+v", h)
		}
		again, err := pack("s", h, data)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Header.Get(relayHeader)) > mostHeader { // as escapes take more
			return
		}
		if _, err := unpack(again); err != nil {
			t.Fatalf("%+v is written and not read: %v", h, err)
		}
	})
}
