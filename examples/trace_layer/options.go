package main

import (
	"strconv"
	"strings"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/cli"
	"github.com/tracelayer/tracelayer/internal/report"
)

const merged = "merged" // the value of --streams that does as the script did

type options struct {
	traces                             []string
	csv, pattern, pid, device, streams string
	json, wide, bySig, truncated       bool
	layers                             int
	filter                             tracelayer.PassFilter
}

// phases are the values of --phase; "all" is none of them.
var phases = []tracelayer.Phase{
	tracelayer.PhaseDecode, tracelayer.PhasePrefill, tracelayer.PhaseMixed, tracelayer.PhaseDraft, tracelayer.PhaseVerify,
}

// passFlags choose passes, and so need passes.
var passFlags = []string{"phase", "bs", "graph-bs", "passes", "skip-passes"}

func parse(args []string) (options, error) {
	var o options
	var phase, passes string
	f := cli.NewFlags("trace_layer")
	f.StringVar(&o.csv, "csv", "", "write the table to `FILE`; with a decode size N, to concN_FILE beside it")
	f.StringVar(&o.pattern, "pa-pattern", "pa_bf16", "anchor: a kernel with `TEXT` in its name, run once a layer")
	f.StringVar(&phase, "phase", "", "take passes of phase `P` only: decode, prefill, mixed, draft, verify; or all")
	f.IntVar(&o.filter.Requests, "bs", 0, "take steps of `N` requests only")
	f.IntVar(&o.filter.GraphBS, "graph-bs", 0, "take steps that ran in a graph of padded size `N` only")
	f.StringVar(&passes, "passes", "", "take the passes of `LIST` only, counted from 0, such as 0,2-5")
	f.IntVar(&o.filter.Skip, "skip-passes", 0, "leave out the first `N` whole passes of those chosen otherwise")
	f.BoolVar(&o.json, "json", false, "print one JSON document; write no CSV unless --csv asks for it")
	f.BoolVar(&o.wide, "wide", false, "add percentiles, where the maximum is, and what the passes rest on")
	f.BoolVar(&o.bySig, "by-signature", false, "one table for each distinct sequence of kernels")
	f.IntVar(&o.layers, "num-layers", 0, "the model has `N` layers, where the trace does not tell")
	f.StringVar(&o.pid, "pid", "", "take the kernels of process `P` only, written as in the trace")
	f.StringVar(&o.device, "device", "", "take the kernels of device `D` only")
	f.StringVar(&o.streams, "streams", report.Auto, "`S` is auto (whole layers), merged (all streams, as the script) or a stream's ID")
	f.BoolVar(&o.truncated, "allow-truncated", false, "of a file that was cut off, use what comes before the cut")
	err := f.Parse(args, helpAbout, helpNotes)
	if err == nil {
		o.traces, err = f.Operands("the trace file")
	}
	if err == nil {
		err = o.check(f)
	}
	if err == nil {
		err = o.readFilter(phase, passes)
	}
	return o, err
}

// check refuses numbers that mean nothing and flags that do not go together.
func (o *options) check(f *cli.Flags) error {
	for name, n := range map[string]int{"num-layers": o.layers, "bs": o.filter.Requests, "graph-bs": o.filter.GraphBS, "skip-passes": o.filter.Skip + 1} {
		if f.Changed(name) && n < 1 {
			least := 1
			if name == "skip-passes" {
				least, n = 0, n-1
			}
			return cli.Usagef("--%s must be at least %d, got %d", name, least, n)
		}
	}
	for _, name := range passFlags {
		if f.Changed(name) && o.streams != report.Auto {
			return cli.Usagef("--%s needs --streams auto: with --streams %s there are no passes to choose", name, o.streams)
		}
	}
	return nil
}

// readFilter reads the values of --phase and --passes, empty without the flag.
func (o *options) readFilter(phase, passes string) error {
	switch {
	case phase == "all":
		o.filter.AllPhases = true
	case phase != "":
		for _, p := range phases {
			if p.String() == phase {
				o.filter.Phase = p
			}
		}
		if o.filter.Phase == tracelayer.PhaseUnknown {
			return cli.Usagef("--phase is decode, prefill, mixed, draft, verify or all, not %q", phase)
		}
	}
	var err error
	o.filter.Only, err = parseList(passes)
	return err
}

// maxPasses bounds what --passes can name, so that 0-999999999 is refused
// before it fills the memory.
const maxPasses = 1_000_000

// parseList reads "0,2-5".
func parseList(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var all []int
	for item := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(item, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.ParseUint(low, 10, 31)
		to, err2 := strconv.ParseUint(high, 10, 31)
		if err1 != nil || err2 != nil || from > to || to >= maxPasses {
			return nil, cli.Usagef("--passes %s: %q is not a pass, counted from 0, nor a range of passes such as 2-5", list, item)
		}
		for i := from; i <= to; i++ {
			all = append(all, int(i))
		}
	}
	return all, nil
}

// segment are the options for the library.
func (o options) segment() *tracelayer.SegmentOptions {
	s := &tracelayer.SegmentOptions{PID: o.pid, Device: o.device, NumLayers: o.layers, Passes: o.filter}
	if o.streams != report.Auto {
		s.Cut = tracelayer.CutAnchors
		if o.streams != merged {
			s.Stream = o.streams
		}
	}
	return s
}

// decodeBS is the number for the CSV's name: the requests of most decode steps
// in the table, and of all of the trace if the cut is from anchor to anchor or
// no step is known. 0 stands for none.
func (o options) decodeBS(l *report.Layers) int {
	f := o.filter
	switch {
	case f.Phase != tracelayer.PhaseUnknown && f.Phase != tracelayer.PhaseDecode, l.Decode == nil:
		return 0
	case f.Requests > 0:
		return f.Requests
	}
	if s := l.Summary.Segments; s.Cut == tracelayer.CutLayers && len(s.Sizes) > 0 {
		return s.Sizes[0].BS
	}
	return l.Decode.Dominant
}
