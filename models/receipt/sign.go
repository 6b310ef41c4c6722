package receipt

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// A Signature is by Ed25519, from the maker of the receipt. The message is the ASCII text "attn
// receipt\n" and the receipt as [Receipt.Bytes] writes it without a signature and without the line
// feed.
type Signature struct {
	Key   Key  `json:"key"`
	Value Sign `json:"value"`
}

// A Key is a public key, in JSON 64 hexadecimal digits.
type Key [ed25519.PublicKeySize]byte

// MarshalText returns the digits.
func (k Key) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", k[:]), nil }

// UnmarshalText reads 64 digits in lower case.
func (k *Key) UnmarshalText(text []byte) error { return unhex(k[:], text, "a key") }

// Sign is the value of a signature, in JSON 128 hexadecimal digits.
type Sign [ed25519.SignatureSize]byte

// MarshalText returns the digits.
func (s Sign) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", s[:]), nil }

// UnmarshalText reads 128 digits in lower case.
func (s *Sign) UnmarshalText(text []byte) error { return unhex(s[:], text, "a signature") }

// unhex reads digits in lower case, so that there is one form of each value.
func unhex(to, text []byte, what string) error {
	if len(text) != 2*len(to) {
		return fmt.Errorf("%s has %d digits, want %d", what, len(text), 2*len(to))
	}
	if _, err := hex.Decode(to, text); err != nil || hex.EncodeToString(to) != string(text) {
		return fmt.Errorf("%s is not of the digits 0 to f", what)
	}
	return nil
}

// message returns what is signed.
func (r *Receipt) message() ([]byte, error) {
	bare := *r
	bare.Signature = nil
	data, err := json.Marshal(&bare)
	return append([]byte("attn receipt\n"), data...), err
}

// Sign signs the receipt.
func (r *Receipt) Sign(key ed25519.PrivateKey) error {
	if len(key) != ed25519.PrivateKeySize {
		return &kernel.Error{Where: "receipt: key", Got: fmt.Sprintf("%d bytes", len(key)), Want: fmt.Sprint(ed25519.PrivateKeySize)}
	}
	message, err := r.message()
	if err != nil {
		return err
	}
	r.Signature = &Signature{Key(key.Public().(ed25519.PublicKey)), Sign(ed25519.Sign(key, message))}
	return nil
}

// CheckSignature returns a [*kernel.Error] if there is a signature that its key did not make.
// [Receipt.CheckKey] tells whose key it is.
func (r *Receipt) CheckSignature() error {
	if r.Signature == nil {
		return nil
	}
	message, err := r.message()
	if err != nil {
		return err
	}
	if !ed25519.Verify(r.Signature.Key[:], message, r.Signature.Value[:]) {
		return mismatch("signature", -1, "one of something else", "one of this receipt by its key")
	}
	return nil
}

// CheckKey returns a [*kernel.Error] if the receipt has no signature of this key.
func (r *Receipt) CheckKey(key ed25519.PublicKey) error {
	switch {
	case r.Signature == nil:
		return mismatch("signature", -1, "none", fmt.Sprintf("one of the key %x", key))
	case !key.Equal(ed25519.PublicKey(r.Signature.Key[:])):
		return mismatch("signature", -1, fmt.Sprintf("one of the key %x", r.Signature.Key), fmt.Sprintf("one of the key %x", key))
	}
	return r.CheckSignature()
}

// PrivateKey reads a private key in PEM, as openssl genpkey -algorithm ed25519 writes it.
func PrivateKey(data []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, &kernel.Error{Where: "receipt: key", Got: "no PEM", Want: "a private key of Ed25519 in PEM (PKCS 8)"}
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if own, ok := key.(ed25519.PrivateKey); ok && err == nil {
		return own, nil
	}
	return nil, &kernel.Error{Where: "receipt: key", Got: fmt.Sprintf("PEM of the type %.40q", block.Type), Want: "a private key of Ed25519 (PKCS 8)"}
}

// PublicKey reads a public key in PEM, as openssl pkey -pubout writes it.
func PublicKey(data []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, &kernel.Error{Where: "receipt: key", Got: "no PEM", Want: "a public key of Ed25519 in PEM (PKIX)"}
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if own, ok := key.(ed25519.PublicKey); ok && err == nil {
		return own, nil
	}
	return nil, &kernel.Error{Where: "receipt: key", Got: fmt.Sprintf("PEM of the type %.40q", block.Type), Want: "a public key of Ed25519 (PKIX)"}
}
