package shard_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
)

// A server, two workers and a client. (With queries of zeros the result is the mean of the
// values.)
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server, err := hub.Serve(ctx, hub.ServerConfig{Port: -1})
	if err != nil {
		log.Fatal(err)
	}
	conn, err := hub.Connect(ctx, server.Client())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	for _, name := range []string{"a", "b"} {
		worker, err := shard.NewWorker(conn, shard.WorkerConfig{Name: name})
		if err != nil {
			log.Fatal(err)
		}
		defer worker.Close()
	}
	if err := decode(ctx, conn); err != nil {
		log.Fatal(err)
	}

	// Output:
	// 600 keys: [299.5 300.5]
}

func decode(ctx context.Context, conn *hub.Conn) error {
	client, err := shard.New(ctx, conn, shard.Config{Heads: 1, HeadSize: 2, Replicas: 2})
	if err != nil {
		return err
	}
	texts := []*shard.Sequence{client.NewSequence()}
	for token := range 600 {
		k := kernel.BHLD([]float32{0, 1}, 1, 1, 1, 2)
		v := kernel.BHLD([]float32{float32(token), float32(token + 1)}, 1, 1, 1, 2)
		if err := client.Append(ctx, texts, k, v); err != nil {
			return err
		}
	}
	q, out := make([]float32, 2), make([]float32, 2)
	stats, err := client.Attention(ctx, kernel.BHLD(out, 1, 1, 1, 2), kernel.BHLD(q, 1, 1, 1, 2), texts, &shard.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
	if err != nil {
		return err // a *shard.BlocksError if blocks cannot be had from any worker
	}
	fmt.Println(texts[0].Len(), "keys:", out)
	_ = stats.Received // bytes; stats also has the time of the workers' arithmetic
	return nil
}
