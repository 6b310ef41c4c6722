// Package charsmap applies the rules by which SentencePiece normalizes texts, in the compiled form
// that files of models have: a double array of prefixes (darts-clone), and the texts that replace
// them.
package charsmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Map is a set of rules. It does not change and is safe for concurrent use.
type Map struct {
	units []uint32
	texts string
	ascii [utf8.RuneSelf]bool // characters that have a rule
}

// New reads rules. No bytes make it, or a Map, panic.
func New(data []byte) (*Map, error) {
	if len(data) < 4 {
		return nil, errors.New("fewer than 4 bytes")
	}
	size := binary.LittleEndian.Uint32(data)
	rest := data[4:]
	if size%4 != 0 || size == 0 || uint64(size) > uint64(len(rest)) {
		return nil, errors.New("a size of the array that does not fit the bytes")
	}
	m := &Map{units: make([]uint32, size/4), texts: string(rest[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(rest[4*i:])
	}
	if !utf8.ValidString(m.texts) || len(m.texts) > 0 && m.texts[len(m.texts)-1] != 0 {
		return nil, errors.New("texts that are not UTF-8 that ends in a zero")
	}
	for c := range m.ascii {
		_, _, m.ascii[c] = m.prefix(string(rune(c)), false)
	}
	return m, nil
}

// prefix returns the text for the shortest or the longest beginning of a text that has a rule, and
// its length.
func (m *Map) prefix(text string, longest bool) (to string, length int, ok bool) {
	unit := m.units[0]
	at := offset(unit)
	value := uint32(0)
	for i := 0; i < len(text) && text[i] != 0; i++ {
		at ^= uint32(text[i])
		if uint64(at) >= uint64(len(m.units)) {
			break
		}
		if unit = m.units[at]; unit&(1<<31|0xff) != uint32(text[i]) {
			break
		}
		at ^= offset(unit)
		if unit>>8&1 == 1 && uint64(at) < uint64(len(m.units)) {
			value, length, ok = m.units[at]&^(1<<31), i+1, true
			if !longest {
				break
			}
		}
	}
	if !ok || uint64(value) >= uint64(len(m.texts)) {
		return "", 0, false
	}
	to = m.texts[value:]
	if end := bytes.IndexByte([]byte(to[:min(len(to), maxText)]), 0); end >= 0 {
		return to[:end], length, true
	}
	return "", 0, false
}

// maxText bounds the text of a rule with the zero behind it, and so how much longer a text can
// become. NFKC's longest has 33 bytes.
const maxText = 128

func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// Graphemes applies the rules as Hugging Face's tokenizers do: to each cluster of characters that
// is seen as one, if it has fewer than 6 bytes, otherwise to each of its characters; a rule for the
// beginning replaces the whole.
func (m *Map) Graphemes(text string) string {
	out := make([]byte, 0, len(text)+len(text)/8)
	state := -1
	for text != "" {
		if c := text[0]; c < utf8.RuneSelf && c != '\r' && (len(text) == 1 || text[1] < utf8.RuneSelf) {
			if m.ascii[c] {
				to, _, _ := m.prefix(text[:1], false)
				out = append(out, to...)
			} else {
				out = append(out, c)
			}
			text, state = text[1:], -1
			continue
		}
		var cluster string
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		out = m.appendCluster(out, cluster)
	}
	return string(out)
}

func (m *Map) appendCluster(out []byte, cluster string) []byte {
	if len(cluster) < 6 {
		if to, _, ok := m.prefix(cluster, false); ok {
			return append(out, to...)
		}
	}
	for cluster != "" {
		_, n := utf8.DecodeRuneInString(cluster)
		if to, _, ok := m.prefix(cluster[:n], false); ok {
			out = append(out, to...)
		} else {
			out = append(out, cluster[:n]...)
		}
		cluster = cluster[n:]
	}
	return out
}

// Prefixes applies the rules as SentencePiece does: from the left, the longest beginning that has
// one.
func (m *Map) Prefixes(text string) string {
	out := make([]byte, 0, len(text)+len(text)/8)
	for text != "" {
		if to, n, ok := m.prefix(text, true); ok {
			out = append(out, to...)
			text = text[n:]
			continue
		}
		_, n := utf8.DecodeRuneInString(text)
		out = append(out, text[:n]...)
		text = text[n:]
	}
	return string(out)
}
