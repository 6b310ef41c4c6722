package hub

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// Wire is the version of the messages between programs of a cluster. Whoever changes the
// form of any message raises it.
const Wire = 8

// A Version is what two programs must have in common to work on one result.
type Version struct {
	Wire     int // form of the messages
	Contract int // numeric contract: which bits a program computes
}

// Own is the version of this program.
var Own = Version{Wire: Wire, Contract: kernel.Contract}

// String returns "WIRE.CONTRACT".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Wire, v.Contract) }

// Check returns an error of the kind [ErrVersion] about peer if v is not [Own].
func (v Version) Check(peer string) error {
	if v != Own {
		return &kernel.Error{Where: "hub: " + peer, Got: fmt.Sprintf("version %v", v), Want: fmt.Sprintf("%v (wire format.numeric contract)", Own), Kind: ErrVersion}
	}
	return nil
}

// ParseVersion reads what [Version.String] writes. Anything else is version 0.0, which
// [Version.Check] refuses.
func ParseVersion(s string) Version {
	var v Version
	if _, err := fmt.Sscanf(s, "%d.%d", &v.Wire, &v.Contract); err != nil || v.String() != s {
		return Version{}
	}
	return v
}

// VersionHeader is the header of a message, and the key of a service's metadata, with the
// version of its sender.
const VersionHeader = "Attn-Version"
