package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/server/internal/request"
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

func newMetrics(models []served) *metrics {
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
	m.registry.MustRegister(m.requests, m.duration, m.first, m.tokens, m.panics, &collector{models},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// count counts a request, or as much as the log says of it.
func (m *metrics) count(path string, r *request.Request, status int, took time.Duration) {
	m.requests.WithLabelValues(path, r.Model, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(path).Observe(took.Seconds())
	if r.Prompt > 0 {
		m.tokens.WithLabelValues(r.Model, "prompt").Add(float64(r.Prompt))
	}
	if r.Made > 0 {
		m.tokens.WithLabelValues(r.Model, "completion").Add(float64(r.Made))
	}
}

// Collector returns the numbers of the models, which /metrics shows beside others, for a registry
// of the caller.
func (s *Server) Collector() prometheus.Collector { return &collector{s.models} }

// A collector reads the numbers of models when they are asked for.
type collector struct{ models []served }

// A stat is a number of a model.
type stat struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

// The numbers of models.
var (
	waiting   = newStat(prometheus.GaugeValue, "attn_waiting", "Requests that wait for the model.")
	running   = newStat(prometheus.GaugeValue, "attn_running", "Texts that the model continues.")
	pages     = newStat(prometheus.GaugeValue, "attn_cache_pages", "Pages of the cache, by state: free, kept for prefixes and not in use, all.", "state")
	steps     = newStat(prometheus.CounterValue, "attn_steps_total", "Steps or batches that were computed.")
	computed  = newStat(prometheus.CounterValue, "attn_computed_tokens_total", "Tokens that were computed, by kind: prompt, answer, and those that were not: shared, which another text had, and loaded from the prompt cache.", "kind")
	guessed   = newStat(prometheus.CounterValue, "attn_draft_tokens_total", "Tokens that a draft model or the layer of -mtp guessed, by state: right, which are in answers, and wrong.", "state")
	preempted = newStat(prometheus.CounterValue, "attn_preempted_total", "Texts that were dropped, to be computed again.")
)

func newStat(kind prometheus.ValueType, name, help string, labels ...string) *stat {
	return &stat{prometheus.NewDesc(name, help, append([]string{"model"}, labels...), nil), kind}
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range []*stat{waiting, running, pages, steps, computed, guessed, preempted} {
		ch <- s.Desc
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.models {
		m.stats(func(s *stat, n float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(s.Desc, s.kind, n, append([]string{m.about().name}, labels...)...)
		})
	}
}

// showPool shows the numbers of a model that does not continue texts.
func showPool(p batch.PoolStats, show func(s *stat, n float64, labels ...string)) {
	show(waiting, float64(p.Waiting))
	show(steps, float64(p.Batches))
	show(computed, float64(p.Costs), "prompt")
}
