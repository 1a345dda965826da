package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/report"
)

// Load reads the trace called name, or stdin for "-". It says so on stderr,
// with a bar if that is a terminal, and stops when ctx ends. It opens the file
// itself to do so; otherwise it is [tracelayer.Load].
func Load(ctx context.Context, name string, stdin io.Reader, stderr io.Writer, opts *tracelayer.LoadOptions) (*tracelayer.Trace, error) {
	in, size := stdin, int64(0)
	if name == "-" {
		name = "stdin"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return nil, fmt.Errorf("%s is a directory, not a trace", name)
		}
		in, size = f, info.Size()
	}
	fmt.Fprintf(stderr, "Loading trace: %s\n", report.Printable(name))
	var bar *progress
	if isTerminal(stderr) {
		bar = newProgress(stderr, size)
		defer bar.done()
	}
	t, err := tracelayer.Read(&source{in, ctx, bar}, name, opts)
	if ctx.Err() != nil { // however the reader took it
		return nil, context.Cause(ctx)
	}
	return t, err
}

// A source is the input, as far as it was read.
type source struct {
	r   io.Reader
	ctx context.Context // ends a read that has begun; there is no other way in
	bar *progress       // nil for none
}

func (s *source) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := s.r.Read(p)
	s.bar.add(n)
	return n, err
}
