package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/attn-go/attn/models/hub"
)

// An allowance lets models be fetched.
type allowance struct {
	ctx    context.Context
	report io.Writer
}

var allowed atomic.Pointer[allowance]

// AllowFetch lets [Resolve] fetch models until ctx ends, from the hub of ATTN_HUB or
// [hub.Endpoint]. report, if not nil, gets a line for each file.
func AllowFetch(ctx context.Context, report io.Writer) { allowed.Store(&allowance{ctx, report}) }

// ofHub returns the path of a model of a hub, or "" if the text is no name of one, or if none is
// there and none may be fetched.
func ofHub(folder, model string) (path string, err error) {
	name, ok := hub.ParseName(model)
	if !ok {
		return "", nil
	}
	c := hub.New(folder)
	path, err = c.Find(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	a := allowed.Load()
	if a == nil && os.Getenv("ATTN_HUB") == "" {
		return "", nil
	}
	if a == nil {
		a = &allowance{ctx: context.Background()}
	}
	if a.report != nil {
		last := ""
		c.Progress = func(file string, _, total int64) {
			if file != last {
				fmt.Fprintf(a.report, "fetching %s: %s, %.1f MB\n", name, file, float64(total)/1e6)
			}
			last = file
		}
	}
	return c.Fetch(a.ctx, name)
}
