package embed

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/attn-go/attn/cluster/embed/internal/corpus"
	"github.com/attn-go/attn/cluster/embed/internal/vectors"
	"github.com/attn-go/attn/kernel"
)

// The defaults of [Options].
const (
	DefaultMaxText  = corpus.DefaultMaxText
	DefaultJobTexts = 32
	DefaultJobBytes = 256 << 10
	DefaultWindow   = 64
	DefaultRetry    = 5 * time.Second
	DefaultPatience = 30 * time.Minute
)

// Options are the settings of a run. Only the input, the model and MaxText change what the
// files have.
type Options struct {
	// Inputs are files, folders and "-" for Stdin. Format says where texts begin and end:
	// "jsonl", an object {"text", "id"} or a string a line; "lines", a text a line; "whole", a
	// text a file; "auto" or "", which is jsonl for .jsonl and .ndjson, whole for other files
	// below folders, and otherwise lines.
	Inputs []string
	Format string
	Stdin  io.Reader

	// Output is a file of vectors, .jsonl or .npy. Row n is record n of the input; a text without
	// a vector has null or NaN. Output.rejected.jsonl lists those texts with their reasons, as JSON
	// lines, if there are any. Output.journal has the results until the files are written: 5.3
	// bytes a number and some 150 for each text. A run that ended early goes on where its journal
	// ends.
	//
	// A run never writes an input, or a file in an input folder. If another file of this name
	// exists, a run needs Overwrite, or a journal with which it goes on.
	Output    string
	Overwrite bool

	Model    string        // its name, as cluster answer has it; "" is the only one that makes vectors
	MaxText  int           // most bytes of a text, a larger one is rejected; 0 means DefaultMaxText
	JobTexts int           // most texts of a job; 0 means DefaultJobTexts
	JobBytes int           // most bytes of the texts of a job; 0 means DefaultJobBytes
	Window   int           // most jobs under way; 0 means DefaultWindow
	Retry    time.Duration // a worker that is silent for so long counts as lost, and its jobs go to others; 0 means DefaultRetry
	Patience time.Duration // a run without any result for so long ends; 0 means DefaultPatience
}

// mostBytes is the most bytes of texts of a job: as JSON, in which a byte can take six, they are
// less than workers take.
const mostBytes = 512 << 10

// complete returns o with the defaults, or a [*kernel.Error].
func (o Options) complete() (Options, error) {
	if len(o.Inputs) == 0 {
		return o, &kernel.Error{Where: "embed: Inputs", Got: "none", Want: "one or more"}
	}
	if !vectors.Known(o.Output) {
		return o, &kernel.Error{Where: "embed: Output", Got: fmt.Sprintf("%q", o.Output), Want: "a name that ends in " + strings.Join(vectors.Endings(), " or ")}
	}
	if err := o.checkPaths(); err != nil {
		return o, err
	}
	for _, x := range []struct {
		field    string
		value    *int
		def, max int
	}{
		{"MaxText", &o.MaxText, DefaultMaxText, mostBytes},
		{"JobTexts", &o.JobTexts, DefaultJobTexts, 1024},
		{"JobBytes", &o.JobBytes, DefaultJobBytes, mostBytes},
		{"Window", &o.Window, DefaultWindow, 1 << 10},
	} {
		if *x.value == 0 {
			*x.value = x.def
		}
		if *x.value < 1 || *x.value > x.max {
			return o, &kernel.Error{Where: "embed: " + x.field, Got: fmt.Sprint(*x.value), Want: fmt.Sprintf("1 to %d", x.max)}
		}
	}
	return o, o.times()
}

// times completes the durations.
func (o *Options) times() error {
	for _, x := range []struct {
		field string
		value *time.Duration
		def   time.Duration
	}{{"Retry", &o.Retry, DefaultRetry}, {"Patience", &o.Patience, DefaultPatience}} {
		if *x.value == 0 {
			*x.value = x.def
		}
		if *x.value < 0 {
			return &kernel.Error{Where: "embed: " + x.field, Got: x.value.String(), Want: "more than 0"}
		}
	}
	for _, f := range corpus.Formats {
		if o.Format == "" || o.Format == string(f) {
			return nil
		}
	}
	return &kernel.Error{Where: "embed: Format", Got: fmt.Sprintf("%q", o.Format), Want: fmt.Sprint(corpus.Formats)}
}
