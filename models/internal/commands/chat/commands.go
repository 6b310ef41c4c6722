package chat

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/models/chattemplate"
)

const help = `/help   lists the commands
/clear  begins a new conversation
/drop   forgets the oldest turns, so that there is room for others
/quit   ends, as ^D does
What begins with a space or anything but / goes to the model.
`

// command does what a line that begins with / asks for.
func (c *conversation) command(ctx context.Context, name string) error {
	switch name {
	case "help":
		fmt.Fprint(c.stderr, help)
	case "clear":
		c.messages, c.pending = c.instructions(), ""
	case "drop":
		return c.drop(ctx)
	default:
		fmt.Fprintf(c.stderr, "attn chat: there is no command /%s: /help lists the commands, and a line with a space before the / goes to the model\n", name)
	}
	return nil
}

// drop forgets the oldest turn, or as many as the line that had no room needs, and asks that line
// again. The positions of what stays change, so the model reads it anew: the answers equal a
// conversation's that begins there.
func (c *conversation) drop(ctx context.Context) error {
	first := len(c.instructions())
	dropped := 0
	for ; len(c.messages) >= first+2; dropped++ {
		if fits, err := c.fits(ctx); err != nil {
			return err
		} else if fits && dropped > 0 {
			break
		}
		c.messages = append(c.messages[:first:first], c.messages[first+2:]...)
	}
	if dropped == 0 {
		fmt.Fprintln(c.stderr, "attn chat: there is no turn to drop")
		if c.pending != "" {
			fmt.Fprintf(c.stderr, "attn chat: the last line is too long for the context of %d tokens by itself\n", c.model.Options().Context)
			c.pending = ""
		}
		return nil
	}
	fmt.Fprintf(c.stderr, "attn chat: forgot the oldest %s; the model reads the rest anew, as a conversation that begins there\n", plural(dropped, "turn"))
	if c.pending == "" {
		return nil
	}
	return c.turn(ctx, c.pending)
}

// fits returns whether there is room for the line that waits and for an answer, as long as -max
// allows but at most half of the context. Without such a line there is.
func (c *conversation) fits(ctx context.Context) (bool, error) {
	if c.pending == "" {
		return true, nil
	}
	ids, err := c.model.EncodeConversation(ctx, c.talk(append(c.messages[:len(c.messages):len(c.messages)], chattemplate.Message{Role: "user", Content: c.pending})))
	size := c.model.Options().Context
	room := size / 2
	if m := c.generate.MaxTokens; m > 0 {
		room = min(room, m)
	}
	return len(ids)+room <= size, err
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
