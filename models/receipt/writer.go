package receipt

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
)

// A Writer writes a file of receipts of one model. A nil *Writer has no file.
type Writer struct {
	model Model
	out   *os.File
	key   ed25519.PrivateKey // nil signs nothing
}

// Create makes a file for receipts of the model that name stands for and that lies at path. key is the name of
// a file as [PrivateKey] reads it, and "" signs nothing. Without a file's name the Writer is nil.
func Create(file, key, name, path, architecture string) (*Writer, error) {
	if file == "" {
		return nil, nil
	}
	w := &Writer{model: Model{Name: name, Architecture: architecture}}
	if strings.ContainsAny(name, `/\:`) {
		w.model.Name = filepath.Base(path)
	}
	var err error
	if key != "" {
		data, err := os.ReadFile(key)
		if err != nil {
			return nil, err
		}
		if w.key, err = PrivateKey(data); err != nil {
			return nil, err
		}
	}
	if w.model.Files, err = Files(path, false); err != nil {
		return nil, err
	}
	if w.out, err = os.Create(file); err != nil {
		return nil, err
	}
	return w, nil
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
