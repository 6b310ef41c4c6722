// Command prove shows that the kernels in package asm compute what package fallback says, for all
// inputs, by symbolic execution of both. See docs/proofs.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/gen/prove/equal"
	"github.com/attn-go/attn/gen/prove/harness"
	"github.com/attn-go/attn/gen/prove/machine"
	"github.com/attn-go/attn/gen/prove/reference"
)

func main() {
	log.SetFlags(0)
	debug.SetGCPercent(1600) // graphs live as long as a case
	debug.SetMemoryLimit(4 << 30)
	log.SetPrefix("prove: ")
	root := flag.String("root", ".", "root directory of the repository")
	quick := flag.Bool("quick", false, "one size a kernel")
	exhaust := flag.Bool("exhaust", false, "try all values of the lemmas that lemmas.txt does not list, by a C compiler, and add them to it, except with -mutants")
	only := flag.String("run", "", "prove the kernels alone whose `layer and name` match, such as 'avx2.*Softmax'")
	walk := flag.Bool("loops", false, "execute the assembly with many sizes, also with -quick, to see its loops and to count its instructions")
	archs := flag.String("arch", "amd64,arm64,riscv64", "architectures")
	workers := flag.Int("workers", 2, "goroutines")
	verbose := flag.Bool("v", false, "print every kernel")
	mutants := flag.Int("mutants", 0, "make so many mistakes in the kernels of each architecture, and tell which are found")
	table := flag.String("table", "", "write a table of kernels and layers to a file")
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
	access := os.O_RDONLY
	if *exhaust {
		access = os.O_RDWR | os.O_APPEND
	}
	record, err := os.OpenFile(filepath.Join(*root, "gen", "prove", "lemmas.txt"), access, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer record.Close()
	p := &harness.Prover{Source: source, Lemmas: equal.NewLemmas(record), Quick: *quick, Walk: *walk || *table != "" || !*quick && *mutants == 0, Settle: *exhaust}
	var list []*harness.Architecture
	for _, goarch := range strings.Split(*archs, ",") {
		a, err := harness.ReadArchitecture(*root, goarch)
		if err != nil {
			log.Fatal(err)
		}
		a.Kernels = slices.DeleteFunc(a.Kernels, func(k *harness.Kernel) bool { return !pattern.MatchString(k.Override() + " " + k.Name()) })
		if *mutants > 0 {
			mutate(p, a, *mutants, *workers)
			continue
		}
		list = append(list, a)
	}
	if *mutants > 0 {
		return
	}
	groups := harness.Group(list)
	all := prove(p, groups, *workers, *verbose)
	loops := harness.JoinLoops(all)
	lemmas := needed(p.Lemmas, all)
	if *exhaust {
		exhaustAll(p.Lemmas, lemmas, record, *workers)
	}
	for _, v := range all {
		v.Sampled = p.Sampled(v)
	}
	if *table != "" {
		if err := os.WriteFile(*table, []byte(harness.NewTable(all).String()), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	var changed []string
	if *quick && *only == "" { // else a cell may lack variants, and the words are of one size
		changed = harness.NewTable(all).Changed(tableOf(*root))
	}
	for _, l := range lemmas {
		fmt.Printf("lemma %s: %d bits, %v, %d uses\n    %v\n    %v\n", l.Name, l.Bits(), l.How, l.Uses, l.A, l.B)
	}
	proven, sampled, open, failed, cases, words := 0, 0, 0, 0, 0, 0
	for _, v := range all {
		cases, words = cases+v.Cases, words+v.Words
		switch {
		case v.Err != nil:
			failed++
		case v.Open != "":
			open++
		case v.Sampled:
			sampled++
		default:
			proven++
		}
	}
	fmt.Printf("%d kernels of layers are proven, %d with lemmas of which samples alone were tried, %d are tested only, %d failed\n", proven, sampled, open, failed)
	printBounds(loops)
	var missing []string // in all sizes
	if !*quick {
		missing = append(harness.Uncovered(groups), harness.Once(groups)...)
	}
	for _, line := range missing {
		fmt.Println(line)
	}
	fmt.Printf("%d kernels, %d calls, %d words, %.0f seconds of CPUs\n", len(all), cases, words, cpuTime().Seconds())
	for _, line := range changed {
		fmt.Println(line)
	}
	if failed > 0 || sampled > 0 && !*exhaust || len(missing) > 0 && *only == "" || len(changed) > 0 {
		os.Exit(1) // with a part of the kernels, others may execute what they share
	}
}

// tableOf reads the table of a repository.
func tableOf(root string) harness.Table {
	text, err := os.ReadFile(filepath.Join(root, "gen", "prove", "table.txt"))
	if err != nil {
		log.Fatal(err)
	}
	table, err := harness.ReadTable(string(text))
	if err != nil {
		log.Fatal(err)
	}
	return table
}

// prove proves groups of kernels, and prints what is not proven, or all.
func prove(p *harness.Prover, groups [][]*harness.Proof, workers int, verbose bool) (all []*harness.Verdict) {
	harness.Each(len(groups), workers, func(i int) {
		p.Prove(groups[i]...)
		for _, x := range groups[i] {
			v := x.Verdict
			if !verbose && v.Err == nil {
				continue
			}
			fmt.Printf("%s %v\n", v, x.Time.Round(time.Millisecond))
			if v.Why != nil {
				fmt.Printf("    %v\n", v.Why)
			}
		}
	})
	for _, x := range slices.Concat(groups...) {
		all = append(all, x.Verdict)
	}
	return all
}

// printBounds counts loops by what bounds their trips, and prints those whose trips differ.
func printBounds(loops map[string]*machine.Loop) {
	var count [machine.Endless + 1]int
	for _, name := range slices.Sorted(maps.Keys(loops)) {
		l := loops[name]
		if count[l.Bound()]++; l.Bound() == machine.Unknown {
			fmt.Println(l)
		}
	}
	for b, n := range count {
		fmt.Printf("%d loops %v\n", n, machine.Bound(b))
	}
}

// mutate makes mistakes in kernels, and prints how many are found, and those that are not.
func mutate(p *harness.Prover, a *harness.Architecture, n, workers int) {
	list := make([]*harness.Mutant, n)
	harness.Each(n, workers, func(i int) {
		list[i] = p.Mutate(a, a.Kernels[i*7919%len(a.Kernels)], uint64(i))
	})
	found, sampled, made := 0, 0, 0
	for _, m := range list {
		switch {
		case m == nil:
			continue
		case m.Found != "":
			found++
		default:
			why := m.Why
			if m.Sampled {
				sampled++
				why = strings.TrimSpace("compared with samples " + m.Why)
			}
			fmt.Printf("not found: %s %s: %s becomes %s\n    %s\n", m.Kernel.Override(), m.Kernel.Name(), m.From, m.To, why)
		}
		made++
	}
	fmt.Printf("%s: %d of %d mistakes found, %d are none, %d were compared with samples and not found\n",
		a.GOARCH, found, made, made-found-sampled, sampled)
}

// needed returns the lemmas that proofs need, without those that were tried on the way to others.
func needed(l *equal.Lemmas, all []*harness.Verdict) []*equal.Lemma {
	return slices.DeleteFunc(l.All(), func(x *equal.Lemma) bool {
		return !slices.ContainsFunc(all, func(v *harness.Verdict) bool { return v.Lemmas[x.Name] > 0 })
	})
}

// exhaustAll tries all values of lemmas, the short ones first, and adds a line to the record for
// each that holds.
func exhaustAll(l *equal.Lemmas, lemmas []*equal.Lemma, record io.Writer, workers int) {
	list := slices.DeleteFunc(slices.Clone(lemmas), func(x *equal.Lemma) bool { return x.How != equal.Sampled || x.Bits() > 32 })
	slices.SortStableFunc(list, func(a, b *equal.Lemma) int { return a.Steps - b.Steps })
	harness.Each(len(list), workers, func(i int) {
		at := time.Now()
		line, err := l.Exhaust(list[i])
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Fprintln(record, line)
		fmt.Printf("%d of %d: lemma %s holds for all values, %v\n", i+1, len(list), line, time.Since(at).Round(time.Second))
	})
}
