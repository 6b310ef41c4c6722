package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
			requests := w.monitor.tasks("shard_requests", "Messages to a worker", "message")
			c.Observe = func(message, code string, took time.Duration) {
				if code == "" {
					code = "done"
				}
				requests.count(code, took, message)
			}
			worker, err := shard.NewWorker(w.conn, c)
			if err != nil {
				return err
			}
			defer worker.Close()
			w.monitor.registry.MustRegister(collector(func(put putFunc) { putUsage(put, worker.Usage(), worker.Directory()) }))
			w.monitor.require("shard", nil)
			fmt.Fprintf(w.streams.report, "cluster: worker %s waits for keys and values as %s\n", c.Name, worker.ID())
			<-ctx.Done()
			w.monitor.pending("shard", "the worker ends")
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

// putUsage puts what a worker holds, and what lacks in the directory.
func putUsage(put putFunc, u shard.Usage, d shard.Copies) {
	put("attn_cluster_shard_sequences", "Sequences of which the worker holds blocks.", prometheus.GaugeValue, float64(u.Sequences))
	put("attn_cluster_shard_blocks", "Blocks that the worker holds.", prometheus.GaugeValue, float64(u.Blocks))
	put("attn_cluster_shard_held_bytes", "Bytes of keys and values that the worker holds.", prometheus.GaugeValue, float64(u.Used))
	put("attn_cluster_shard_limit_bytes", "Most bytes of keys and values.", prometheus.GaugeValue, float64(u.Limit))
	put("attn_cluster_shard_lacking_blocks", "Blocks of the directory with fewer copies than are wanted, as this worker has counted them last.", prometheus.GaugeValue, float64(d.Lacking))
	put("attn_cluster_shard_lost_blocks", "Blocks of the directory that no worker holds, as this worker has counted them last.", prometheus.GaugeValue, float64(d.Lost))
}
