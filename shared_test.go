package tracelayer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared is the path of a file below ../shared, which holds real traces and
// right answers that are not part of this repository. Without it the test is
// skipped.
func shared(t testing.TB, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{"..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("needs %s, which is not part of the repository", path)
	}
	return path
}

// sharedTraces are all real traces.
func sharedTraces(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(shared(t, "traces"), "*.json*"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no traces in %s: %v", shared(t, "traces"), err)
	}
	return all
}

// rowsOf reads a table of tab-separated columns with a header line.
func rowsOf(t testing.TB, path string) []map[string]string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	header := strings.Split(lines[0], "\t")
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[header[i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// hasWarning reports whether a warning of a kind is there.
func hasWarning(ws []Warning, kind string) bool {
	return slices.ContainsFunc(ws, func(w Warning) bool { return w.Kind == kind })
}

// sharedTrace loads the real trace of a name, whatever its ending.
func sharedTrace(t *testing.T, name string) *Trace {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(shared(t, "traces"), name+".*json*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("traces %v, %v", found, err)
	}
	trace, err := Load(found[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}
