package embed_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/cluster/embed"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/models/server"
)

// A corpus of three texts becomes a file of vectors. The workers run on other machines in a real
// cluster, as cluster answer; the model of this example is tiny, with random weights.
func Example() {
	folder, err := os.MkdirTemp("", "vectors")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	nats, err := hub.Serve(ctx, hub.ServerConfig{Port: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer nats.Close()
	conn, err := hub.Connect(ctx, nats.Client())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	model, err := server.Load("../../models/testdata/tiny/bert-1", server.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	answers, err := server.New(server.Settings{}, model)
	if err != nil {
		log.Fatal(err)
	}
	worker := relay.Worker{Conn: conn, Name: "worker", Server: answers}
	go worker.Run(ctx)

	client := embed.Client{Conn: conn, Options: embed.Options{
		Inputs: []string{"-"},
		Stdin:  strings.NewReader("the cat sat\none two three\na b c\n"),
		Output: filepath.Join(folder, "vectors.jsonl"),
	}}
	summary, err := client.Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.ReadFile(client.Options.Output)
	fmt.Println(summary.Texts, "texts,", summary.Width, "numbers each,", bytes.Count(file, []byte("\n")), "lines", err)

	// Output:
	// 3 texts, 36 numbers each, 3 lines <nil>
}
