package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/command"
)

// A monitor says over HTTP how a process is: /metrics in the form of Prometheus, /healthz, which
// has status 200 while the process lives, and /readyz, which has 503 with the reasons while the
// process cannot do its work. It counts also if nobody listens.
type monitor struct {
	address  string // of -metrics; "" means that it does not listen
	registry *prometheus.Registry

	mu      sync.Mutex
	missing map[string]func() error // what the process needs; an error says why it lacks it
}

// newMonitor returns a monitor of a subcommand.
func newMonitor(name string) *monitor {
	m := &monitor{registry: prometheus.NewRegistry(), missing: map[string]func() error{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collector(func(put putFunc) {
			put("attn_cluster_info", "1, by subcommand and version of messages and numeric contract.", prometheus.GaugeValue, 1, "command", name, "version", hub.Own.String())
		}))
	return m
}

// flags defines the flag of a monitor.
func (m *monitor) flags(fs *flag.FlagSet) {
	fs.StringVar(&m.address, "metrics", "", "serve /metrics, /healthz and /readyz over HTTP at this `[HOST:]PORT`; HOST is 127.0.0.1 by default, and PORT 0 any free port (default: not served)")
}

// require has /readyz ask check for what the process needs, in place of an earlier check of that
// name. nil means that it has it.
func (m *monitor) require(what string, check func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if check == nil {
		delete(m.missing, what)
	} else {
		m.missing[what] = check
	}
}

// pending has /readyz say that the process lacks something, until require says otherwise.
func (m *monitor) pending(what, why string) { m.require(what, func() error { return errors.New(why) }) }

// lacks returns why the process is not ready, sorted, or nothing.
func (m *monitor) lacks() []string {
	m.mu.Lock()
	missing := maps.Clone(m.missing)
	m.mu.Unlock()
	var why []string
	for what, check := range missing {
		if err := check(); err != nil {
			why = append(why, fmt.Sprintf("%s: %v", what, err))
		}
	}
	slices.Sort(why)
	return why
}

// Limits of requests. Answers are small.
const (
	monitorTime     = 10 * time.Second
	monitorHeader   = 16 << 10
	monitorRequests = 4 // for metrics at a time
)

// start listens, if -metrics says where, until stop is called. What is wrong with the address is an
// error of usage.
func (m *monitor) start(s streams) (stop func(), err error) {
	if m.address == "" {
		return func() {}, nil
	}
	address, err := monitorAddress(m.address)
	if err != nil {
		return nil, command.Usage(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("-metrics: %w", err)
	}
	server := &http.Server{Handler: m.handler(), ReadTimeout: monitorTime, WriteTimeout: monitorTime, IdleTimeout: 6 * monitorTime, MaxHeaderBytes: monitorHeader}
	go server.Serve(l)
	fmt.Fprintf(s.report, "cluster: metrics at http://%s/metrics\n", l.Addr())
	return func() { server.Close() }, nil
}

// monitorAddress completes the address of -metrics.
func monitorAddress(text string) (string, error) {
	full := text
	if !strings.Contains(text, ":") {
		full = ":" + text
	}
	host, port, err := net.SplitHostPort(full)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" {
		return "", fmt.Errorf("-metrics is %q, want PORT or HOST:PORT", text)
	}
	host = cmp.Or(host, "127.0.0.1")
	return net.JoinHostPort(host, port), nil
}

// handler answers requests.
func (m *monitor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: monitorRequests}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := m.lacks(); len(why) > 0 {
			http.Error(w, strings.Join(why, "\n"), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// connection is what a process needs that talks to a server.
const connection = "connection"

// connected has the monitor watch a connection.
func (m *monitor) connected(conn *hub.Conn) {
	m.require(connection, func() error {
		if !conn.IsConnected() {
			return errors.New("the server does not answer")
		}
		return nil
	})
	m.registry.MustRegister(collector(func(put putFunc) {
		up := 0.0
		if conn.IsConnected() {
			up = 1
		}
		stats := conn.Stats()
		put("attn_cluster_connected", "1 while the server answers, otherwise 0.", prometheus.GaugeValue, up)
		put("attn_cluster_reconnects_total", "Times that the connection came back.", prometheus.CounterValue, float64(stats.Reconnects))
		traffic(put, "attn_cluster", "of this process", [2]float64{float64(stats.InMsgs), float64(stats.OutMsgs)}, [2]float64{float64(stats.InBytes), float64(stats.OutBytes)})
	}))
}

// traffic puts messages and bytes in and out.
func traffic(put putFunc, prefix, whose string, messages, bytes [2]float64) {
	for i, direction := range []string{"in", "out"} {
		put(prefix+"_messages_total", "Messages "+whose+", by direction.", prometheus.CounterValue, messages[i], "direction", direction)
		put(prefix+"_bytes_total", "Bytes of messages "+whose+", by direction.", prometheus.CounterValue, bytes[i], "direction", direction)
	}
}

// putFunc passes a number on; labels are names and values in turn.
type putFunc func(name, help string, kind prometheus.ValueType, value float64, labels ...string)

// A collector puts numbers that are read when they are asked for.
type collector func(put putFunc)

// Describe implements [prometheus.Collector]: it says nothing, which means that the numbers are
// known when they come.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(ch chan<- prometheus.Metric) {
	c(func(name, help string, kind prometheus.ValueType, value float64, labels ...string) {
		fixed := prometheus.Labels{}
		for i := 0; i+1 < len(labels); i += 2 {
			fixed[labels[i]] = labels[i+1]
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, fixed), kind, value)
	})
}

// tasks counts tasks by labels, the last of which is the outcome, and has their times by the
// others.
type tasks struct {
	done *prometheus.CounterVec
	took *prometheus.HistogramVec
}

// tasks returns counters of tasks, such as attn_cluster_x_total and attn_cluster_x_duration_seconds
// for name x.
func (m *monitor) tasks(name, help string, labels ...string) *tasks {
	t := &tasks{
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "attn_cluster_" + name + "_total", Help: help + ", by outcome."}, append(slices.Clone(labels), "outcome")),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "attn_cluster_" + name + "_duration_seconds", Help: help + ": their times.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 20)}, labels),
	}
	m.registry.MustRegister(t.done, t.took)
	return t
}

// count counts a task.
func (t *tasks) count(outcome string, took time.Duration, labels ...string) {
	t.done.WithLabelValues(append(slices.Clone(labels), outcome)...).Inc()
	t.took.WithLabelValues(labels...).Observe(took.Seconds())
}
