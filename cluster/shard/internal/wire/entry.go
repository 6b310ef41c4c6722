package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
)

// Entry is what the directory says of a sequence.
type Entry struct {
	Wire, Contract int    // version of the program that wrote it
	ID             string // name of the sequence on the workers
	Geometry       Geometry
	Replicas       int        // workers that should hold a block
	Writer         string     // whose changes count
	Epoch          uint64     // of the last change
	Cut            uint64     // epoch of the last change that took keys away, so that later ones may replace them
	Length         int        // keys
	Blocks         [][]string `json:"-"` // workers that hold each block
}

// written is an entry as the directory has it.
type written struct {
	*Entry
	Workers []string // in the order in which blocks need them
	Holders [][]int  // of each block, by their places in Workers
}

// MaxReplicas is the most workers that an [Entry] has for a block.
const MaxReplicas = 255

// sumLength is the bytes of the CRC-32C (RFC 3720, appendix B.4) of an entry, in front of it, with
// a space.
const sumLength = 9

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode writes the entry: its CRC-32C, and JSON. Names of workers are written once.
func (e *Entry) Encode() []byte {
	w := written{Entry: e, Workers: []string{}, Holders: [][]int{}}
	index := map[string]int{}
	for _, block := range e.Blocks {
		holders := []int{}
		for _, name := range block {
			at, known := index[name]
			if !known {
				at = len(w.Workers)
				index[name], w.Workers = at, append(w.Workers, name)
			}
			holders = append(holders, at)
		}
		w.Holders = append(w.Holders, holders)
	}
	text, err := json.Marshal(w)
	if err != nil {
		panic(err) // all of its fields have a form in JSON
	}
	return append(fmt.Appendf(nil, "%08x ", crc32.Checksum(text, castagnoli)), text...)
}

// EntryVersion returns the version in an entry, of whatever form the rest is, or zeros.
func EntryVersion(data []byte) (wire, contract int) {
	var v struct{ Wire, Contract int }
	if len(data) < sumLength || json.NewDecoder(bytes.NewReader(data[sumLength:])).Decode(&v) != nil {
		return 0, 0
	}
	return v.Wire, v.Contract
}

// DecodeEntry reads an [Entry].
func DecodeEntry(data []byte) (*Entry, error) {
	w := written{Entry: &Entry{}}
	if len(data) < sumLength || json.Unmarshal(data[sumLength:], &w) != nil {
		return nil, format("Entry", "no JSON after a checksum")
	}
	e := w.Entry
	problem := e.Geometry.Check()
	if problem == "" {
		problem = checkBlock(e.ID, 0)
	}
	if problem == "" && (e.Replicas < 0 || e.Replicas > MaxReplicas || e.Length < 0 || len(w.Holders) != (e.Length+BlockKeys-1)/BlockKeys || len(w.Holders) > MaxBlock+1) {
		problem = fmt.Sprintf("%d holders of %d keys, on %d workers each", len(w.Holders), e.Length, e.Replicas)
	}
	if problem != "" {
		return nil, format("Entry", problem)
	}
	for _, holders := range w.Holders {
		var block []string
		for _, at := range holders {
			if at < 0 || at >= len(w.Workers) || slices.Contains(block, w.Workers[at]) {
				return nil, format("Entry", fmt.Sprintf("worker %d of %d", at, len(w.Workers)))
			}
			block = append(block, w.Workers[at])
		}
		e.Blocks = append(e.Blocks, block)
	}
	if !bytes.Equal(e.Encode(), data) {
		return nil, format("Entry", "a checksum of other bytes, or another way to write it")
	}
	return e, nil
}
