// Package cli is what the commands share: how they are run and end, their
// common flags, how they read a trace and how they write files.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/report"
)

// The exit codes of every command.
const (
	ExitDone  = 0
	ExitInput = 1 // the input does not allow it, or the output cannot be written
	ExitUsage = 2 // wrong use
)

// A Run is a command without its process: it touches no global of package os.
type Run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error

// Main runs a command with the process's arguments and streams, and exits.
func Main(name string, run Run) {
	limitMemory()
	// A reader that goes away (a pipe to head) is a write error like another:
	// it is reported, and it does not kill a command that is writing a file.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	os.Exit(Exit(name, err, os.Stderr))
}

// Exit reports err on stderr and returns the exit code that it calls for.
func Exit(name string, err error, stderr io.Writer) int {
	if err == nil {
		return ExitDone
	}
	// The text may quote the trace, so it is made fit for a terminal.
	text := report.Printable(err.Error())
	if _, ok := errors.AsType[*UsageError](err); ok {
		fmt.Fprintf(stderr, "%s: %s (try '%s --help')\n", name, text, name)
		return ExitUsage
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, text)
	if s, ok := errors.AsType[*tracelayer.SegmentError](err); ok && len(s.Candidates) > 0 {
		fmt.Fprintln(stderr, "\nKernels of this trace that could be the anchor, best first (--pa-pattern takes any part of a name):")
		_ = report.WriteCandidates(stderr, s.Candidates) // there is nowhere left to report to
	}
	return ExitInput
}

// Print writes text to the standard output of a command.
func Print(stdout io.Writer, text []byte) error {
	if _, err := stdout.Write(text); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// Notes writes what to know beside the result, one line each.
func Notes(stderr io.Writer, warnings, notes []string) {
	for _, w := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", w)
	}
	for _, n := range notes {
		fmt.Fprintf(stderr, "note: %s\n", n)
	}
}
