// Package golden compares what a test got with a file under testdata.
//
// Run the tests of a package that uses it with -update to rewrite its files,
// then read the diff before committing:
//
//	go test ./internal/report -update
package golden

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Update reports whether the tests run with -update.
func Update() bool { return *update }

// Check compares got with the file testdata/name, byte for byte, and fails
// the test with a line diff where they differ or the file is missing.
func Check(t testing.TB, name string, got []byte) {
	t.Helper()
	check(t, filepath.Join("testdata", filepath.FromSlash(name)), got, *update)
}

func check(t testing.TB, path string, got []byte, write bool) {
	t.Helper()
	if write {
		if err := save(path, got); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: missing; run with -update to write it. Got:\n%s", path, got)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got, -update rewrites it):\n%s", path, d)
	}
}

func save(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}
