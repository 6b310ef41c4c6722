package hub

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/kernel"
)

// ErrAnonymous is the kind of a [kernel.Error] about a server that anyone in the network could use:
// one that listens beyond this machine and asks for no credentials. Got is where.
var ErrAnonymous = errors.New("hub: a server without credentials")

func anonymous(host string) error {
	return &kernel.Error{Where: "hub: the server", Got: fmt.Sprintf("listens on %q without credentials", host),
		Want: "users, as cluster keys makes them, or client certificates, or 127.0.0.1", Kind: ErrAnonymous}
}

// ErrPermission is the kind of a [kernel.Error] about something that the user's role does not
// allow. Got is what.
var ErrPermission = errors.New("hub: the user may not do that")

// denied returns what the server refuses, if an error of NATS is that, and whether that is to
// listen.
func denied(err error) (refusal error, listens bool) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil, false
	}
	text := strings.TrimPrefix(err.Error(), nats.ErrPermissionViolation.Error()+": ")
	return &kernel.Error{Where: "hub: the user", Got: text, Want: "a role that allows it, as cluster keys makes them", Kind: ErrPermission},
		strings.Contains(strings.ToLower(text), "for subscription")
}

// ErrVersion is the kind of a [kernel.Error] about a program whose results cannot be mixed with
// this one's: its messages have another form, or its bits follow another numeric contract. Where
// names what is known of it: a worker, a subject.
var ErrVersion = errors.New("hub: a program of another version")
