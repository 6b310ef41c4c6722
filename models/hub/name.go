// Package hub fetches models from a hub as Hugging Face has it, by their names: what a revision is
// and which files it has, the files themselves, each checked by its hash, into a folder that keeps
// them. Nothing is fetched twice, and a download that was interrupted goes on where it was. Whoever
// has a model there needs no network any more.
package hub

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
)

// A Name names a model of a hub, as ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE, or with both:
// ORG/NAME@REVISION:FILE.
type Name struct {
	Repo     string // ORG/NAME
	Revision string // a branch, a tag or a commit; default main
	File     string // a GGUF file of several, "" for the model as a folder, or for the only GGUF file
}

var nameForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*)(?:@([A-Za-z0-9][A-Za-z0-9._-]*))?(?::(.+))?$`)

// ParseName returns the name that a text is, if it has the form of one.
func ParseName(text string) (Name, bool) {
	m := nameForm.FindStringSubmatch(text)
	if m == nil || m[3] != "" && !isLocal(m[3]) || strings.Contains(m[1]+m[2], "..") {
		return Name{}, false
	}
	n := Name{m[1], m[2], m[3]}
	if n.Revision == "" {
		n.Revision = "main"
	}
	return n, true
}

// String returns the text of a name.
func (n Name) String() string {
	text := n.Repo + "@" + n.Revision
	if n.File != "" {
		text += ":" + n.File
	}
	return text
}

// isLocal tells whether a file of a hub may be one below a folder here.
func isLocal(file string) bool {
	return filepath.IsLocal(filepath.FromSlash(file)) && path.Clean(file) == file && !strings.ContainsAny(file, "\\:\x00") && !strings.HasSuffix(file, partEnding)
}

// module matches the folders of a model of sentence-transformers beside its own files.
var module = regexp.MustCompile(`^[0-9]+_[A-Za-z]+$`)

// shard matches the number in the name of a GGUF file that is a part of a model.
var shard = regexp.MustCompile(`-[0-9]{5}-of-[0-9]{5}\.gguf$`)

// choose returns the files of a listing that a model consists of, and the path of the model among
// them, "" for the folder.
func (l *listing) choose(n Name) (files []File, at string, err error) {
	if n.File != "" {
		return l.file(n)
	}
	var ggufs []string
	for _, f := range l.Files {
		if strings.HasSuffix(f.Name, ".gguf") {
			ggufs = append(ggufs, f.Name)
		} else if l.isPart(f.Name) {
			files = append(files, f)
		}
	}
	switch {
	case slices.ContainsFunc(files, func(f File) bool { return f.Name == "config.json" }):
		return files, "", nil
	case len(ggufs) == 1:
		n.File = ggufs[0]
		return l.file(n)
	case len(ggufs) > 1:
		return nil, "", &kernel.Error{Where: "hub: " + n.String(), Got: fmt.Sprintf("%d GGUF files", len(ggufs)), Want: fmt.Sprintf("one of them, as %s:%s: %s", n.Repo, ggufs[0], strings.Join(ggufs, ", "))}
	}
	return nil, "", &kernel.Error{Where: "hub: " + n.String(), Got: fmt.Sprintf("%d files without config.json or one that ends in .gguf", len(l.Files)), Want: "a model"}
}

// file returns a GGUF file with the other parts of its model.
func (l *listing) file(n Name) (files []File, at string, err error) {
	if !strings.HasSuffix(n.File, ".gguf") {
		return nil, "", &kernel.Error{Where: "hub: " + n.String(), Got: n.File, Want: "a GGUF file, or no file for the model as a folder"}
	}
	same := func(name string) string { return shard.ReplaceAllString(name, "-*") }
	for _, f := range l.Files {
		if f.Name == n.File || shard.MatchString(n.File) && same(f.Name) == same(n.File) {
			files = append(files, f)
		}
	}
	if !slices.ContainsFunc(files, func(f File) bool { return f.Name == n.File }) {
		return nil, "", &kernel.Error{Where: "hub: " + n.String(), Got: "no such file", Want: "one of the revision's"}
	}
	return files, n.File, nil
}

// isPart tells whether a file is one that the model's folder needs: settings, the tokenizer and
// weights of safetensors, or of PyTorch if there are no others.
func (l *listing) isPart(name string) bool {
	dir, base := path.Split(name)
	if dir = strings.TrimSuffix(dir, "/"); dir != "" && !module.MatchString(dir) {
		return false
	}
	switch path.Ext(base) {
	case ".json", ".txt", ".jinja", ".model":
		return true
	case ".safetensors":
		return !strings.HasPrefix(base, "consolidated") // the same weights in another form
	case ".md":
		return name == "README.md" // whose title tells the family of some rerankers
	case ".pt":
		return base == "sparse_linear.pt" || base == "colbert_linear.pt"
	case ".bin":
		return strings.HasPrefix(base, "pytorch_model") && !slices.ContainsFunc(l.Files, func(f File) bool {
			d, b := path.Split(f.Name)
			return strings.TrimSuffix(d, "/") == dir && (b == "model.safetensors" || b == "model.safetensors.index.json")
		})
	}
	return false
}
