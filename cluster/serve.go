package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/command"
)

const serveUsage = `usage: cluster serve [flags]

Runs a NATS server with JetStream until it is interrupted. An external NATS server does as well.
`

// runServe runs a server until ctx ends.
func runServe(ctx context.Context, s streams, args []string) error {
	var c hub.ServerConfig
	fs := newFlags("serve", serveUsage)
	c.Flags(fs)
	m := newMonitor("serve")
	m.flags(fs)
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	m.pending(streamsReady, "the server starts")
	stop, err := m.start(s)
	if err != nil {
		return err
	}
	defer stop()
	c.Log = s.log()
	server, err := hub.Serve(ctx, c)
	if errors.Is(err, hub.ErrStuck) {
		return startAnew(err)
	}
	if err != nil {
		return err
	}
	defer server.Close()
	m.require(streamsReady, server.Ready)
	m.registry.MustRegister(collector(func(put putFunc) { putServer(put, server) }))
	fmt.Fprintf(s.report, "cluster: listening on %s\n", server.URL())
	if c.StoreDir == "" {
		fmt.Fprintln(s.report, "cluster: without -store, the directory of sequences is lost when this command ends")
	}
	<-server.Done()
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(server.Err(), hub.ErrStuck):
		server.Close()
		return startAnew(server.Err())
	}
	return errors.New("the server ended by itself")
}

// startAnew starts this program anew in place of itself, as NATS in it hangs and may take the time
// of a CPU. Where that cannot be done it returns why: whoever watches the program starts it again.
func startAnew(why error) error {
	name, err := os.Executable()
	if err == nil {
		err = syscall.Exec(name, os.Args, os.Environ())
	}
	return fmt.Errorf("%w; start it again (%w)", why, err)
}

// streamsReady is what a server needs.
const streamsReady = "server"

// putServer puts the numbers of a server.
func putServer(put putFunc, server *hub.Server) {
	x, js, err := server.Stats()
	if err != nil {
		return // it has ended, and so does this process
	}
	traffic(put, "attn_cluster_server", "of all clients", [2]float64{float64(x.InMsgs), float64(x.OutMsgs)}, [2]float64{float64(x.InBytes), float64(x.OutBytes)})
	put("attn_cluster_server_slow_consumers_total", "Clients that were cut off as they did not read.", prometheus.CounterValue, float64(x.SlowConsumers))
	put("attn_cluster_server_connections", "Connections.", prometheus.GaugeValue, float64(x.Connections))
	put("attn_cluster_server_streams", "Streams.", prometheus.GaugeValue, float64(js.Streams))
	put("attn_cluster_server_consumers", "Consumers of streams.", prometheus.GaugeValue, float64(js.Consumers))
	put("attn_cluster_server_stored_messages", "Messages in streams.", prometheus.GaugeValue, float64(js.Messages))
	for _, kind := range []struct {
		name      string
		used, max float64
	}{{"file", float64(js.Store), float64(js.Config.MaxStore)}, {"memory", float64(js.Memory), float64(js.Config.MaxMemory)}} {
		put("attn_cluster_server_stored_bytes", "Bytes of streams, by storage.", prometheus.GaugeValue, kind.used, "storage", kind.name)
		put("attn_cluster_server_stored_limit_bytes", "Most bytes of streams, by storage.", prometheus.GaugeValue, kind.max, "storage", kind.name)
	}
}
