//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
)

// benchmarkDecode measures steps of decoding, in each of which every sequence gets attention over
// so many keys, on workers with one core each, in processes of their own. The client and each
// worker have a connection of so many bytes a second, or the loopback device if that is 0.
func benchmarkDecode(b *testing.B, workers, sequences, keys, heads int, c shard.Config, bandwidth float64) {
	p := startProcesses(b)
	connection := func() (url string) { return p.url }
	var limit atomic.Bool // not before the keys are there
	if bandwidth > 0 {
		connection = func() string {
			l := &line{bandwidth: bandwidth}
			return testutil.Proxy(b, p.url, func(data []byte) {
				if limit.Load() {
					l.pass(len(data))
				}
			})
		}
	}
	for i := range workers {
		p.work(fmt.Sprint("w", i), connection())
	}
	conn, err := hub.Connect(b.Context(), hub.Config{URL: connection()})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	c.Replicas, c.Patience, c.Timeout = 1, 5*time.Second, time.Minute
	client, err := shard.New(b.Context(), conn, c)
	if err != nil {
		b.Fatal(err)
	}
	r := testutil.Rand(1)
	var s []*shard.Sequence
	for range sequences {
		s = append(s, client.NewSequence())
		for at := 0; at < keys; {
			n := min(keys-at, 1024)
			rows := kernel.BHLD(halves(&r, c.Heads*n*c.HeadSize), 1, c.Heads, n, c.HeadSize)
			if err := client.Append(b.Context(), s[len(s)-1:], rows, rows); err != nil {
				b.Fatal(err)
			}
			at += n
		}
	}
	q, out := make([]float32, sequences*heads*c.HeadSize), make([]float32, sequences*heads*c.HeadSize)
	r.Fill(q)
	var stats shard.Stats
	var times []time.Duration
	limit.Store(true)
	before := p.cpu()
	for b.Loop() {
		took, err := client.Attention(b.Context(), kernel.BHLD(out, sequences, heads, 1, c.HeadSize), kernel.BHLD(q, sequences, heads, 1, c.HeadSize), s, nil)
		if err != nil {
			b.Fatal(err)
		}
		stats.Add(took)
		times = append(times, took.Wall)
	}
	n := float64(b.N)
	b.ReportMetric(stats.Slowest.Seconds()*1e3/n, "arithmetic-ms/op")
	reportTimes(b, "", times)
	for i, what := range []string{"busiest-worker-cpu-ms/op", "client-cpu-ms/op", "server-cpu-ms/op"} {
		b.ReportMetric((p.cpu()[i]-before[i]).Seconds()*1e3/n, what)
	}
	b.ReportMetric(float64(stats.Sent+stats.Received)/n, "wire-B/op")
	b.ReportMetric(float64(stats.Requests)/n, "messages/op")
}

// reportTimes reports the best of some times, their median and the time that one in a hundred
// exceeds.
func reportTimes(b *testing.B, what string, times []time.Duration) {
	slices.Sort(times)
	for _, x := range []struct {
		name string
		at   int
	}{{"best", 0}, {"median", len(times) / 2}, {"p99", len(times) * 99 / 100}} {
		b.ReportMetric(times[x.at].Seconds()*1e3, what+x.name+"-ms/op")
	}
}

// line is a connection that takes its time.
type line struct {
	bandwidth float64 // bytes a second
	mu        sync.Mutex
	free      time.Time // when what was sent has passed
}

// pass waits until so many bytes have passed after those before.
func (l *line) pass(bytes int) {
	l.mu.Lock()
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(bytes) / l.bandwidth * float64(time.Second)))
	until := l.free
	l.mu.Unlock()
	time.Sleep(time.Until(until))
}

