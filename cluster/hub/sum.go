package hub

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/nats-io/nats.go"
)

// SumHeader is the header of a message with the checksum of what it says, see [Seal].
const SumHeader = "Attn-Sum"

// ErrDamaged reports a message whose bytes are not those that were sent.
var ErrDamaged = errors.New("hub: the message is damaged")

// castagnoli is the polynomial of CRC-32C (RFC 3720, appendix B.4), for which CPUs have
// instructions.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns the checksum of a message of a version.
func sum(version, context string, data []byte) string {
	c := crc32.Update(0, castagnoli, []byte(version+"\n"+context+"\n"))
	return fmt.Sprintf("%08x", crc32.Update(c, castagnoli, data))
}

// Seal sets the version of this program and a checksum, CRC-32C, in the header of msg. TCP has one
// of 16 bits, which lets some damage of networks and machines in between pass. The context is what
// the message means beside its data, and both ends know: whom it asks for what, or which message it
// answers. So a message that goes astray counts as damaged.
func Seal(msg *nats.Msg, context string) {
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	msg.Header.Set(VersionHeader, Own.String())
	msg.Header.Set(SumHeader, sum(Own.String(), context, msg.Data))
}

// CheckSeal returns [ErrDamaged] if the message is not the one that a program of this version has
// sealed, and an error of the kind [ErrVersion] about peer if it is of another version.
func CheckSeal(header nats.Header, data []byte, context, peer string) error {
	version := header.Get(VersionHeader)
	if err := ParseVersion(version).Check(peer); err != nil {
		return err
	}
	if header.Get(SumHeader) != sum(version, context, data) {
		return ErrDamaged
	}
	return nil
}
