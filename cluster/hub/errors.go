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

// A VersionError reports a program whose results cannot be mixed with those of this one: its
// messages have another form, or its bits follow another numeric contract.
type VersionError struct {
	Peer string  // what is known of it: a worker's name, a subject
	Got  Version // 0.0 if it does not say
	Want Version // this program's
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("hub: %s has version %v, want %v (wire format.numeric contract)", e.Peer, e.Got, e.Want)
}
