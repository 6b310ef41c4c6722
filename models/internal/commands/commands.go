// Package commands has the frame of the command attn: its list of commands, its help, and
// completion for shells. Each folder below it is a command.
package commands

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/models/command"
)

// A Command is a command of attn.
type Command struct {
	Name, Summary string
	Flags         func() *flag.FlagSet
	Main          func(args []string) // ends the program after an error
}

// FlagSet returns an empty set of flags of a command, whose help is the usage and then all flags.
func FlagSet(name, usage string) *flag.FlagSet {
	fs := flag.NewFlagSet("attn "+name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	return fs
}

// Main runs the command that args begins with: any of all, help or completion. Help goes to out, as
// does completion.
func Main(all []Command, args []string, out io.Writer) error {
	all = append(all[:len(all):len(all)], completion(all, out))
	if len(args) == 0 {
		return command.Usage(errors.New("want a command\n\n" + summaries(all)))
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help", "help":
		if len(args) == 0 {
			return help(all, out)
		}
		name, args = args[0], []string{"-h"}
	}
	for _, c := range all {
		if c.Name == name {
			c.Main(args)
			return nil
		}
	}
	return command.Usage(fmt.Errorf("%q: want one of %s", name, names(all)))
}

func names(all []Command) string {
	var list []string
	for _, c := range all {
		list = append(list, c.Name)
	}
	return strings.Join(list, ", ")
}

// summaries returns a line for each command.
func summaries(all []Command) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "  %-10s  %s\n", c.Name, c.Summary)
	}
	return b.String()
}

// help prints what the commands are.
func help(all []Command, out io.Writer) error {
	_, err := io.WriteString(out, "usage: attn COMMAND [flags] [arguments]\n\n"+summaries(all)+
		"\nattn COMMAND -h describes a command and its flags.\n"+
		"The results are the same on every CPU and with any number of threads.\n")
	return err
}

// completion is the command that prints a script of a shell to out. The script also completes the
// command itself.
func completion(all []Command, out io.Writer) Command {
	c := Command{Name: "completion", Summary: "prints a script for a shell, one of " + shellNames(", ") + ", that completes commands and flags"}
	c.Flags = func() *flag.FlagSet {
		return FlagSet(c.Name, "usage: attn completion "+shellNames("|")+"\n\n"+
			"Prints a script that completes commands and flags. Its first line says how to load it.\n")
	}
	all = append(all[:len(all):len(all)], c)
	c.Main = func(args []string) { command.Exit("attn completion", printScript(c.Flags(), all, args, out)) }
	return c
}

// printScript prints the script of the shell that args name.
func printScript(fs *flag.FlagSet, all []Command, args []string, out io.Writer) error {
	if err := command.Parse(fs, args, out); err != nil {
		return err
	}
	for _, s := range shells {
		if fs.NArg() == 1 && fs.Arg(0) == s.name {
			_, err := io.WriteString(out, s.script(all, shellNames(" ")))
			return err
		}
	}
	return command.Usage(fmt.Errorf("%q: want one of %s", fs.Args(), shellNames(", ")))
}

// shells are those for which there is a script. Each script completes their names, too.
var shells = []struct {
	name   string
	script func(all []Command, shellList string) string
}{{"bash", bash}, {"zsh", zsh}, {"fish", fish}}

func shellNames(separator string) string {
	var list []string
	for _, s := range shells {
		list = append(list, s.name)
	}
	return strings.Join(list, separator)
}

// words returns the names of commands as words of a shell.
func words(all []Command) string { return strings.ReplaceAll(names(all), ",", "") }

const helpSummary = "describes the commands, or one of them"

