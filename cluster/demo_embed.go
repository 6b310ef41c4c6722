package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/cluster/embed"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/weights"
)

// demoTexts is how many lines are embedded.
const demoTexts = 160

// embed embeds lines of this command's sources with three workers, of which one is cut off while it
// works. The client is interrupted, and started again.
func (d *demo) embed(ctx context.Context) error {
	folder, err := weights.Find(weights.MiniLM)
	if err != nil {
		fmt.Fprintf(d.out, "\nNOT RUN: embedding, as the model is %v.\n", err)
		return nil
	}
	model, err := encoder.Load(folder, encoder.LoadOptions{})
	if err != nil {
		return err
	}
	texts := strings.SplitN(source, "\n", demoTexts+1)[:demoTexts]
	dir, err := os.MkdirTemp("", "attn-demo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(d.out, "\nMiniLM embeds %d lines of this command's sources.\n", len(texts))
	for i, name := range []string{"dora", "emil", "fred"} {
		if _, err := d.begin(ctx, name, "answers with", "answer", "-name", name, "-server", d.hub.URL, "-model", folder, "-tier", demoTier(i), "-threads", "1", "-shutdown", "0"); err != nil {
			return err
		}
		fmt.Fprintf(d.out, "Worker %s embeds with tier %s.\n", name, demoTier(i))
	}
	output := filepath.Join(dir, "vectors.jsonl")
	if err := d.runTwice(ctx, strings.Join(texts, "\n")+"\n", embed.Options{Inputs: []string{"-"}, Output: output, JobTexts: 4, Window: 8}); err != nil {
		return err
	}
	return d.compare(ctx, output, texts, model)
}

// runTwice runs a client, cuts off a worker after a quarter of the texts, interrupts the client
// after half of them, and runs it again.
func (d *demo) runTwice(ctx context.Context, text string, o embed.Options) error {
	o.Stdin = strings.NewReader(text)
	conn, err := connect(ctx, d.hub)
	if err != nil {
		return err
	}
	defer conn.Close()
	cut := false
	first, interrupt := context.WithCancel(ctx)
	defer interrupt()
	client := embed.Client{Conn: conn, Options: o, Progress: func(p embed.Progress) {
		if p.Texts >= demoTexts/4 && !cut {
			cut = true
			d.end("fred")
			fmt.Fprintf(d.out, "Worker fred is cut off after %d texts.\n", p.Texts)
		}
		if p.Texts >= demoTexts/2 {
			interrupt()
		}
	}}
	s, err := client.Run(first)
	if !errors.Is(err, context.Canceled) {
		return errors.Join(errors.New("the client was not interrupted"), err)
	}
	fmt.Fprintf(d.out, "The client is interrupted after %d texts, and started again.\n", s.Texts)
	client.Progress, client.Options.Stdin = nil, strings.NewReader(text)
	if s, err = client.Run(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "It went on after %d texts: %d texts, %d rejected, %.1f texts/s.\n",
		s.Resumed, s.Texts, s.Rejected, float64(s.Texts-s.Resumed)/s.Took.Seconds())
	return nil
}

// compare compares a file of vectors with those that this process computes.
func (d *demo) compare(ctx context.Context, output string, texts []string, model *encoder.Encoder) error {
	want, err := model.Embed(ctx, texts)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(output)
	if err != nil {
		return err
	}
	rows := json.NewDecoder(bytes.NewReader(data))
	for i := range texts {
		var row struct {
			Position  int
			Embedding []float32
		}
		if err := rows.Decode(&row); err != nil || row.Position != i || !sameBits(row.Embedding, want[i]) {
			return fmt.Errorf("row %d has other bits than one machine gives: %v", i, err)
		}
	}
	if rows.More() {
		return errors.New("there are more rows than texts")
	}
	fmt.Fprintf(d.out, "The file has every text once, in order, with the bits that one machine gives.\n")
	return nil
}
