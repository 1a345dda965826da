// Package clitest runs the scripts in examples/testdata against the commands.
package clitest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tracelayer/tracelayer/internal/golden"
)

// Main is the TestMain of a command's package: it lets scripts run the
// command's real main, in a process of its own, as `name`.
func Main(m *testing.M, name string, main func()) {
	testscript.Main(m, map[string]func(){name: main})
}

// Run runs the scripts name.txtar and name_*.txtar of examples/testdata. They
// find the inputs that several of them share in $INPUT, the traces of the
// repository's testdata in $TRACES, and check an exit code with
//
//	exits CODE command [argument...]
//
// With -update, files that a script compares with are rewritten.
func Run(t *testing.T, name string) {
	var scripts []string
	for _, pattern := range []string{name + ".txtar", name + "_*.txtar"} {
		found, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, found...)
	}
	if len(scripts) == 0 {
		t.Fatalf("no script for %s in examples/testdata", name)
	}
	slices.Sort(scripts)
	dirs := map[string]string{
		"INPUT":  filepath.Join("..", "testdata", "input"),
		"TRACES": filepath.Join("..", "..", "testdata", "traces"),
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Update(),
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			for name, dir := range dirs {
				abs, err := filepath.Abs(dir)
				if err != nil {
					return err
				}
				e.Setenv(name, abs)
			}
			return nil
		},
	})
}

// exits runs a command and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = e.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
