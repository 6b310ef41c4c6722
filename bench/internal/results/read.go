package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// ErrDamaged is in the chain of errors about files that are cut off or not of this form.
var ErrDamaged = errors.New("not a whole results file of the bench command")

// SameContract returns an error if files are of different versions of the numeric contract, so that
// their bits and speeds cannot be compared.
func SameContract(path string, contract int, other string, otherOne int) error {
	if contract == otherOne {
		return nil
	}
	return fmt.Errorf("%s is of contract %d, %s of contract %d: want files of one contract; measure anew", path, contract, other, otherOne)
}

// Read reads a file.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads the content of a file. The path is for error messages.
func Parse(path string, data []byte) (*File, error) {
	var head struct {
		Format string `json:"format"`
		Schema int    `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, damaged(path, data, err)
	}
	switch {
	case head.Format != Format:
		return nil, fmt.Errorf("%s: format %q, want %q: %w", path, head.Format, Format, ErrDamaged)
	case head.Schema < 1:
		return nil, fmt.Errorf("%s: schema %d, want 1 to %d: %w", path, head.Schema, Schema, ErrDamaged)
	case head.Schema > Schema:
		return nil, fmt.Errorf("%s: schema %d, want 1 to %d: a newer version of the bench command wrote it; update this one", path, head.Schema, Schema)
	}
	f := &File{Path: path}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, damaged(path, data, err)
	}
	rest := slices.DeleteFunc(f.Groups, func(d Decode) bool { return d.Group == DecodeGroup }) // which Decode has
	f.Decode, f.Groups = append(f.Decode, rest...), nil
	return f, f.validate(path)
}

// damaged describes an error of package json.
func damaged(path string, data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(data)) {
		return fmt.Errorf("%s: ends after %d bytes, in the middle: %w", path, len(data), ErrDamaged)
	}
	return fmt.Errorf("%s: %v: %w", path, err, ErrDamaged)
}

// validate checks what the readers of a File rely on.
func (f *File) validate(path string) error {
	if f.Contract < 1 || f.Machine.CPU == "" || len(f.Tiers) == 0 {
		return fmt.Errorf("%s: contract %d, CPU %q, %d tiers: %w", path, f.Contract, f.Machine.CPU, len(f.Tiers), ErrDamaged)
	}
	for i, s := range f.Speed {
		if !(s.Ns > 0) || s.Threads < 1 {
			return fmt.Errorf("%s: speed %d (%s) has %g ns on %d threads: %w", path, i, s.Shape, s.Ns, s.Threads, ErrDamaged)
		}
	}
	for i := range f.Curves {
		if c := &f.Curves[i]; len(c.X) == 0 || len(c.X) != len(c.Ns) || !(slices.Min(c.Ns) > 0) || !slices.IsSorted(c.X) {
			return fmt.Errorf("%s: curve %d (%s) has %d values and %d times, want rising ones and as many: %w", path, i, c.Name(), len(c.X), len(c.Ns), ErrDamaged)
		}
	}
	for i := range f.Backward {
		if b := &f.Backward[i]; !(b.Ns > 0) || !(b.Forward > 0) || b.Threads < 1 {
			return fmt.Errorf("%s: backward %d (%s) has %g ns, %g of the forward call, on %d threads: %w", path, i, b.Shape, b.Ns, b.Forward, b.Threads, ErrDamaged)
		}
	}
	for i := range f.Models {
		if m := &f.Models[i]; !(m.Ns > 0) || m.Threads < 1 {
			return fmt.Errorf("%s: model %d (%s) has %g ns on %d threads: %w", path, i, m.Name(), m.Ns, m.Threads, ErrDamaged)
		}
	}
	return nil
}

// ReadAll reads files that are to be laid side by side.
func ReadAll(paths []string) ([]*File, error) {
	var all []*File
	for _, path := range paths {
		f, err := Read(path)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// Write writes the file as indented JSON.
func (f *File) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(f)
}

// WriteFile writes the file to a path, or to standard output if that is "-". An interrupt
// leaves no half of a file behind.
func (f *File) WriteFile(path string) error {
	if path == "-" {
		return f.Write(os.Stdout)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // such as /dev/stdout, which no file may replace
		return os.WriteFile(path, b.Bytes(), 0o666)
	}
	defer os.Remove(path + ".tmp") // after an error it is there
	if err := os.WriteFile(path+".tmp", b.Bytes(), 0o666); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
