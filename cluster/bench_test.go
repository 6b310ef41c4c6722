//go:build unix

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
)

// benchmarkDecode measures steps of decoding, in each of which every one of some sequences gets
// attention over so many keys, on workers with one core each, in processes of their own.
func benchmarkDecode(b *testing.B, workers, sequences, keys, heads int, c shard.Config) {
	p := startProcesses(b)
	for i := range workers {
		p.work(fmt.Sprint("w", i), p.url)
	}
	conn, err := hub.Connect(b.Context(), hub.Config{URL: p.url})
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
	best := time.Hour
	before := p.cpu()
	for b.Loop() {
		took, err := client.Attention(b.Context(), kernel.BHLD(out, sequences, heads, 1, c.HeadSize), kernel.BHLD(q, sequences, heads, 1, c.HeadSize), s, shard.Options{})
		if err != nil {
			b.Fatal(err)
		}
		stats.Add(took)
		best = min(best, took.Wall)
	}
	n := float64(b.N)
	b.ReportMetric(stats.Slowest.Seconds()*1e3/n, "arithmetic-ms/op")
	b.ReportMetric(best.Seconds()*1e3, "best-ms/op")
	for i, what := range []string{"busiest-worker-cpu-ms/op", "client-cpu-ms/op", "server-cpu-ms/op"} {
		b.ReportMetric((p.cpu()[i]-before[i]).Seconds()*1e3/n, what)
	}
	b.ReportMetric(float64(stats.Sent+stats.Received)/n, "wire-B/op")
	b.ReportMetric(float64(stats.Requests)/n, "messages/op")
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
// 8-billion Llama; small has a quarter of its heads.
func BenchmarkDecode(b *testing.B) {
	for _, shape := range []struct {
		name          string
		heads, shared int
	}{{"small", 8, 2}, {"large", 32, 8}} {
		for workers := 1; workers <= 2; workers++ {
			b.Run(fmt.Sprintf("%s/workers=%d", shape.name, workers), func(b *testing.B) {
				benchmarkDecode(b, workers, 1, 64<<10, shape.heads, shard.Config{Heads: shape.shared, HeadSize: 128, Type: kernel.Float16})
			})
		}
	}
}

// BenchmarkBatch decodes 8 sequences of 8k keys in one call, with the heads of large.
func BenchmarkBatch(b *testing.B) {
	for workers := 1; workers <= 2; workers++ {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			benchmarkDecode(b, workers, 8, 8<<10, 32, shard.Config{Heads: 8, HeadSize: 128, Type: kernel.Float16})
		})
	}
}

// BenchmarkRequest measures a call over one key: what a request costs beside the arithmetic.
func BenchmarkRequest(b *testing.B) {
	benchmarkDecode(b, 1, 1, 1, 1, shard.Config{Heads: 1, HeadSize: 32, Type: kernel.Float16})
}
