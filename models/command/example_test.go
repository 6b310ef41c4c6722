package command_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

// A command takes texts from files, from -text or from the standard input, and the flags of how it
// is executed. Here it gets its command line and input from the example.
func Example() {
	search := func(args ...string) error {
		var exec kernel.Exec
		var in command.Inputs
		fs := flag.NewFlagSet("search", flag.ContinueOnError)
		in.Flag(fs, "search in this text")
		command.ExecFlags(fs, &exec)
		top := fs.Int("top", 5, "how many lines to print")
		if err := command.Parse(fs, args, os.Stdout); err != nil {
			return err
		}
		in.Take(fs)
		if *top < 1 {
			return command.Usage(fmt.Errorf("-top is %d, want 1 or more", *top))
		}
		lines, err := in.Lines(context.Background(), strings.NewReader("from the standard input\n"))
		fmt.Println(*top, exec.Threads, lines)
		return err
	}
	fmt.Println(search())
	fmt.Println(search("-text", "a flag's text", "--top=3", "-threads", "2"))
	err := search("-top", "0")
	fmt.Println(err, errors.As(err, new(command.UsageError))) // command.Exit ends with status 2

	// Output:
	// 5 0 [from the standard input]
	// <nil>
	// 3 2 [a flag's text]
	// <nil>
	// -top is 0, want 1 or more true
}
