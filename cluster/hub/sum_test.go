package hub

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
)

// A message with any bit flipped, another context or none of its headers is refused.
func TestSeal(t *testing.T) {
	msg := nats.NewMsg("x")
	msg.Data = []byte("keys and values")
	Seal(msg, "a.put")
	if err := CheckSeal(msg.Header, msg.Data, "a.put", "x"); err != nil {
		t.Fatal(err)
	}
	if err := CheckSeal(msg.Header, msg.Data, "b.put", "x"); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	for i := range 8 * len(msg.Data) {
		msg.Data[i/8] ^= 1 << (i % 8)
		if err := CheckSeal(msg.Header, msg.Data, "a.put", "x"); !errors.Is(err, ErrDamaged) {
			t.Errorf("bit %d: %v", i, err)
		}
		msg.Data[i/8] ^= 1 << (i % 8)
	}
	msg.Header.Del(SumHeader)
	if err := CheckSeal(msg.Header, msg.Data, "a.put", "x"); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if err := CheckSeal(nil, msg.Data, "a.put", "x"); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
}
