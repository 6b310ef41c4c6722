package answer

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// CallIDs returns what makes ids of calls in the answers to a prompt: hashes of it, so that they
// are the same whenever it is answered, and others later in a conversation. Their nine letters and
// digits are the form that templates of Mistral want.
func CallIDs(prompt []int32) func(choice, call int) string {
	sum := sha256.New()
	_ = binary.Write(sum, binary.LittleEndian, prompt) // a hash has no error
	of := sum.Sum(nil)
	return func(choice, call int) string {
		h := sha256.Sum256(fmt.Appendf(nil, "%x %d %d", of, choice, call))
		const digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		id := make([]byte, 9)
		for i := range id {
			id[i] = digits[int(h[i])%len(digits)]
		}
		return string(id)
	}
}
