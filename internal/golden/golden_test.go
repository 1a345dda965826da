package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a testing.TB that keeps what it is told instead of failing.
type recorder struct {
	testing.TB
	errs []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.errs = append(r.errs, fmt.Sprintf(f, a...)) }

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "a.golden")
	steps := []struct {
		name  string
		got   string
		write bool
		want  string // part of the one error, empty for none
	}{
		{"missing file", "one\ntwo\n", false, "missing"},
		{"update writes it, with its folder", "one\ntwo\n", true, ""},
		{"equal", "one\ntwo\n", false, ""},
		{"another line", "one\nthree\n", false, "three"},
		{"a line end less", "one\ntwo", false, "-want +got"},
		{"update rewrites it", "one\nthree\n", true, ""},
		{"equal again", "one\nthree\n", false, ""},
	}
	for _, s := range steps { // in order: each works on what the last one left
		r := &recorder{TB: t}
		check(r, path, []byte(s.got), s.write)
		if s.want == "" && len(r.errs) != 0 {
			t.Errorf("%s: got errors %q", s.name, r.errs)
		}
		if s.want != "" && (len(r.errs) != 1 || !strings.Contains(r.errs[0], s.want)) {
			t.Errorf("%s: got errors %q, want one with %q", s.name, r.errs, s.want)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "one\nthree\n" {
		t.Errorf("file holds %q, %v", b, err)
	}
}
