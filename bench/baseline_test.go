package bench

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tracelayer/tracelayer/internal/tracegen"
)

// TestBaseline runs trace_layer and the Python version on the same traces. A
// comparison of their speed means something only if they do the same job.
func TestBaseline(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the Python version was not checked")
	}
	baseline, err := filepath.Abs("baseline.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	traceLayer := filepath.Join(dir, "trace_layer")
	if out, err := exec.Command("go", "build", "-C", "..", "-o", traceLayer, "./examples/trace_layer").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, tt := range []struct {
		name, shape, pattern string
		bytes                int64
		shuffle              bool
	}{
		{"kernels", "kernels", anchor, 3e6, false},
		{"python", "python", anchor, 3e6, false},
		{"not in order", "atom_decode", "pa_bf16", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, tt.shape, tt.bytes, tt.shuffle)
			want := runJob(t, python, baseline, file, "--pa-pattern", tt.pattern)
			got := runJob(t, traceLayer, file, "--pa-pattern", tt.pattern, "--streams", "merged")
			if len(want.rows) < 2 || len(want.head) == 0 {
				t.Fatalf("the Python version printed %q and wrote %d rows", want.head, len(want.rows))
			}
			if diff := cmp.Diff(want.head, got.head); diff != "" {
				t.Errorf("stdout (-Python +trace_layer):\n%s", diff)
			}
			if diff := cmp.Diff(want.rows, got.rows); diff != "" {
				t.Errorf("CSV (-Python +trace_layer):\n%s", diff)
			}
		})
	}
}

// write writes a trace of a shape, packed, and returns its path.
func write(t *testing.T, shape string, bytes int64, shuffle bool) string {
	t.Helper()
	s, ok := tracegen.Lookup(shape)
	if !ok {
		t.Fatalf("no shape %s", shape)
	}
	spec := s.Spec()
	spec.Bytes, spec.Shuffle = bytes, shuffle
	file := filepath.Join(t.TempDir(), "trace.json.gz")
	if _, err := tracegen.WriteFile(file, spec); err != nil {
		t.Fatal(err)
	}
	return file
}

// A result is what both commands say: the lines in front of the table and the
// columns that both write to the CSV.
type result struct {
	head []string
	rows [][]string
}

// runJob runs a command in a directory of its own.
func runJob(t *testing.T, args ...string) result {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = t.TempDir()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, stderr.String())
	}
	head, _, _ := strings.Cut(string(out), "\n\n")
	files, err := filepath.Glob(filepath.Join(cmd.Dir, "conc*_layer.csv"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s wrote %d CSV files, error %v", args[0], len(files), err)
	}
	return result{strings.Split(head, "\n"), columns(t, files[0])}
}

// columns reads those columns of a CSV that the Python version has.
func columns(t *testing.T, file string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for _, name := range []string{"pos", "kernel", "avg_us", "std_us", "min_us", "max_us", "pct", "count"} {
		at = append(at, slices.Index(rows[0], name))
	}
	for i, row := range rows {
		var kept []string
		for _, j := range at {
			kept = append(kept, row[j])
		}
		rows[i] = kept
	}
	return rows
}
