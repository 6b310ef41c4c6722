package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/attn-go/attn/cluster/shard"
)

// shardRole is the role of workers that hold keys and values for attention.
func shardRole() role {
	var c shard.WorkerConfig
	var leave time.Duration
	return role{
		name:    "shard",
		summary: "holds keys and values in memory, and computes attention over them",
		flags: func(fs *flag.FlagSet) {
			fs.Int64Var(&c.Memory, "memory", 0, "shard: most `bytes` of keys and values (default 1 GiB)")
			fs.DurationVar(&c.Repair, "repair", 10*time.Second, "shard: after how long without an answer other workers count as gone, so that what they held is copied; a negative time means never")
			fs.DurationVar(&c.Keep, "keep", time.Minute, "shard: how long blocks are kept that nobody can use, as their client has ended or the directory lacks their sequence; a negative time means until the worker ends")
			fs.DurationVar(&leave, "leave", time.Minute, "shard: how long copying what this worker holds to others may take after an interrupt; 0 means that it is not copied")
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
			if w.conn.IsClosed() || leave <= 0 {
				return nil
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leave)
			defer cancel()
			if err := worker.Leave(ctx); err != nil {
				return fmt.Errorf("not all that the worker holds has been copied: %w", err)
			}
			return nil
		},
	}
}
