// Command tracegen writes synthetic traces of any size.
//
//	tracegen -shape kernels -size 400MB -o kernels.json.gz
//	tracegen -testdata testdata/traces
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/tracelayer/tracelayer/internal/tracegen"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "tracegen:", err)
		os.Exit(1)
	}
}

// run writes what args ask for. The numbers of what was written go to stderr.
func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("tracegen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	shape := flags.String("shape", "atom_decode", "shape to write; -list names them")
	size := flags.String("size", "", "repeat the passes until the file has this size, such as 400MB (1 MB is 1e6 bytes)")
	seed := flags.Uint64("seed", 0, "seed; 0 is the shape's own")
	file := flags.String("o", "-", "file to write; packed if it ends in .gz")
	testdata := flags.String("testdata", "", "rewrite the traces of the test suite in this directory instead")
	list := flags.Bool("list", false, "list the shapes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	switch {
	case *list:
		for _, s := range tracegen.Shapes() {
			fmt.Fprintf(stdout, "%-20s%s\n", s.Name, s.Doc)
		}
		return nil
	case *testdata != "":
		return tracegen.WriteTestdata(*testdata)
	}
	spec, err := specOf(*shape, *size, *seed)
	if err != nil {
		return err
	}
	counts, err := write(*file, stdout, spec)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%d bytes, %d events, %d kernels of %d names, %d launches, %d labels, %d Python frames\n",
		counts.Bytes, counts.Events, counts.Kernels, counts.Names, counts.Launches, counts.Labels, counts.Python)
	return nil
}

// specOf is the named shape with another size and seed, if they are given.
func specOf(shape, size string, seed uint64) (tracegen.Spec, error) {
	s, ok := tracegen.Lookup(shape)
	if !ok {
		return tracegen.Spec{}, fmt.Errorf("no shape %q; -list names them", shape)
	}
	spec := s.Spec()
	spec.CountsOnly = true
	if seed != 0 {
		spec.Seed = seed
	}
	if size == "" {
		return spec, nil
	}
	n, err := parseSize(size)
	spec.Bytes = n
	return spec, err
}

func write(file string, stdout io.Writer, spec tracegen.Spec) (tracegen.Counts, error) {
	if file == "-" {
		t, err := tracegen.Write(stdout, spec)
		return t.Counts, err
	}
	t, err := tracegen.WriteFile(file, spec)
	return t.Counts, err
}

var units = []struct {
	suffix string
	factor int64
}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1}}

// parseSize reads a number of bytes with a unit.
func parseSize(s string) (int64, error) {
	for _, u := range units {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err != nil || n <= 0 || n > (1<<62)/u.factor {
				return 0, fmt.Errorf("size %q: want a number and B, kB, MB or GB", s)
			}
			return n * u.factor, nil
		}
	}
	panic("unreachable: the last unit matches anything")
}
