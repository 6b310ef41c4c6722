package chat

import (
	"strings"
	"testing"
)

// converse runs a conversation of some lines.
func converse(t *testing.T, lines []string, args ...string) (out, report string) {
	t.Helper()
	out, report, err := try(t.Context(), keyboard{strings.NewReader(strings.Join(lines, "\n") + "\n")}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out, report
}

// Commands do not go to the model, known or not. A space before the / makes it a text.
func TestCommands(t *testing.T) {
	args := []string{"-model", tiny(t), "-max", "6", "-temp", "0"}
	out, report := converse(t, []string{"/help", "/x y", "/", "/drop"}, args...)
	if out != "" {
		t.Errorf("the model answers %q", out)
	}
	for _, want := range []string{"/clear  begins", "/drop   forgets", "no command /x y: /help", "no command /: ", "no turn to drop"} {
		if !strings.Contains(report, want) {
			t.Errorf("report %q, want %q", report, want)
		}
	}
	want, _ := text(t, "", append(args, "-text", "/usr is what")...)
	if out, _ := converse(t, []string{" /usr is what"}, args...); out != want {
		t.Errorf("a line with a space: %q, want %q", out, want)
	}
}

// After /drop the answers equal a conversation's that begins with the turns that stay.
func TestDrop(t *testing.T) {
	args := []string{"-model", tiny(t), "-max", "8", "-temp", "0", "-system", "s"}
	short, long := "hi", strings.Repeat("word ", 14)
	ctx := append(args, "-ctx", "160")

	// The second line has no room, which /drop makes.
	want, _ := converse(t, []string{long}, args...)
	out, report := converse(t, []string{long + long, long, "/drop"}, ctx...)
	if !strings.HasSuffix(out, want) || !strings.Contains(report, "/drop drops the oldest turns and asks this again") || !strings.Contains(report, "forgot the oldest 1 turn;") {
		t.Errorf("answers %q, want %q at the end; report %q", out, want, report)
	}

	// Without a line that waits it forgets one turn.
	want, _ = converse(t, []string{"me"}, args...)
	out, report = converse(t, []string{short, "/drop", "me"}, args...)
	if !strings.HasSuffix(out, want) || !strings.Contains(report, "forgot the oldest 1 turn;") {
		t.Errorf("answers %q, want %q at the end; report %q", out, want, report)
	}

	// A line that is too long by itself is given up.
	_, report = converse(t, []string{short, long + long + long + long, "/drop", "/drop", "/drop"}, ctx...)
	if !strings.Contains(report, "too long for the context of 160 tokens by itself") || strings.Count(report, "no turn to drop") != 2 {
		t.Errorf("report %q", report)
	}
}
