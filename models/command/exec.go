package command

import (
	"flag"
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
)

// ExecFlags defines the flags -threads and -tier, which say how kernels run and never change a
// result.
func ExecFlags(fs *flag.FlagSet, e *kernel.Exec) {
	fs.IntVar(&e.Threads, "threads", e.Threads, "most threads to use; 0 means all")
	fs.StringVar(&e.Tier, "tier", e.Tier, "`name` of the implementation, such as generic or avx2 (default the best on this CPU)")
}

// CheckExec returns a [UsageError] if a value of [ExecFlags] is none that this program has, or the error about
// ATTN_TIER if that names no tier that runs, so that a command can say it before it loads a model.
func CheckExec(e kernel.Exec) error {
	if e.Threads < 0 {
		return Usage(fmt.Errorf("-threads is %d, want 0 or more", e.Threads))
	}
	if e.Tier == "" {
		return e.Check()
	}
	var names []string
	for _, t := range kernel.Tiers() {
		switch {
		case t.Name == e.Tier && !t.Runs:
			return Usage(fmt.Errorf("-tier is %q, which does not run here: %s", e.Tier, t.Reason))
		case t.Name == e.Tier:
			return nil
		}
		names = append(names, t.Name)
	}
	return Usage(fmt.Errorf("-tier is %q, want one of %s", e.Tier, strings.Join(names, ", ")))
}
