// Command trace_layer prints, for one layer of a model, which GPU kernels run
// and how long each takes, from a torch.profiler trace of an LLM server.
//
//	trace_layer TRACE [--csv FILE] [--pa-pattern S]
//
// It takes the place of the script bench_serving/2_trace_layer.py; README.md
// one directory up lists the differences, --help the flags.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/cli"
	"github.com/tracelayer/tracelayer/internal/report"
)

const merged = "merged"

func main() { cli.Main("trace_layer", run) }

type options struct {
	trace, csv, pattern, pid, device, streams string
	json, wide, bySig, truncated              bool
	layers                                    int
}

func parse(args []string) (options, error) {
	var o options
	f := cli.NewFlags("trace_layer")
	f.StringVar(&o.csv, "csv", "", "write the table to `FILE`; with a decode size N, to concN_FILE beside it")
	f.StringVar(&o.pattern, "pa-pattern", "pa_bf16", "anchor: a kernel with `TEXT` in its name, run once a layer")
	f.BoolVar(&o.json, "json", false, "print one JSON document; write no CSV unless --csv asks for it")
	f.BoolVar(&o.wide, "wide", false, "add p50, p90, p99 and where the maximum is to the table")
	f.BoolVar(&o.bySig, "by-signature", false, "one table for each distinct sequence of kernels")
	f.IntVar(&o.layers, "num-layers", 0, "the model has `N` layers, where the trace does not tell")
	f.StringVar(&o.pid, "pid", "", "take the kernels of process `P` only, written as in the trace")
	f.StringVar(&o.device, "device", "", "take the kernels of device `D` only")
	f.StringVar(&o.streams, "streams", merged, "take stream `ID` only, or all of them merged in time order")
	f.BoolVar(&o.truncated, "allow-truncated", false, "of a file that was cut off, use what comes before the cut")
	if err := f.Parse(args, helpAbout, helpNotes); err != nil {
		return o, err
	}
	var err error
	if o.trace, err = f.Operand("the trace file"); err != nil {
		return o, err
	}
	if f.Changed("num-layers") && o.layers < 1 {
		return o, cli.Usagef("--num-layers must be at least 1, got %d", o.layers)
	}
	if o.csv != "" {
		return o, cli.CheckOutput("--csv", o.csv, o.trace)
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if text, ok := cli.Answer(err); ok {
		return cli.Print(stdout, text)
	}
	if err != nil {
		return err
	}
	t, err := cli.Load(ctx, o.trace, stdin, stderr, &tracelayer.LoadOptions{AllowTruncated: o.truncated})
	if err != nil {
		return err
	}
	l, err := analyse(t, o)
	if err != nil {
		cli.Notes(stderr, report.Warnings(t), l.LabelNotes())
		return err
	}
	return render(ctx, l, o, stdout, stderr)
}

// analyse is the library's pipeline. With an error it returns what it has.
func analyse(t *tracelayer.Trace, o options) (*report.Layers, error) {
	l := &report.Layers{Streams: o.streams, Wide: o.wide, BySignature: o.bySig}
	switch bs, err := tracelayer.DetectDecodeBS(t); {
	case err == nil:
		l.Decode = &bs
	case !errors.Is(err, tracelayer.ErrNoDecode):
		return l, err
	case t.Counts.Labels > 0:
		l.NoDecode = err.Error()
	}
	sel := &tracelayer.SegmentOptions{PID: o.pid, Device: o.device, NumLayers: o.layers}
	if o.streams != merged {
		sel.Stream = o.streams
	}
	s, err := tracelayer.Segment(t, tracelayer.AnchorProfile(o.pattern), sel)
	if err != nil {
		return l, err
	}
	l.Summary, err = tracelayer.Summarize(s, &tracelayer.SummaryOptions{BySignature: o.bySig})
	return l, err
}

// render writes the CSV first, so that nothing on stdout promises a file that
// is not there, then the result in one piece, then what to know beside it.
func render(ctx context.Context, l *report.Layers, o options, stdout, stderr io.Writer) error {
	var out bytes.Buffer
	write, said := l.WriteText, io.Writer(&out)
	if o.json {
		write, said = l.WriteJSON, stderr // stdout is one document
	}
	if err := errors.Join(context.Cause(ctx), write(&out)); err != nil {
		return err
	}
	saved, err := save(l, o)
	if err != nil {
		return err
	}
	if saved != "" {
		fmt.Fprintf(said, "\nCSV saved to: %s\n", report.Printable(saved))
	}
	if err := cli.Print(stdout, out.Bytes()); err != nil {
		return err
	}
	cli.Notes(stderr, report.Warnings(l.Summary.Segments.Trace), l.Notes())
	return nil
}

// save writes the CSV where the rules want one and returns its path.
func save(l *report.Layers, o options) (string, error) {
	bs := 0
	if l.Decode != nil {
		bs = l.Decode.Dominant
	}
	path := cli.LayerCSV(o.csv, bs, !o.json)
	if path == "" {
		return "", nil
	}
	if err := cli.SameFile(path, o.trace); err != nil {
		return "", err
	}
	err := cli.WriteFile(path, l.WriteCSV)
	if err != nil && o.csv == "" {
		err = fmt.Errorf("%w (--csv FILE puts it elsewhere, --json writes none)", err)
	}
	return path, err
}
