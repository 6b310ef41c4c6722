package relay

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/server"
)

// kinds of messages.
const (
	kindAsk    = "ask"    // gateway to any worker, or to the one of a mailbox: a request and the first part of its body
	kindTaken  = "taken"  // in reply to kindAsk
	kindElse   = "else"   // in reply to kindAsk: the worker takes no more, or has Most of this gateway
	kindPart   = "part"   // gateway to worker: a later part of the body
	kindData   = "data"   // worker to gateway: a part of the answer
	kindRead   = "read"   // gateway to worker: At bytes of the answer were handed on
	kindCancel = "cancel" // gateway to worker: nobody wants the answer
	kindPing   = "ping"   // whether the receiver lives, and with Call how far its answer is: At bytes were handed on; in reply, At were sent
)

// A header says what a message means. Only the fields of its kind are set.
type header struct {
	Kind string
	From string `json:",omitempty"` // subject of the sender's mailbox
	Call string `json:",omitempty"` // attempt of a gateway to have a request answered
	At   int64  `json:",omitempty"` // where in the body or the answer the bytes stand

	// Of kindTaken.
	Name string `json:",omitempty"` // of the worker

	// Of kindAsk.
	Method, Path, Key, RequestID, AnswerID string `json:",omitempty"`
	Created                                int64  `json:",omitempty"` // seconds since 1970
	Size                                   int64  `json:",omitempty"` // of the whole body
	Within                                 int64  `json:",omitempty"` // milliseconds that the request may take
	Most                                   int    `json:",omitempty"` // requests of this gateway that a worker has at a time, 0 for any number

	// Of kindData, and End of a reply to kindPing: the worker does not have the request.
	Status int         `json:",omitempty"` // with the first part
	Fields http.Header `json:",omitempty"` // with the first part
	End    bool        `json:",omitempty"` // this is the last part
	GaveUp bool        `json:",omitempty"` // the last part does not complete the answer

	Tally *server.Tally `json:",omitempty"` // with the last part
}

const (
	relayHeader = "Attn-Relay" // has the header in JSON
	mostHeader  = 16 << 10     // bytes of it
	chunk       = 128 << 10    // bytes of a body or an answer in a message
	window      = 256 << 10    // bytes of an answer that are under way
	mostBody    = 1 << 30
)

// errMessage reports a message that no program of this version sends.
var errMessage = errors.New("relay: the message has no header that makes sense")

// pack makes a message.
func pack(subject string, h *header, data []byte) (*nats.Msg, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header.Set(relayHeader, string(text))
	hub.Seal(msg, string(text))
	return msg, nil
}

// unpack reads the header of a message.
func unpack(msg *nats.Msg) (*header, error) {
	text := msg.Header.Get(relayHeader)
	if err := hub.CheckSeal(msg.Header, msg.Data, text, "a message to "+msg.Subject); err != nil {
		return nil, err
	}
	h := &header{}
	if len(text) > mostHeader || json.Unmarshal([]byte(text), h) != nil || h.At < 0 || h.Size < 0 || h.Size > mostBody ||
		h.From != "" && !isMailbox(h.From) || h.Call != "" && !hub.IsToken(h.Call) {
		return nil, errMessage
	}
	return h, nil
}

// isMailbox tells whether a subject can be one of a mailbox.
func isMailbox(subject string) bool {
	rest, ok := strings.CutPrefix(subject, nats.InboxPrefix)
	for token := range strings.SplitSeq(rest, ".") {
		ok = ok && hub.IsToken(token)
	}
	return ok
}

// chunkOf returns how many bytes a message has at most.
func chunkOf(conn *hub.Conn) int {
	return int(min(chunk, max(1, conn.MaxPayload()-2*mostHeader)))
}
