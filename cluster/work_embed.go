package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/attn-go/attn/cluster/embed"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/weights"
)

// embedRole does the jobs of the subcommand embed.
func embedRole() role {
	var model string
	var worker embed.Worker
	return role{
		name:    "embed",
		summary: "computes sentence embeddings for cluster embed",
		flags: func(fs *flag.FlagSet) {
			fs.StringVar(&model, "model", "", "embed: `folder` of a BERT model as Hugging Face has it (default all-MiniLM-L6-v2, where make models puts it)")
			fs.DurationVar(&worker.AckWait, "ack-wait", embed.DefaultAckWait, "embed: `time` without a sign of life after which a job goes to another worker; the first worker that meets a run decides")
			fs.IntVar(&worker.Deliveries, "deliveries", embed.DefaultDeliveries, "embed: `times` that a job is tried")
			fs.DurationVar(&worker.Lease, "lease", embed.DefaultLease, "embed: after how long without its client the jobs and results of a run are dropped; a negative time means never")
			streamFlags(fs, &worker.Limits)
		},
		missing: func() error {
			if model != "" {
				return nil
			}
			_, err := modelFolder("")
			return err
		},
		run: func(ctx context.Context, w *workConfig) error {
			dir, err := modelFolder(model)
			if err != nil {
				return err
			}
			if worker.Model, err = embed.LoadModel(dir, encoder.Options{Exec: w.exec}); err != nil {
				return err
			}
			worker.Conn, worker.Name = w.conn, w.name
			worker.Report = func(message string) { fmt.Fprintf(w.streams.report, "cluster: %s: %s\n", w.name, message) }
			jobs := w.monitor.tasks("embed_jobs", "Jobs of a worker")
			texts := prometheus.NewCounter(prometheus.CounterOpts{Name: "attn_cluster_embed_texts_total", Help: "Texts of jobs that are done."})
			w.monitor.registry.MustRegister(texts)
			worker.Observe = func(n int, outcome string, took time.Duration) {
				jobs.count(outcome, took)
				texts.Add(float64(n))
			}
			worker.Ready = func() { w.monitor.require("embed", nil) }
			worker.Report(fmt.Sprintf("embeds with the model %x in %s", worker.Model.Digest, dir))
			return worker.Run(ctx)
		},
	}
}

// streamFlags defines the limits of the streams of embedding.
func streamFlags(fs *flag.FlagSet, l *embed.Limits) {
	fs.Int64Var(&l.JobsBytes, "jobs-bytes", embed.DefaultStreamBytes, "embed: most `bytes` of jobs in the queue; the first program decides for all")
	fs.Int64Var(&l.ResultsBytes, "results-bytes", embed.DefaultStreamBytes, "embed: most `bytes` of results that no client has yet; the first program decides for all")
	fs.IntVar(&l.Replicas, "replicas", 0, "embed: `servers` of a NATS cluster that hold each message; the first program decides for all (default 3 in such a cluster, otherwise 1)")
}

// modelFolder returns the folder of a model: that of the command line, or that of MiniLM as
// make models fetches it.
func modelFolder(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	dir, err := weights.Find(weights.MiniLM)
	if err != nil {
		return "", fmt.Errorf("the model is %w; -model names the folder of another one, and -roles shard leaves the role out", err)
	}
	return dir, nil
}
