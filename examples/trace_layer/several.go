package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/tracelayer/tracelayer/internal/cli"
	"github.com/tracelayer/tracelayer/internal/report"
)

// runAll does one trace after the other, so that only one is in memory, and
// sums them up. A trace that fails does not stop the others.
func runAll(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) error {
	list := &report.List{JSON: o.json}
	var csvs cli.LayerCSVs
	for _, trace := range o.traces {
		out, err := one(ctx, o, trace, &csvs, list, stdin, stderr)
		debug.FreeOSMemory()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if !strings.Contains(err.Error(), trace) {
				err = fmt.Errorf("%s: %w", trace, err)
			}
			list.Fail(trace, err)
			cli.Exit("trace_layer", err, stderr)
		}
		if err := cli.Print(stdout, out); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	write := list.WriteText
	if o.json {
		write = list.WriteJSON
	}
	if err := write(&out); err != nil {
		return err
	}
	if err := cli.Print(stdout, out.Bytes()); err != nil {
		return err
	}
	if failed, all := list.Failed(); failed > 0 {
		return fmt.Errorf("%d of %d traces failed", failed, all)
	}
	return nil
}

// one adds a trace to the list and returns its text, with a line that names it;
// nothing with --json, where the list is the result.
func one(ctx context.Context, o options, trace string, csvs *cli.LayerCSVs, list *report.List, stdin io.Reader, stderr io.Writer) ([]byte, error) {
	l, err := load(ctx, o, trace, stdin, stderr)
	if err != nil {
		return nil, err
	}
	var out []byte
	if !o.json {
		text, err := result(ctx, l, o, trace, csvs.Next(trace, o.decodeBS(l)), stderr)
		if err != nil {
			return nil, err
		}
		out = fmt.Appendf(nil, "== %s\n%s\n", report.Printable(trace), text)
	}
	cli.Notes(stderr, report.Warnings(l.Summary.Segments.Trace), l.Notes())
	list.Add(l)
	return out, nil
}
