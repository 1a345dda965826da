//go:build unix

// Command run measures the command trace_layer on generated traces, beside
// inflating the same file into nothing and beside the same job in Python
// (baseline.py). It prints Markdown tables and whether each bound holds.
//
//	cd bench && go run ./run
//
// All times are of whole processes, from start to exit. The jobs of a trace take
// turns, and the least of several runs counts: on a machine that others use too,
// what is slower than that is someone else's work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// anchor is a text in the name of the decode attention of both shapes.
const anchor = "paged_attention_ll4mi_QKV"

var shapes = []string{"python", "kernels"}

// errBound ends a run in which a bound was not kept; the report says which.
var errBound = errors.New("a bound does not hold")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

type options struct {
	sizes, pythonSizes []string
	runs, pythonRuns   int
	dir                string
}

func parse(args []string, stderr io.Writer) (options, error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes := flags.String("sizes", "100MB,400MB,1600MB", "sizes of the traces, uncompressed")
	python := flags.Bool("python", true, "run the Python version too")
	pythonSizes := flags.String("python-sizes", "400MB", "those of the sizes that Python gets; it takes 5 bytes of memory for each byte")
	runs := flags.Int("runs", 15, "how often each job is run")
	pythonRuns := flags.Int("python-runs", 3, "how often those in Python are run, at most")
	dir := flags.String("dir", "", "where the traces go, until the end (default the system's directory for temporary files)")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 || *runs < 1 || *pythonRuns < 1 {
		return options{}, errors.New("want no argument and at least one run")
	}
	o := options{sizes: strings.Split(*sizes, ","), runs: *runs, pythonRuns: *pythonRuns, dir: *dir}
	if *python {
		o.pythonSizes = strings.Split(*pythonSizes, ",")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "tracelayer-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := build(ctx, dir)
	if err != nil {
		return err
	}
	traces, err := generate(ctx, c, o, dir)
	if err != nil {
		return err
	}
	machine := describe(ctx, len(o.pythonSizes) > 0) // before the load is our own
	if err := measureAll(ctx, traces, o, dir, stderr); err != nil {
		return err
	}
	return report(stdout, traces, machine, args, o)
}

// commands are the paths of what is run.
type commands struct{ tracegen, inflate, traceLayer, baseline string }

// build compiles the commands into dir. Those of the library are built in its
// own module, as its users build them.
func build(ctx context.Context, dir string) (commands, error) {
	c := commands{
		tracegen: filepath.Join(dir, "tracegen"), inflate: filepath.Join(dir, "inflate"),
		traceLayer: filepath.Join(dir, "trace_layer"),
	}
	var err error
	if c.baseline, err = filepath.Abs("baseline.py"); err != nil {
		return c, err
	}
	for _, args := range [][]string{
		{"build", "-C", "..", "-o", dir + "/", "./internal/tracegen/cmd/tracegen", "./examples/trace_layer"},
		{"build", "-o", c.inflate, "./inflate"},
	} {
		if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			return c, fmt.Errorf("go %s: %w (run it in bench)\n%s", strings.Join(args, " "), err, out)
		}
	}
	return c, nil
}

// A trace is a generated file and the jobs that are run on it.
type trace struct {
	shape, size string
	bytes       int64 // uncompressed
	packed      int64
	kernels     int64
	inflate     job
	traceLayer  job // from anchor to anchor, the job of the Python version
	whole       job // the default: passes and whole layers
	python      job // not there for sizes that Python does not get
}

func (t *trace) String() string { return t.size + " " + t.shape }

// generate writes the traces, in processes of their own to keep this one small
// (see job.measure).
func generate(ctx context.Context, c commands, o options, dir string) ([]*trace, error) {
	var traces []*trace
	for _, size := range o.sizes {
		for _, shape := range shapes {
			file := filepath.Join(dir, shape+size+".json.gz")
			cmd := exec.CommandContext(ctx, c.tracegen, "-shape", shape, "-size", size, "-o", file)
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("tracegen: %w\n%s", err, out)
			}
			info, err := os.Stat(file)
			if err != nil {
				return nil, err
			}
			t := &trace{
				shape: shape, size: size, packed: info.Size(),
				inflate:    job{args: []string{c.inflate, file}},
				traceLayer: job{args: []string{c.traceLayer, file, "--pa-pattern", anchor, "--streams", "merged"}},
				whole:      job{args: []string{c.traceLayer, file, "--pa-pattern", anchor}},
			}
			for _, s := range o.pythonSizes {
				if s == size {
					t.python = job{args: []string{"python3", c.baseline, file, "--pa-pattern", anchor}}
				}
			}
			traces = append(traces, t)
		}
	}
	return traces, nil
}
