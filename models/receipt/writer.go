package receipt

import (
	"crypto/ed25519"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/models/lora"
)

// A Writer writes a file of receipts of one model. A nil *Writer has no file.
type Writer struct {
	model Model
	out   *os.File
	key   ed25519.PrivateKey // nil signs nothing
}

// Create makes a file for receipts of the model that name stands for and that lies at path. key is
// the name of a file as [PrivateKey] reads it, and "" signs nothing. Without a file's name the
// Writer is nil. merged are the adapters that the model was loaded with.
func Create(file, key, name, path, architecture string, merged ...lora.Adapter) (*Writer, error) {
	if file == "" {
		return nil, nil
	}
	w := &Writer{model: Model{Name: name, Architecture: architecture}}
	if strings.ContainsAny(name, `/\:`) {
		w.model.Name = filepath.Base(path)
	}
	var err error
	if key != "" {
		if w.key, err = ReadKey(key); err != nil {
			return nil, err
		}
	}
	if w.model.Files, err = Files(path, false); err != nil {
		return nil, err
	}
	if w.model.Adapters, err = Adapters(merged); err != nil {
		return nil, err
	}
	if w.out, err = os.Create(file); err != nil {
		return nil, err
	}
	return w, nil
}

// mostKey is the most bytes of a file that has a key.
const mostKey = 1 << 20

// ReadKey reads the file of a private key, as [PrivateKey] does.
func ReadKey(name string) (ed25519.PrivateKey, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostKey))
	if err != nil {
		return nil, err
	}
	return PrivateKey(data)
}

// Model returns the model.
func (w *Writer) Model() Model { return w.model }

// Write signs a receipt, if there is a key, and writes it.
func (w *Writer) Write(r *Receipt) error {
	if w.key != nil {
		if err := r.Sign(w.key); err != nil {
			return err
		}
	}
	data, err := r.Bytes()
	if err == nil {
		_, err = w.out.Write(data)
	}
	return err
}

// Close closes the file.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	return w.out.Close()
}
