package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/models/command"
)

const workUsage = `usage: cluster work [flags]

Holds keys and values in memory, and computes attention over them for clients, until it is interrupted. What
it holds is then copied to other workers.

`

// workConfig is a command line of work.
type workConfig struct {
	server hub.Config
	worker shard.WorkerConfig
	leave  time.Duration
}

// shardReady is what a worker needs beside a connection.
const shardReady = "shard"

// runWork works until ctx ends, and then hands over what it holds.
func runWork(ctx context.Context, s streams, args []string) error {
	c, m := &workConfig{}, newMonitor("work")
	if err := c.parse(s, m, args); err != nil {
		return err
	}
	m.pending(connection, "no server has answered yet")
	m.pending(shardReady, "the worker starts")
	stop, err := m.start(s)
	if err != nil {
		return err
	}
	defer stop()
	log := s.log()
	c.server.Name, c.server.Log, c.worker.Log = "attn worker "+c.worker.Name, log, log
	return withServer(ctx, c.server, true, func(ctx context.Context, conn *hub.Conn) error { return c.run(ctx, s, m, conn) })
}

// run runs the worker until ctx ends.
func (c *workConfig) run(ctx context.Context, s streams, m *monitor, conn *hub.Conn) error {
	m.connected(conn)
	requests := m.tasks("shard_requests", "Messages to a worker", "message")
	c.worker.Observe = func(message, code string, took time.Duration) {
		if code == "" {
			code = "done"
		}
		requests.count(code, took, message)
	}
	worker, err := shard.NewWorker(conn, c.worker)
	if err != nil {
		return err
	}
	defer worker.Close()
	m.registry.MustRegister(collector(func(put putFunc) { putUsage(put, worker.Usage(), worker.Directory()) }))
	m.require(shardReady, nil)
	fmt.Fprintf(s.report, "cluster: worker %s waits for keys and values as %s\n", c.worker.Name, worker.ID())
	<-ctx.Done()
	m.pending(shardReady, "the worker ends")
	if conn.IsClosed() || c.leave <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.leave)
	defer cancel()
	if err := worker.Leave(ctx); err != nil {
		return fmt.Errorf("not all that the worker holds has been copied: %w", err)
	}
	return nil
}

// parse parses the command line.
func (c *workConfig) parse(s streams, m *monitor, args []string) error {
	fs := newFlags("work", workUsage)
	c.server.Flags(fs)
	waitFlag(fs, &c.server)
	nameFlag(fs, &c.worker.Name)
	command.ExecFlags(fs, &c.worker.Exec)
	m.flags(fs)
	fs.Int64Var(&c.worker.Memory, "memory", 0, "most `bytes` of keys and values (default 1 GiB)")
	fs.DurationVar(&c.worker.Repair, "repair", 10*time.Second, "time without an answer after which a worker counts as gone, and others copy its blocks; negative means never")
	fs.DurationVar(&c.worker.Keep, "keep", time.Minute, "time to keep blocks that nobody can use, as their client has ended or the directory lacks their sequence; negative means until the worker ends")
	fs.DurationVar(&c.leave, "leave", time.Minute, "most time after an interrupt for copying this worker's blocks to others; 0 means no copies")
	fs.IntVar(&c.worker.Concurrent, "concurrent", 0, "most messages to work on at a time (default 2)")
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	return errors.Join(noArguments(fs), checkWorkerName(&c.worker.Name), command.CheckExec(c.worker.Exec))
}

// waitFlag defines the flag of how long a program waits for a server.
func waitFlag(fs *flag.FlagSet, c *hub.Config) {
	fs.DurationVar(&c.Wait, "wait", -1, "time to wait for a server that does not answer; negative means without limit")
}

// nameFlag defines the flag of the name of a worker.
func nameFlag(fs *flag.FlagSet, to *string) {
	fs.StringVar(to, "name", "", "`name` of the worker: letters, digits, - and _, 55 at most (default: a random one)")
}

// checkWorkerName makes a name up if there is none.
func checkWorkerName(name *string) error {
	if *name == "" {
		*name = madeUpName()
	}
	if !hub.IsToken(*name) || len(*name) > 55 {
		return command.Usage(fmt.Errorf("-name is %q, want 1 to 55 letters, digits, - and _", *name))
	}
	return nil
}

// madeUpName returns a name from this machine's name that no other worker has.
func madeUpName() string {
	host, _ := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if hub.IsToken(string(r)) {
			return r
		}
		return '-'
	}, host)
	return host[:min(len(host), 32)] + "-" + nuid.Next()
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
