package commands

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// list are two commands. run gets the arguments of the one that runs.
func list(run *[]string) []Command {
	flags := func() *flag.FlagSet {
		fs := FlagSet("say", "usage: attn say\n\n")
		fs.String("tone", "", "`name` of it's tone: high; or low")
		fs.String("at", "", "`URL` such as http://a; or none")
		fs.Bool("twice", false, "")
		return fs
	}
	main := func(args []string) { *run = append([]string{"say"}, args...) }
	return []Command{{"say", "says it: 'aloud'", flags, main}, {"saw", "cuts", flags, nil}, {"cut", "saws", flags, nil}}
}

// TestMainCalls: a name calls its command with the other arguments, and what is none is a usage
// error that lists all.
func TestMainCalls(t *testing.T) {
	for line, want := range map[string]string{"say -tone high x": "say -tone high x", "help say": "say -h", "say": "say"} {
		var run []string
		if err := Main(list(&run), strings.Fields(line), nil); err != nil || strings.Join(run, " ") != want {
			t.Errorf("%s: %q, %v", line, run, err)
		}
	}
	if err := Main(list(nil), nil, nil); !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), "\n  say         says it: 'aloud'\n  saw") {
		t.Errorf("without a command: %v", err)
	}
	for _, line := range []string{"sing", "help sing"} {
		if err := Main(list(nil), strings.Fields(line), nil); !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), "say, saw, cut, completion") {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"help", "-h", "--help"} {
		var out bytes.Buffer
		if err := Main(list(nil), []string{line}, &out); err != nil || !strings.Contains(out.String(), "says it: 'aloud'") || !strings.Contains(out.String(), "\n  completion  ") {
			t.Errorf("%s: %v, %s", line, err, &out)
		}
	}
}

// script returns what completion prints for a shell.
func script(t *testing.T, shell string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Main(list(nil), []string{"completion", shell}, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestScripts: all scripts have all commands and flags, and a description stays one word.
func TestScripts(t *testing.T) {
	for _, s := range shells {
		shell := s.name
		text := script(t, shell)
		for _, want := range []string{"say", "saw", "completion", "help", "tone", "twice"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the script lacks %s", shell, want)
			}
		}
		if shell != "bash" && (!strings.Contains(text, `it'\''s tone`) || strings.Contains(text, "low") || !strings.Contains(strings.ReplaceAll(text, `\:`, ":"), "http://a'")) {
			t.Errorf("%s: the flag's description is not as expected:\n%s", shell, text)
		}
	}
	fs := completion(nil, nil).Flags()
	if err := printScript(fs, nil, []string{"csh"}, nil); !errors.As(err, new(command.UsageError)) {
		t.Errorf("csh: %v", err)
	}
}

// TestShells: shells that are there complete with the scripts.
func TestShells(t *testing.T) {
	for shell, ask := range map[string]string{
		"bash": `source %; for w in "sa" "say -t" "he" "help cut" "completion fi"; do COMP_WORDS=(attn $w); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _attn; echo ${COMPREPLY[@]}; done`,
		"fish": `source %; for w in "sa" "say -t" "he" "help cut" "completion fi"; complete -C "attn $w"; end`,
		"zsh":  `compdef() { true }; source % && print say saw -tone -twice help cut fish`, // the syntax alone: it completes at a terminal only
	} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("NOT RUN: completion in %s, because it is not there", shell)
			continue
		}
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(script(t, shell)), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(shell, "-c", strings.ReplaceAll(ask, "%", file)).CombinedOutput()
		words := strings.Fields(string(out))
		for _, want := range []string{"say", "saw", "-tone", "-twice", "help", "cut", "fish"} {
			if err != nil || !slices.Contains(words, want) {
				t.Errorf("%s: %v, %q lacks %s", shell, err, out, want)
			}
		}
		if slices.Contains(words, "completion") {
			t.Errorf("%s: %q has more", shell, out)
		}
	}
}
