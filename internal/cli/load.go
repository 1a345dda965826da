package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/report"
)

// Load reads the trace called name, or stdin for "-". It says so on stderr,
// with a bar if that is a terminal, and stops when ctx ends. It opens the file
// itself to do so; otherwise it is [tracelayer.Load].
func Load(ctx context.Context, name string, stdin io.Reader, stderr io.Writer, opts *tracelayer.LoadOptions) (*tracelayer.Trace, error) {
	in := stdin
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
		in = f
	}
	fmt.Fprintf(stderr, "Loading trace: %s\n", report.Printable(name))
	if isTerminal(stderr) {
		bar := newProgress(stderr)
		defer bar.done()
		opts.Progress = bar.update
	}
	go tracelayer.Classify(nil, "") // parses the naming rules meanwhile, which is done once
	t, err := tracelayer.Read(&source{in, ctx}, name, opts)
	if ctx.Err() != nil { // however the reader took it
		return nil, context.Cause(ctx)
	}
	return t, err
}

// A source is the input, until ctx ends.
type source struct {
	r   io.Reader
	ctx context.Context // ends a read that has begun; there is no other way in
}

func (s *source) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}

// Stat lets the library see how large the file is.
func (s *source) Stat() (fs.FileInfo, error) {
	if f, ok := s.r.(*os.File); ok {
		return f.Stat()
	}
	return nil, fs.ErrInvalid
}
