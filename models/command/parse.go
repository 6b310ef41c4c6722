package command

import (
	"errors"
	"flag"
	"io"
	"strings"
)

// Parse parses a command line, in which flags may also follow arguments: all of these are fs.Args()
// then. What follows -- is an argument. If the command line asks for help, help gets it, and the
// error is [flag.ErrHelp]. Other errors are a [UsageError].
func Parse(fs *flag.FlagSet, args []string, help io.Writer) error {
	fs.SetOutput(io.Discard)
	err := parse(fs, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(help)
		fs.Usage()
		return err
	case err != nil:
		return Usage(err)
	}
	return nil
}

// parse gives fs one flag after the other, and then all arguments.
func parse(fs *flag.FlagSet, args []string) error {
	arguments := []string{"--"}
	for len(args) > 0 {
		n := flagWords(fs, args)
		switch {
		case args[0] == "--":
			arguments, args = append(arguments, args[1:]...), nil
		case n == 0:
			arguments, args = append(arguments, args[0]), args[1:]
		default:
			if err := fs.Parse(args[:n]); err != nil {
				return err
			}
			args = args[n:]
		}
	}
	return fs.Parse(arguments)
}

// flagWords returns how many of args the flag at their beginning takes: 0 if there is none.
func flagWords(fs *flag.FlagSet, args []string) int {
	name, isFlag := strings.CutPrefix(args[0], "-")
	if !isFlag || name == "" {
		return 0
	}
	f := fs.Lookup(strings.TrimPrefix(name, "-"))
	if f == nil { // -flag=value, -h, or a mistake
		return 1
	}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return 1
	}
	return min(2, len(args))
}
