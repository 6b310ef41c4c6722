package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/attn-go/attn/cluster/embed"
)

// A progress shows how far embedding is: a bar on a terminal, elsewhere a line now and then.
type progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil unless w is a terminal
	first embed.Progress
	begin time.Time // of the first one
	line  time.Time // when the last line was written
}

// lineEvery is how often a line is written where there is no terminal.
const lineEvery = 10 * time.Second

func newProgress(w io.Writer) *progress { return &progress{w: w} }

// message writes a line beside the bar.
func (p *progress) message(text string) {
	if p.bar != nil {
		p.bar.Clear()
	}
	fmt.Fprintf(p.w, "cluster: %s\n", text)
}

// show shows the state of a run.
func (p *progress) show(now embed.Progress) {
	if p.begin.IsZero() {
		p.begin, p.line, p.first = time.Now(), time.Now(), now
		if f, ok := p.w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			p.bar = newBar(p.w, now)
		}
	}
	rate := float64(now.Texts-p.first.Texts) / max(time.Since(p.begin).Seconds(), 1e-3)
	switch {
	case p.bar != nil:
		p.bar.Describe(fmt.Sprintf("%d texts, %.1f texts/s", now.Texts, rate))
		p.bar.Set64(now.Bytes - p.first.Bytes)
	case time.Since(p.line) >= lineEvery:
		p.line = time.Now()
		fmt.Fprintf(p.w, "cluster: %d texts, %.1f texts/s%s\n", now.Texts, rate, p.left(now))
	}
}

// newBar returns a bar over the bytes of the input that an earlier run left.
func newBar(w io.Writer, now embed.Progress) *progressbar.ProgressBar {
	rest := now.Total
	if rest >= 0 {
		rest -= now.Bytes
	}
	return progressbar.NewOptions64(rest,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// left returns the time that the rest of the input takes, if that can be told.
func (p *progress) left(now embed.Progress) string {
	done := now.Bytes - p.first.Bytes
	if now.Total < 0 || done <= 0 {
		return ""
	}
	left := time.Duration(float64(time.Since(p.begin)) * float64(now.Total-now.Bytes) / float64(done))
	return fmt.Sprintf(", %v left", left.Round(time.Second))
}

// close removes the bar.
func (p *progress) close() {
	if p.bar != nil {
		p.bar.Finish()
		p.bar.Clear()
	}
}

// progress passes the state of a run on to next, and has the monitor know it. The run is ready with the first one.
func (m *monitor) progress(next func(embed.Progress)) func(embed.Progress) {
	var mu sync.Mutex
	var last embed.Progress
	var first sync.Once
	read := func(put putFunc) {
		mu.Lock()
		now := last
		mu.Unlock()
		put("attn_cluster_run_input_bytes", "Bytes of the input that are done.", prometheus.GaugeValue, float64(now.Bytes))
		put("attn_cluster_run_input_total_bytes", "Bytes of the input; -1 if they are unknown.", prometheus.GaugeValue, float64(now.Total))
		put("attn_cluster_run_texts", "Texts that are done, also those of an earlier process.", prometheus.GaugeValue, float64(now.Texts))
		put("attn_cluster_run_resumed_texts", "Those of them that an earlier process has done.", prometheus.GaugeValue, float64(now.Resumed))
		put("attn_cluster_run_rejected_texts", "Those of them without a vector.", prometheus.GaugeValue, float64(now.Rejected))
		put("attn_cluster_run_pending_jobs", "Jobs without a result.", prometheus.GaugeValue, float64(now.Pending))
		put("attn_cluster_run_late_jobs_total", "Times that a job had no result after -retry.", prometheus.CounterValue, float64(now.Late))
		put("attn_cluster_run_doubled_results_total", "Results that came again.", prometheus.CounterValue, float64(now.Doubled))
	}
	return func(now embed.Progress) {
		mu.Lock()
		last = now
		mu.Unlock()
		first.Do(func() {
			m.registry.MustRegister(collector(read))
			m.require("run", nil)
		})
		next(now)
	}
}
