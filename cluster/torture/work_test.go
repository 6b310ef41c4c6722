//go:build unix

package torture

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/attn-go/attn/models/encoder"
)

// A work is what a client does.
type work struct {
	name  string
	ready string // what it says when it is at work
	args  func(x *stage) []string
	check func(x *stage, client *process) error // of a client that ended well
}

// embedding embeds a corpus; the file is compared with that of one machine.
var embedding = &work{
	name:  "`embed`",
	ready: "metrics at", // of which it says so before it begins
	args: func(x *stage) []string {
		return []string{"embed", "-server", x.url, "-metrics", "0", "-job-texts", "4", "-retry", "1s", "-patience", "60s", "-format", "lines", "-o", x.output(), x.corpus.file}
	},
	check: func(x *stage, _ *process) error {
		data, err := os.ReadFile(x.output())
		if err == nil {
			err = x.corpus.compare(data)
		}
		os.Remove(x.output())
		return err
	},
}

// attention decodes over two sequences of the directory; the client compares each output with that of its own process.
var attention = &work{
	name:  "`attend`",
	ready: "keys in",
	args: func(x *stage) []string {
		return []string{"attend", "-server", x.url, "-name", fmt.Sprintf("try-%d", x.tries), "-keys", "4500", "-sequences", "2", "-tokens", "150", "-patience", "200ms", "-timeout", "5s"}
	},
	check: func(_ *stage, client *process) error {
		if !strings.Contains(client.said(), "they have the bits that one machine gives") {
			return fmt.Errorf("the client did not compare:\n%s", client.said())
		}
		return nil
	},
}

// A corpus is a file of texts with the vectors that this process gives them.
type corpus struct {
	file    string
	vectors []byte // as the rows of a .npy file
}

// texts is how many texts a corpus has.
const texts = 6000

// newCorpus writes a corpus.
func newCorpus(ctx context.Context, model, file string) (*corpus, error) {
	all := make([]string, texts)
	for i := range all {
		all[i] = strings.TrimSpace(strings.Repeat("a b ", i%7) + strings.Repeat("c ", i%11) + strings.Repeat("b a ", i%3))
		if all[i] == "" {
			all[i] = "a"
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	e, err := encoder.Load(model, encoder.LoadOptions{})
	if err != nil {
		return nil, err
	}
	vectors, err := e.Embed(ctx, all)
	if err != nil {
		return nil, err
	}
	c := &corpus{file: file}
	for _, v := range vectors {
		for _, f := range v {
			c.vectors = binary.LittleEndian.AppendUint32(c.vectors, math.Float32bits(f))
		}
	}
	return c, nil
}

// compare compares a .npy file (version 1.0 of its form) with the vectors.
func (c *corpus) compare(npy []byte) error {
	const start = 10 // the length of the header stands before it
	if len(npy) < start {
		return fmt.Errorf("the file has %d bytes", len(npy))
	}
	at := start + int(binary.LittleEndian.Uint16(npy[start-2:]))
	if at > len(npy) || !bytes.Equal(npy[at:], c.vectors) {
		return fmt.Errorf("the vectors are not those of one machine")
	}
	return nil
}
