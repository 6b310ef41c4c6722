package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/attn-go/attn/cluster/shard"
)

// shardRole is the role of workers that hold keys and values for attention.
func shardRole() role {
	var c shard.WorkerConfig
	return role{
		name:    "shard",
		summary: "holds keys and values in memory, and computes attention over them",
		flags: func(fs *flag.FlagSet) {
			fs.Int64Var(&c.Memory, "memory", 0, "shard: most `bytes` of keys and values (default 1 GiB)")
			fs.IntVar(&c.Concurrent, "concurrent", 0, "shard: most messages to work on at a time (default 2)")
		},
		run: func(ctx context.Context, w *workConfig) error {
			c.Name, c.Exec = w.name, w.exec
			c.Log = w.streams.log()
			worker, err := shard.NewWorker(w.conn, c)
			if err != nil {
				return err
			}
			defer worker.Close()
			fmt.Fprintf(w.streams.report, "cluster: worker %s waits for keys and values\n", c.Name)
			<-ctx.Done()
			return nil
		},
	}
}
