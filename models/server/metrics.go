package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what /metrics shows.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	first    *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
	panics   prometheus.Counter
}

func newMetrics(hosts []*host) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "attn_requests_total", Help: "Requests by path, model and status."}, []string{"path", "model", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "attn_request_duration_seconds", Help: "Time of requests.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 20)}, []string{"path"}),
		first: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "attn_first_token_seconds", Help: "Time to the first token of an answer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18)}, []string{"model"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "attn_tokens_total", Help: "Tokens of requests by model and kind: prompt or completion."}, []string{"model", "kind"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "attn_panics_total", Help: "Panics that a request has survived."}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.first, m.tokens, m.panics, &hostCollector{hosts},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// count counts a request.
func (m *metrics) count(path, model string, status int, took time.Duration, prompt, made int) {
	m.requests.WithLabelValues(path, model, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(path).Observe(took.Seconds())
	if prompt > 0 {
		m.tokens.WithLabelValues(model, "prompt").Add(float64(prompt))
	}
	if made > 0 {
		m.tokens.WithLabelValues(model, "completion").Add(float64(made))
	}
}

// Collector returns the numbers of the models, which /metrics shows beside others, for a registry of the
// caller.
func (s *Server) Collector() prometheus.Collector { return &hostCollector{s.hosts} }

// A hostCollector reads the numbers of models when they are asked for.
type hostCollector struct{ hosts []*host }

// The numbers of models.
var (
	waitingDesc   = modelDesc("attn_waiting", "Requests that wait for the model.")
	runningDesc   = modelDesc("attn_running", "Texts that the model continues.")
	pagesDesc     = modelDesc("attn_cache_pages", "Pages of the cache, by state: free, kept for prefixes and not in use, all.", "state")
	stepsDesc     = modelDesc("attn_steps_total", "Steps or batches that were computed.")
	computedDesc  = modelDesc("attn_computed_tokens_total", "Tokens that were computed, by kind: prompt, answer, and shared for those that another text had.", "kind")
	preemptedDesc = modelDesc("attn_preempted_total", "Texts that were dropped, to be computed again.")
)

func modelDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"model"}, labels...), nil)
}

// Describe is that of [prometheus.Collector].
func (c *hostCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waitingDesc, runningDesc, pagesDesc, stepsDesc, computedDesc, preemptedDesc} {
		ch <- d
	}
}

// Collect is that of [prometheus.Collector].
func (c *hostCollector) Collect(ch chan<- prometheus.Metric) {
	for _, h := range c.hosts {
		gauge := func(d *prometheus.Desc, n int, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), append([]string{h.name}, labels...)...)
		}
		counter := func(d *prometheus.Desc, n uint64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), append([]string{h.name}, labels...)...)
		}
		if h.texts == nil {
			stats := h.poolStats()
			gauge(waitingDesc, stats.Waiting)
			counter(stepsDesc, stats.Batches)
			counter(computedDesc, stats.Costs, "prompt")
			continue
		}
		stats := h.texts.Stats()
		gauge(waitingDesc, stats.Waiting)
		gauge(runningDesc, stats.Running)
		gauge(pagesDesc, stats.Free, "free")
		gauge(pagesDesc, stats.Kept, "kept")
		gauge(pagesDesc, stats.Pages, "all")
		counter(stepsDesc, stats.Steps)
		counter(computedDesc, stats.Read, "prompt")
		counter(computedDesc, stats.Generated, "answer")
		counter(computedDesc, stats.Shared, "shared")
		counter(preemptedDesc, stats.Preempted)
	}
}
