package shard

import (
	"errors"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
)

// The forecast is the formula of its comment.
func TestForecast(t *testing.T) {
	const us = time.Microsecond
	c := Costs{Block: 100 * us, Read: 10 * us, Merge: 2 * us, Message: 30 * us, QueryBytes: 1000, PartialBytes: 10_000}
	n := Network{Latency: 50 * us, Bandwidth: 1e9, Message: 1e6}
	const keys = 1000 * 256
	if got, want := c.Alone(keys), 102_000*us; got != want {
		t.Errorf("alone %v, want %v", got, want)
	}
	// 10 answers of 1 MB; 25 ms of arithmetic on 4 machines, 10 ms of transfer, 10 ms of reading.
	if got, want := c.Star(keys, 4, n), 100*us+30*10/4*us+4*us+25_000*us+1000*us+2000*us; got != want {
		t.Errorf("star %v, want %v", got, want)
	}
	// On 40 machines, the transfer is what takes longest.
	if got, want := c.Star(keys, 40, n), 100*us+30*us+40*us+10_000*us+250*us+2000*us; got != want {
		t.Errorf("star %v, want %v", got, want)
	}
	for _, test := range []struct {
		machines, run int
		want          time.Duration
	}{
		{4, 250, 100*us + 4*us + 25_000*us + 4*(50+30+10+10)*us + 2000*us},
		{4, 64, 100*us + 16*us + 25_600*us + 16*(50+30+10+10)*us + 2000*us}, // 16 runs, 4 on each machine
		{40, 250, 100*us + 4*us + 25_000*us + 4*(50+30+10+10)*us + 2000*us}, // most machines have none
		{1, 64, 100*us + us + 100_000*us + (50+30+10+10)*us + 2000*us},
	} {
		if got := c.Chain(keys, test.machines, test.run, n); got != test.want {
			t.Errorf("chain of runs of %d on %d machines %v, want %v", test.run, test.machines, got, test.want)
		}
	}
	none := Network{Bandwidth: n.Bandwidth}
	one := Network{Bandwidth: n.Bandwidth, Message: 1}
	if got, want := c.Star(keys, 0, none), c.Star(keys, 1, one); got != want {
		t.Errorf("star on no machine %v, want %v", got, want)
	}
	if got, want := c.Chain(keys, 0, 0, n), c.Chain(keys, 1, 1, n); got != want {
		t.Errorf("chain of no runs on no machine %v, want %v", got, want)
	}
}

func TestMeasure(t *testing.T) {
	for _, kind := range []kernel.DType{kernel.Float32, kernel.Int8} {
		c, err := Measure(t.Context(), Config{Heads: 1, HeadSize: 16, Type: kind}, 2, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		if min(c.Block, c.Read, c.Merge, c.Message) <= 0 || c.QueryBytes != 2*16*4 || c.PartialBytes != 1+2*18*4 {
			t.Errorf("%+v", c)
		}
	}
	var e *kernel.Error
	if _, err := Measure(t.Context(), Config{Heads: 2, HeadSize: 16}, 3, kernel.Exec{}); !errors.As(err, &e) {
		t.Error(err)
	}
	if _, err := Measure(t.Context(), Config{}, 3, kernel.Exec{}); !errors.As(err, &e) {
		t.Error(err)
	}
}
