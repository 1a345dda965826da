// Command custom_analysis prints the share of communication in every layer of
// a trace. It is an example: the analysis itself is the loop in [commShare],
// and everything around it is reading and printing.
//
//	custom_analysis TRACE ANCHOR
//
// ANCHOR is a part of the name of a kernel that runs once a layer.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tracelayer/tracelayer"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: custom_analysis TRACE ANCHOR")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "custom_analysis:", err)
		os.Exit(1)
	}
}

func run(trace, anchor string, stdout io.Writer) error {
	t, err := tracelayer.Load(trace, nil)
	if err != nil {
		return err
	}
	p := tracelayer.AnchorProfile(anchor)
	s, err := tracelayer.Segment(t, p, nil)
	if err != nil {
		return err
	}
	comm, total := commShare(s, p)
	for _, l := range s.Kept() {
		c, all := comm[l.Ordinal], total[l.Ordinal]
		share := 0.0
		if all > 0 {
			share = 100 * float64(c) / float64(all)
		}
		_, err := fmt.Fprintf(stdout, "layer %4d  %10.1f us  communication %5.1f%%\n", l.Ordinal, float64(all)/1e3, share)
		if err != nil {
			return err
		}
	}
	return nil
}

// commShare sums the kernels of every layer, and those that communicate.
func commShare(s *tracelayer.Segments, p *tracelayer.Profile) (comm, total map[int]time.Duration) {
	comm, total = map[int]time.Duration{}, map[int]time.Duration{}
	for layer, k := range s.All() {
		d := max(k.Dur, 0) // NoDur: a kernel without a usable duration
		total[layer.Ordinal] += d
		if tracelayer.Classify(p, s.Trace.KernelName(k)).Group == "comm" {
			comm[layer.Ordinal] += d
		}
	}
	return comm, total
}