// cpu returns the CPU times so far of the busiest worker, of this process and of the server:
// unlike times, they mean something on a machine that others keep busy. Where there is no
// /proc, they are 0.
func (p *processes) cpu() (t [3]time.Duration) {
	for _, w := range p.workers {
		t[0] = max(t[0], cpuTime(w.Process.Pid))
	}
	return [3]time.Duration{t[0], cpuTime(os.Getpid()), cpuTime(p.server.Process.Pid)}
}

// cpuTime returns the CPU time of a process: fields 14 and 15 of its stat, in ticks of 10 ms.
func cpuTime(pid int) time.Duration {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// halves returns n random numbers of binary16.
func halves(r *testutil.Rand, n int) []kernel.F16 {
	x := make([]kernel.F16, n)
	for i := range x {
		x[i] = kernel.F16(0x3000 + r.IntN(0xc00) + r.IntN(2)<<15) // magnitudes of 2^-3 to 1
	}
	return x
}

// BenchmarkDecode decodes over 64k keys on one worker and on two. Large is the attention of an
// 8-billion Llama; small has a quarter of its heads. The network is the loopback device, or has
// 1 Gbit/s for each machine.
func BenchmarkDecode(b *testing.B) {
	const keys = 64 << 10
	for _, shape := range []struct {
		name          string
		heads, shared int
	}{{"small", 8, 2}, {"large", 32, 8}} {
		c := shard.Config{Heads: shape.shared, HeadSize: 128, Type: kernel.Float16}
		for threads := 1; threads <= 2; threads++ { // what the cores of this machine give at most
			b.Run(fmt.Sprintf("%s/alone/threads=%d", shape.name, threads), func(b *testing.B) {
				reportTimes(b, "", alone(b, keys, shape.heads, threads, b.N, c))
			})
		}
		for _, network := range []struct {
			name      string
			bandwidth float64
		}{{"loopback", 0}, {"1Gbit", 125e6}} {
			for workers := 1; workers <= 2; workers++ {
				b.Run(fmt.Sprintf("%s/%s/workers=%d", shape.name, network.name, workers), func(b *testing.B) {
					benchmarkDecode(b, workers, 1, keys, shape.heads, c, network.bandwidth)
				})
			}
		}
	}
}

// BenchmarkBatch decodes 8 sequences of 8k keys in one call, with the heads of large.
func BenchmarkBatch(b *testing.B) {
	for workers := 1; workers <= 2; workers++ {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			benchmarkDecode(b, workers, 8, 8<<10, 32, shard.Config{Heads: 8, HeadSize: 128, Type: kernel.Float16}, 0)
		})
	}
}

// BenchmarkRequest measures what a call on loopback costs beside its arithmetic: calls over short
// sequences on a worker in another process, and the same calls of package kernel in this process.
func BenchmarkRequest(b *testing.B) {
	for _, keys := range []int{1, 256, 4096} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			c := shard.Config{Heads: 2, HeadSize: 128, Type: kernel.Float16}
			benchmarkDecode(b, 1, 1, keys, 8, c, 0)
			reportTimes(b, "in-process-", alone(b, keys, 8, 1, 100, c))
		})
	}
}

// alone returns the times of some calls of attention in this process.
func alone(b *testing.B, keys, heads, threads, calls int, c shard.Config) (times []time.Duration) {
	r := testutil.Rand(1)
	k := kernel.BHLD(halves(&r, c.Heads*keys*c.HeadSize), 1, c.Heads, keys, c.HeadSize)
	v := kernel.BHLD(halves(&r, c.Heads*keys*c.HeadSize), 1, c.Heads, keys, c.HeadSize)
	q, out := make([]float32, heads*c.HeadSize), make([]float32, heads*c.HeadSize)
	r.Fill(q)
	for range calls {
		started := time.Now()
		err := kernel.Attention(kernel.BHLD(out, 1, heads, 1, c.HeadSize), kernel.BHLD(q, 1, heads, 1, c.HeadSize), k, v, &kernel.Options{Exec: kernel.Exec{Threads: threads}})
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(started))
	}
	return times
}
