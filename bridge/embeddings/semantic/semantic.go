// Package semantic is the command search, but for the model: it indexes the documents of a
// folder with chromem-go and searches them. Two commands use it, one with each model.
package semantic

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/attn-go/attn/bridge/embeddings"
	"github.com/attn-go/attn/models/command"
	"github.com/philippgille/chromem-go"
)

// A Loader loads a model, see weights.Resolve, and returns its embedding function.
type Loader func(ctx context.Context, model string, threads int) (func(ctx context.Context, texts []string) ([][]float32, error), error)

// settings come from the command line.
type settings struct {
	folder, query    string
	database, model  string
	results, threads int
}

// parse parses the command line. If it asks for help, help gets it.
func parse(name string, args []string, help io.Writer) (*settings, error) {
	s := &settings{}
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprintf(help, "usage: %s [flags] [-query TEXT] FOLDER\n\n"+
			"Indexes the passages of the .md, .txt, .rst and .go files below a folder, as far as they are new, and\n"+
			"prints those that are nearest to the query in meaning.\n\n", name)
		fs.PrintDefaults()
	}
	fs.StringVar(&s.query, "query", "", "`text` to search for; without it the passages are indexed only")
	fs.StringVar(&s.database, "db", "", "`folder` of the database (default: one for FOLDER and the model below the user's cache folder)")
	fs.StringVar(&s.model, "model", "all-MiniLM-L6-v2", "`folder` of the model, or the name of one that attn fetch downloads")
	fs.IntVar(&s.results, "top", 3, "how many passages are printed")
	fs.IntVar(&s.threads, "threads", 0, "most threads; 0 means all")
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() != 1:
		return nil, command.Usage(fmt.Errorf("%d arguments, want the folder of the documents; -query takes what to search for", fs.NArg()))
	case s.results < 1 || s.threads < 0:
		return nil, command.Usage(errors.New("-top must be at least 1, and -threads at least 0"))
	}
	s.folder = fs.Arg(0)
	if s.database == "" {
		var err error
		if s.database, err = databaseOf(s.folder, s.model); err != nil {
			return nil, fmt.Errorf("there is no folder for the database, -db names one: %w", err)
		}
	}
	return s, nil
}

// databaseOf returns the folder of the database of a folder's passages, below the user's cache
// folder: what is searched stays as it is.
func databaseOf(folder, model string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	if model, err = filepath.Abs(model); err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(folder + "\x00" + model))
	return filepath.Join(cache, "attn", "search", fmt.Sprintf("%s-%x", filepath.Base(folder), key[:6])), nil
}

// Run runs the command called name. Results go to out, and everything else to report.
func Run(ctx context.Context, name string, load Loader, args []string, out, report io.Writer) error {
	s, err := parse(name, args, report)
	if err != nil {
		return err
	}
	all, err := passages(os.DirFS(s.folder))
	if err != nil {
		return err
	}
	if len(all) == 0 { // before a folder for the database is made
		return fmt.Errorf("%s has no passages in files that end in %s", s.folder, strings.Join(extensions, ", "))
	}
	embed, err := load(ctx, s.model, s.threads)
	if err != nil {
		return err
	}
	db, err := chromem.NewPersistentDB(s.database, false)
	if err != nil {
		return err
	}
	collection, err := db.GetOrCreateCollection("passages", nil, func(ctx context.Context, text string) ([]float32, error) {
		vectors, err := embed(ctx, []string{text})
		if err != nil {
			return nil, err
		}
		return vectors[0], nil
	})
	if err != nil {
		return err
	}
	if err := index(ctx, collection, all, embed, report); err != nil || s.query == "" {
		return err
	}
	return search(ctx, collection, s, out)
}

// index brings the collection up to date with all passages: it adds those that are new and
// deletes those that are gone.
func index(ctx context.Context, c *chromem.Collection, all []chromem.Document, embed func(context.Context, []string) ([][]float32, error), report io.Writer) error {
	var fresh []chromem.Document
	current := map[string]bool{}
	for _, p := range all {
		current[p.ID] = true
		if _, err := c.GetByID(ctx, p.ID); err != nil {
			fresh = append(fresh, p)
		}
	}
	start := time.Now()
	if err := embeddings.Add(ctx, c, embed, fresh); err != nil {
		return err
	}
	took := time.Since(start)
	gone, err := deleteOthers(ctx, c, current)
	if err != nil {
		return err
	}
	fmt.Fprintf(report, "%d passages, %d of them new", len(all), len(fresh))
	if len(fresh) > 0 {
		fmt.Fprintf(report, " (%.1f/s)", float64(len(fresh))/took.Seconds())
	}
	fmt.Fprintf(report, ", %d gone\n", gone)
	return nil
}

// deleteOthers deletes all documents whose ids are not current, and returns their number.
func deleteOthers(ctx context.Context, c *chromem.Collection, current map[string]bool) (int, error) {
	// The collection does not list its documents, but a query can ask for all of them.
	all, err := c.Query(ctx, "all", c.Count(), nil, nil)
	if err != nil {
		return 0, err
	}
	var gone []string
	for _, r := range all {
		if !current[r.ID] {
			gone = append(gone, r.ID)
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	return len(gone), c.Delete(ctx, nil, nil, gone...)
}

// search prints the passages that are nearest to the query.
func search(ctx context.Context, c *chromem.Collection, s *settings, out io.Writer) error {
	results, err := c.Query(ctx, s.query, min(s.results, c.Count()), nil, nil)
	if err != nil {
		return err
	}
	for _, r := range results {
		text := strings.Join(strings.Fields(r.Content), " ")
		fmt.Fprintf(out, "%.3f  %s:%s  %.100s\n", r.Similarity, r.Metadata["path"], r.Metadata["line"], text)
	}
	return nil
}
