package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		args           []string
		stdout, stderr string // parts
		err            string
	}{
		{"list", []string{"-list"}, "atom_decode", "", ""},
		{"trace", []string{"-shape", "atom_tiny", "-seed", "5"}, `"schemaVersion": 1`, "30 kernels of 6 names", ""},
		{"size", []string{"-shape", "atom_tiny", "-size", "100kB"}, `"traceName"`, "bytes,", ""},
		{"unknown shape", []string{"-shape", "x"}, "", "", `no shape "x"`},
		{"bad size", []string{"-size", "4kg"}, "", "", `size "4kg"`},
		{"negative size", []string{"-size", "-4MB"}, "", "", "want a number"},
		{"argument", []string{"x"}, "", "", `unexpected argument "x"`},
		{"unknown flag", []string{"-x"}, "", "Usage", "not defined"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			err := run(tt.args, &stdout, &stderr)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
			if !strings.Contains(stdout.String(), tt.stdout) {
				t.Errorf("stdout lacks %q", tt.stdout)
			}
			if !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("got stderr %q, want %q in it", stderr.String(), tt.stderr)
			}
		})
	}
}

func TestRunFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "kernels.json.gz")
	if err := run([]string{"-shape", "kernels", "-size", "3MB", "-o", name}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 3e6 || !json.Valid(b) {
		t.Errorf("%d bytes, valid JSON: %v", len(b), json.Valid(b))
	}
}

func TestRunTestdata(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("packs 30 MB")
	}
	dir := t.TempDir()
	if err := run([]string{"-testdata", dir}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json*"))
	if err != nil || len(files) < 10 {
		t.Errorf("%d files, error %v", len(files), err)
	}
}
