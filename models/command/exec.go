package command

import (
	"errors"
	"flag"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/lora"
)

// ExecFlags defines the flags -threads and -tier, which say how kernels run and never change a
// result.
func ExecFlags(fs *flag.FlagSet, e *kernel.Exec) {
	fs.IntVar(&e.Threads, "threads", e.Threads, "most threads to use; 0 means all")
	fs.Func("tier", "`name` of the implementation, such as generic or avx2 (default: the best of this CPU)", func(name string) (err error) {
		e.Tier, err = kernel.TierNamed(name)
		if bad, ok := errors.AsType[*kernel.Error](err); ok && name != "" {
			return fmt.Errorf("want %s", bad.Want)
		}
		return err
	})
}

// LoRAFlag defines the flag -lora of commands that open models.
func LoRAFlag(fs *flag.FlagSet, list *[]lora.Adapter) {
	fs.Func("lora", "merge an adapter, `PATH` or PATH=SCALE, into the weights: a folder of the peft library for a model in a folder,\na GGUF file for a model in a GGUF file; may be repeated; changes results", func(text string) error {
		a, err := lora.Parse(text)
		*list = append(*list, a)
		return err
	})
}

// KeepPackedFlag defines the flag -keep-packed of commands that open models, which changes no
// result.
func KeepPackedFlag(fs *flag.FlagSet, keep *bool) {
	fs.BoolVar(keep, "keep-packed", *keep, "keep packed weights in the file NAME.packed beside the model: the next start takes a fraction of the time;\nthe file is as large as the model")
}

// CheckExec returns a [UsageError] if -threads of [ExecFlags] is negative, or the error about
// ATTN_TIER if that names no tier that runs, so that a command can say it before it loads a model.
func CheckExec(e kernel.Exec) error {
	if e.Threads < 0 {
		return Usage(fmt.Errorf("-threads is %d, want 0 or more", e.Threads))
	}
	return e.Check()
}
