package tracelayer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/tracelayer/tracelayer/internal/chrometrace"
)

// LoadOptions says how a file is read. The zero value, and nil, are the defaults.
type LoadOptions struct {
	// AllowTruncated keeps the whole events in front of the place where the
	// input ends early, with a warning of kind "truncated", instead of failing
	// with ErrTruncated. Damage of other kinds still fails.
	AllowTruncated bool
	// MaxValue is the longest single name, label or header value that is
	// accepted, in bytes; 0 means 16 MiB, and less than 512 KiB counts as that.
	// A longer one is a *SyntaxError that wraps ErrTooLarge. What is stepped over,
	// such as the stack of a CPU event, may have any length.
	MaxValue int
	// Progress, if set, is called now and then with the number of bytes of the
	// file that have been read and its size (0 when not known), from the
	// goroutine that reads the file.
	Progress func(done, total int64)
}

// Load reads the trace in a file, or standard input if name is "-". The
// compression (gzip, zstd or none) is told by the first bytes, never by the
// name. A file that cannot be opened gives the error of os.Open. Damage, and an
// error of reading, is a *SyntaxError, which wraps ErrTruncated if the file ends
// early. A sound file without kernels, or with several devices, loads.
func Load(name string, opts *LoadOptions) (*Trace, error) {
	if name == "-" {
		return Read(os.Stdin, "stdin", opts)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("read %s: is a directory, expected a trace file", name)
	}
	return Read(f, name, opts)
}

// Read is Load from a reader, with the same errors. The name is for messages.
// Read does not close r.
func Read(r io.Reader, name string, opts *LoadOptions) (*Trace, error) {
	if opts == nil {
		opts = &LoadOptions{}
	}
	b := newBuilder(name, sizeOf(r))
	err := readEvents(r, name, opts, b.options(), b.add, &b.end)
	if err != nil && !(opts.AllowTruncated && errors.Is(err, ErrTruncated)) {
		return nil, err
	}
	return b.trace(err)
}

// An Event is one entry of a trace's event list, for analyses that need more
// than kernels. Strings are copies that the caller may keep. Args are not read.
type Event struct {
	Index    int64  // position in the list, from 0, counting the entries that are left out
	Phase    string // ph: "X" complete, "B" begin, "M" metadata, ...
	Category string
	Name     string
	PID, TID string
	Start    Time
	HasStart bool
	Dur      int64 // nanoseconds as written, which may be negative; 0 without HasDur
	HasDur   bool
}

// Events reads a trace and yields its events in the file's order, leaving out
// entries that are empty or not objects. It ends at the first error, which it
// yields with a zero Event and which is as for Load; with AllowTruncated a cut
// ends it quietly. It consumes r, so range over it once, and does not close r.
func Events(r io.Reader, name string, opts *LoadOptions) iter.Seq2[Event, error] {
	if opts == nil {
		opts = &LoadOptions{}
	}
	return func(yield func(Event, error) bool) {
		stopped := errors.New("stopped")
		err := readEvents(r, name, opts, chrometrace.Options{}, func(e *chrometrace.Event) error {
			if !yield(eventOf(e), nil) {
				return stopped
			}
			return nil
		}, nil)
		if err != nil && err != stopped && !(opts.AllowTruncated && errors.Is(err, ErrTruncated)) {
			yield(Event{}, err)
		}
	}
}

func eventOf(e *chrometrace.Event) Event {
	start, hasStart := chrometrace.Micros(e.TS.Text)
	dur, hasDur := chrometrace.Micros(e.Dur.Text)
	return Event{
		Index: e.Index, Phase: string(e.Phase.Text), Category: string(e.Category.Text), Name: string(e.Name().Text),
		PID: string(e.PID().Text), TID: string(e.TID().Text),
		Start: Time(start), HasStart: hasStart, Dur: dur, HasDur: hasDur,
	}
}

// An ending is what a reader knows once it has stopped.
type ending struct {
	packed bool // known from the start
	header map[string][]byte
	stats  chrometrace.Stats
}

// readEvents calls each for every event of r and closes what it opened. It
// fills end, if given, also when it fails. An error of each is returned as it is.
func readEvents(r io.Reader, name string, opts *LoadOptions, copts chrometrace.Options, each func(*chrometrace.Event) error, end *ending) error {
	if opts.Progress != nil {
		r = &progressReader{r: r, total: sizeOf(r), report: opts.Progress}
	}
	in, err := chrometrace.Open(r)
	if err != nil {
		return &SyntaxError{Name: name, Event: -1, Err: err}
	}
	defer in.Close()
	if end != nil {
		end.packed = chrometrace.Packed(in)
	}
	copts.MaxValue = opts.MaxValue
	d := chrometrace.NewReader(in, copts)
	for {
		e, err := d.Next()
		if err == nil {
			if err := each(e); err != nil {
				return err
			}
			continue
		}
		if end != nil {
			end.header, end.stats = d.Header(), d.Stats()
		}
		if err == io.EOF {
			return nil
		}
		return &SyntaxError{Name: name, Offset: d.Offset(), Event: d.Index(), Err: err}
	}
}

// A progressReader reports how far its file has been read.
type progressReader struct {
	r           io.Reader
	done, total int64
	report      func(done, total int64)
}

func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.done += int64(n)
	p.report(p.done, p.total)
	return n, err
}

// sizeOf is the size of a regular file, or of what has its Stat, or 0.
func sizeOf(r io.Reader) int64 {
	if f, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return st.Size()
		}
	}
	return 0
}