func bash(all []Command, shellList string) string {
	var b strings.Builder
	b.WriteString("# To load it: source <(attn completion bash)\n_attn() {\n\tlocal words\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n")
	fmt.Fprintf(&b, "\t\twords='%s help'\n\telif [[ ${COMP_WORDS[COMP_CWORD]} == -* ]]; then\n\t\tcase ${COMP_WORDS[1]} in\n", words(all))
	for _, c := range all {
		var list []string
		c.Flags().VisitAll(func(f *flag.Flag) { list = append(list, "-"+f.Name) })
		fmt.Fprintf(&b, "\t\t%s) words='%s' ;;\n", c.Name, strings.Join(list, " "))
	}
	fmt.Fprintf(&b, "\t\tesac\n\telif [ \"$COMP_CWORD\" = 2 ]; then\n\t\tcase ${COMP_WORDS[1]} in\n\t\thelp) words='%s' ;;\n\t\tcompletion) words='%s' ;;\n", words(all), shellList)
	b.WriteString("\t\tesac\n\tfi\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o default -F _attn attn\n")
	return b.String()
}

func zsh(all []Command, shellList string) string {
	var b strings.Builder
	item := func(name, text string) {
		fmt.Fprintf(&b, "\t\t%s\n", quote(name+":"+strings.ReplaceAll(text, ":", `\:`)))
	}
	b.WriteString("#compdef attn\n# To load it: source <(attn completion zsh)\n_attn() {\n\tlocal -a list\n\tif (( CURRENT == 2 )) || [[ $CURRENT = 3 && $words[2] = help ]]; then\n\t\tlist=(\n")
	for _, c := range all {
		item(c.Name, c.Summary)
	}
	fmt.Fprintf(&b, "\t\t)\n\t\t(( CURRENT == 2 )) && list+=('help:%s')\n\t\t_describe command list\n\t\treturn\n\tfi\n", helpSummary)
	fmt.Fprintf(&b, "\tif [[ $CURRENT = 3 && $words[2] = completion ]]; then\n\t\tlist=(%s)\n\t\t_describe shell list\n\t\treturn\n\tfi\n", shellList)
	b.WriteString("\tif [[ $PREFIX != -* ]]; then\n\t\t_files\n\t\treturn\n\tfi\n\tcase $words[2] in\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t%s)\n\t\tlist=(\n", c.Name)
		c.Flags().VisitAll(func(f *flag.Flag) { item("-"+f.Name, short(f)) })
		b.WriteString("\t\t) ;;\n")
	}
	b.WriteString("\tesac\n\t_describe -o flag list\n}\ncompdef _attn attn\n")
	return b.String()
}

func fish(all []Command, shellList string) string {
	var b strings.Builder
	b.WriteString("# To load it: attn completion fish | source\n")
	for _, c := range all {
		fmt.Fprintf(&b, "complete -c attn -f -n __fish_use_subcommand -a %s -d %s\n", c.Name, quote(c.Summary))
		c.Flags().VisitAll(func(f *flag.Flag) {
			value := " -r"
			if isBool, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && isBool.IsBoolFlag() {
				value = ""
			}
			fmt.Fprintf(&b, "complete -c attn%s -n '__fish_seen_subcommand_from %s' -o %s -d %s\n", value, c.Name, f.Name, quote(short(f)))
		})
	}
	fmt.Fprintf(&b, "complete -c attn -f -n __fish_use_subcommand -a help -d '%s'\n", helpSummary)
	for _, second := range [][2]string{{"help", words(all)}, {"completion", shellList}} {
		fmt.Fprintf(&b, "complete -c attn -f -n 'test (count (commandline -opc)) = 2; and __fish_seen_subcommand_from %s' -a '%s'\n", second[0], second[1])
	}
	return b.String()
}

// short returns what a flag is, up to the first semicolon, colon before a space or end of a line.
func short(f *flag.Flag) string {
	_, usage := flag.UnquoteUsage(f)
	for _, end := range []string{";", ": ", "\n"} {
		usage, _, _ = strings.Cut(usage, end)
	}
	return cmp.Or(usage, f.Name)
}

// quote returns a text as one word of a shell. Fish, too, ends such a word at ', and takes \'
// outside of it.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
