// Command trace_layer prints, for one layer of a model, which GPU kernels run
// and how long each takes, from a torch.profiler trace of an LLM server.
//
//	trace_layer TRACE... [--csv FILE] [--pa-pattern S]
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

func main() { cli.Main("trace_layer", run) }

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if text, ok := cli.Answer(err); ok {
		return cli.Print(stdout, text)
	}
	if err != nil {
		return err
	}
	if o.traces, err = cli.Inputs(o.traces, stderr); err != nil {
		return err
	}
	switch {
	case len(o.traces) > 1 && o.csv != "":
		return cli.Usagef("--csv names one file, but there are %d traces", len(o.traces))
	case len(o.traces) > 1:
		return runAll(ctx, o, stdin, stdout, stderr)
	case o.csv != "":
		if err := cli.CheckOutput("--csv", o.csv, o.traces[0]); err != nil {
			return err
		}
	}
	l, err := load(ctx, o, o.traces[0], stdin, stderr)
	if err != nil {
		return err
	}
	out, err := result(ctx, l, o, o.traces[0], cli.LayerCSV(o.csv, o.decodeBS(l), !o.json), stderr)
	if err == nil {
		err = cli.Print(stdout, out)
	}
	if err == nil {
		cli.Notes(stderr, report.Warnings(l.Summary.Segments.Trace), l.Notes())
	}
	return err
}

// load reads a trace and analyses it. Why it could not, as far as the trace
// tells, is noted.
func load(ctx context.Context, o options, trace string, stdin io.Reader, stderr io.Writer) (*report.Layers, error) {
	t, err := cli.Load(ctx, trace, stdin, stderr, &tracelayer.LoadOptions{AllowTruncated: o.truncated})
	if err != nil {
		return nil, err
	}
	l, err := analyse(t, o)
	if err != nil {
		cli.Notes(stderr, report.Warnings(t), l.LabelNotes())
		return nil, err
	}
	return l, nil
}

// analyse is the library's pipeline. With an error it returns what it has.
func analyse(t *tracelayer.Trace, o options) (*report.Layers, error) {
	l := &report.Layers{Streams: o.streams, Filter: o.filter, Wide: o.wide, BySignature: o.bySig}
	switch bs, err := tracelayer.DetectDecodeBS(t); {
	case err == nil:
		l.Decode = &bs
	case !errors.Is(err, tracelayer.ErrNoDecode):
		return l, err
	case t.Counts.Labels > 0:
		l.NoDecode = err.Error()
	}
	s, err := tracelayer.Segment(t, tracelayer.AnchorProfile(o.pattern), o.segment())
	if err != nil {
		return l, err
	}
	l.Summary, err = tracelayer.Summarize(s, &tracelayer.SummaryOptions{BySignature: o.bySig})
	return l, err
}

// result writes the CSV first, so that nothing on stdout promises a file that
// is not there, and returns what goes to stdout, in one piece.
func result(ctx context.Context, l *report.Layers, o options, trace, csv string, stderr io.Writer) ([]byte, error) {
	var out bytes.Buffer
	write, said := l.WriteText, io.Writer(&out)
	if o.json {
		write, said = l.WriteJSON, stderr // stdout is one document
	}
	if err := errors.Join(context.Cause(ctx), write(&out)); err != nil {
		return nil, err
	}
	if csv == "" {
		return out.Bytes(), nil
	}
	if err := cli.SameFile(csv, trace); err != nil {
		return nil, err
	}
	if err := cli.WriteFile(csv, l.WriteCSV); err != nil {
		if o.csv == "" {
			err = fmt.Errorf("%w (--csv FILE puts it elsewhere, --json writes none)", err)
		}
		return nil, err
	}
	fmt.Fprintf(said, "\nCSV saved to: %s\n", report.Printable(csv))
	return out.Bytes(), nil
}
