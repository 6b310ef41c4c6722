package hub

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// ErrAnonymous is the kind of a [kernel.Error] about a server that anyone in the network could use: one that
// listens beyond this machine and asks for no credentials. Got is where.
var ErrAnonymous = errors.New("hub: a server without credentials")

func anonymous(host string) error {
	return &kernel.Error{Where: "hub: the server", Got: fmt.Sprintf("listens on %q without credentials", host),
		Want: "a user with a password, NKeys or client certificates, or 127.0.0.1", Kind: ErrAnonymous}
}

// ErrVersion is the kind of a [kernel.Error] about a program whose results cannot be mixed with those of this one: its
// messages have another form, or its bits follow another numeric contract. Where names what is known of it: a worker, a subject.
var ErrVersion = errors.New("hub: a program of another version")
