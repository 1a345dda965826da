package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tracelayer/tracelayer/internal/report"
)

// traceSuffixes are the endings of the files of a directory that are taken for
// traces. A file that is named itself may have any name.
var traceSuffixes = []string{".json", ".json.gz", ".json.zst"}

// Inputs are the traces that the operands name: a file stands for itself, a
// directory for the traces that lie in it, sorted by name. Which ones those are
// is said on stderr.
func Inputs(operands []string, stderr io.Writer) ([]string, error) {
	var all []string
	for _, name := range operands {
		info, err := os.Stat(name)
		if err != nil || !info.IsDir() { // an error is better reported by reading
			all = append(all, name)
			continue
		}
		found, err := tracesIn(name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no trace in this directory (no file *%s)", name, strings.Join(traceSuffixes, ", *"))
		}
		fmt.Fprintf(stderr, "Traces in %s: %d\n", report.Printable(name), len(found))
		for _, f := range found {
			fmt.Fprintf(stderr, "  %s\n", report.Printable(filepath.Base(f)))
		}
		all = append(all, found...)
	}
	return all, nil
}

func tracesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() && traceStem(e.Name()) != e.Name() {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found, nil
}

// traceStem is the name of a trace file without its directory and the usual endings.
func traceStem(path string) string {
	base := filepath.Base(path)
	for _, s := range traceSuffixes {
		if stem, ok := strings.CutSuffix(base, s); ok && stem != "" {
			return strings.TrimSuffix(stem, ".pt.trace")
		}
	}
	return base
}

// LayerCSVs name the automatic CSVs of several traces. The zero value is ready.
type LayerCSVs struct{ used map[string]int }

// Next is the name for the next trace: that of [LayerCSV] with the trace's own
// in it, and a number where two traces would share it. It is empty where a
// trace by itself has no automatic CSV.
func (c *LayerCSVs) Next(trace string, bs int) string {
	if bs == 0 {
		return ""
	}
	if c.used == nil {
		c.used = map[string]int{}
	}
	name := fmt.Sprintf("conc%d_%s_layer", bs, traceStem(trace))
	c.used[name]++
	if n := c.used[name]; n > 1 {
		name = fmt.Sprintf("%s_%d", name, n)
	}
	return name + ".csv"
}
