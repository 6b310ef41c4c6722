// Command prove shows that the kernels in package asm compute what package fallback says, for all inputs, by
// symbolic execution of both. See README.md.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/gen/prove/equal"
	"github.com/attn-go/attn/gen/prove/harness"
	"github.com/attn-go/attn/gen/prove/reference"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("prove: ")
	root := flag.String("root", ".", "root directory of the repository")
	quick := flag.Bool("quick", false, "one size a kernel")
	exhaust := flag.Bool("exhaust", false, "try all values of the lemmas of 32 bits")
	only := flag.String("run", "", "prove the kernels alone whose `layer and name` match, such as 'avx2.*Softmax'")
	archs := flag.String("arch", "amd64,arm64,riscv64", "architectures")
	workers := flag.Int("workers", 2, "goroutines")
	verbose := flag.Bool("v", false, "print every kernel")
	profile := flag.String("cpuprofile", "", "write a profile to a file")
	flag.Parse()
	if *profile != "" {
		f, _ := os.Create(*profile)
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	source, err := reference.Load(*root, "./fallback", "./gen/prove/composed")
	if err != nil {
		log.Fatal(err)
	}
	record, err := os.Open(filepath.Join(*root, "gen", "prove", "lemmas.txt"))
	if err != nil {
		log.Fatal(err)
	}
	defer record.Close()
	p := &harness.Prover{Source: source, Lemmas: equal.NewLemmas(record), Quick: *quick}
	p.Lemmas.Exhaust = *exhaust
	failed := 0
	for _, goarch := range strings.Split(*archs, ",") {
		a, err := harness.ReadArchitecture(*root, goarch)
		if err != nil {
			log.Fatal(err)
		}
		kernels := slices.DeleteFunc(a.Kernels, func(k *harness.Kernel) bool { return !pattern.MatchString(k.Layer() + " " + k.Name()) })
		harness.Each(len(kernels), *workers, func(i int) {
			at := time.Now()
			v := p.Prove(a, kernels[i])
			if v.Err != nil {
				failed++
			}
			if *verbose || v.Err != nil {
				fmt.Printf("%s %v\n", v, time.Since(at).Round(time.Millisecond))
			}
		})
	}
	for _, l := range p.Lemmas.All() {
		fmt.Printf("lemma %s: %d bits, %v, %d uses\n    %v\n    %v\n", l.Name, l.Bits(), l.How, l.Uses, l.A, l.B)
	}
	if failed > 0 {
		os.Exit(1)
	}
}
