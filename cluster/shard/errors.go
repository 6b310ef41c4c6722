package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// A BlocksError reports blocks that no worker could deliver, or that no worker could store. Outputs
// are untouched.
type BlocksError struct {
	Blocks []Blocks // by sequence
	Causes []error  // what the workers said, or why they said nothing, each once
}

// Blocks are blocks of 256 keys of a sequence.
type Blocks struct {
	Sequence string
	Numbers  []int // ascending; block n has the keys from 256n on
}

// Error lists the blocks and the causes.
func (e *BlocksError) Error() string {
	var b strings.Builder
	for i, x := range e.Blocks {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s of sequence %s", ranges(x.Numbers), x.Sequence)
	}
	return fmt.Sprintf("shard: no worker is left for blocks %s: %v", b.String(), errors.Join(e.Causes...))
}

// Unwrap returns the causes.
func (e *BlocksError) Unwrap() []error { return e.Causes }

// ranges writes ascending numbers as ranges.
func ranges(numbers []int) string {
	var text []string
	for i := 0; i < len(numbers); {
		n := 1
		for i+n < len(numbers) && numbers[i+n] == numbers[i]+n {
			n++
		}
		text = append(text, wire.Range{First: numbers[i], Count: n}.String())
		i += n
	}
	return strings.Join(text, " ")
}

// lostBlocks collects blocks for a [*BlocksError].
type lostBlocks []Blocks

func (l *lostBlocks) add(name string, block int) {
	at := slices.IndexFunc(*l, func(x Blocks) bool { return x.Sequence == name })
	if at < 0 {
		at, *l = len(*l), append(*l, Blocks{Sequence: name})
	}
	numbers := &(*l)[at].Numbers
	if i, there := slices.BinarySearch(*numbers, block); !there {
		*numbers = slices.Insert(*numbers, i, block)
	}
}

// err returns the error, or nil if there are no blocks. Causes of the same text count once.
func (l lostBlocks) err(causes []error) error {
	if len(l) == 0 {
		return nil
	}
	e := &BlocksError{Blocks: l}
	for _, err := range causes {
		if !slices.ContainsFunc(e.Causes, func(x error) bool { return x.Error() == err.Error() }) {
			e.Causes = append(e.Causes, err)
		}
	}
	return e
}

// A ConflictError reports a sequence that another client has changed since this one has read
// it. [Sequence.Reload] reads it again.
type ConflictError struct{ Sequence string }

// Error names the sequence.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("shard: another client has changed sequence %s since this one has read it", e.Sequence)
}

// A DirectoryError reports that the directory could not be read or written, or that it has other
// things than were expected: [ErrExists], [ErrNotFound], an error of the kind [hub.ErrVersion], a
// [*kernel.Error], or what NATS says, as of a full disk.
type DirectoryError struct {
	Sequence string // name in the directory, or "" for all
	Err      error
}

// Error names the sequence and the cause.
func (e *DirectoryError) Error() string {
	return fmt.Sprintf("shard: directory, sequence %q: %v", e.Sequence, e.Err)
}

// Unwrap returns the cause.
func (e *DirectoryError) Unwrap() error { return e.Err }

// What a [DirectoryError] may be about.
var (
	ErrExists   = errors.New("there is a sequence of this name")
	ErrNotFound = errors.New("there is no sequence of this name")
)

// A WorkerError reports what a worker answered instead of a result, or that it did not
// answer.
type WorkerError struct {
	Worker string
	Code   string // a Code constant
	Text   string
	err    error // if the failure was on this side
}

// What WorkerError.Code can be.
const (
	CodeFormat   = "format"    // the message has the wrong form
	CodeArgument = "argument"  // the kernel refuses the arguments
	CodeLimit    = "limit"     // the answer would be larger than a message may be
	CodeFull     = "full"      // the worker has no memory left for blocks
	CodeLeaving  = "leaving"   // the worker is about to end, and takes no more blocks
	CodeRefused  = "refused"   // it holds other rows than those before the ones that were sent
	CodeMissing  = "missing"   // it does not hold the block
	CodeDamaged  = "damaged"   // a message did not arrive as it was sent, several times
	CodeVersion  = "version"   // it is of another version, see hub.ErrVersion
	CodeSilent   = "no answer" // it is late, or gone
)

// Error names the worker and what it said.
func (e *WorkerError) Error() string {
	return fmt.Sprintf("worker %s: %s: %s", e.Worker, e.Code, e.Text)
}

// Unwrap returns the error of this side, if there was one.
func (e *WorkerError) Unwrap() error { return e.err }

// ErrNoWorkers reports a cluster without workers of this version.
var ErrNoWorkers = errors.New("shard: there are no workers of this version")
