package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
	// clearLine is what takes the bar away before anything else is written.
	clearLine = "\r\x1b[K"
)

// progress draws how much of the input was read. It is used by the goroutine
// that inflates, and ended by another one.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	last  time.Time
	drawn bool
	ended bool
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, last: time.Now()}
}

// update draws, when the last drawing is old enough, how many bytes of the
// file's size have been read; 0 is a size that is not known.
func (p *progress) update(read, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || time.Since(p.last) < barEvery {
		return
	}
	p.last = time.Now()
	p.drawn = true
	fmt.Fprintf(p.w, "%s%s", clearLine, barText(read, size))
}

// done removes the bar; later calls of update draw nothing.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.drawn {
		fmt.Fprint(p.w, clearLine)
	}
}

func barText(read, size int64) string {
	mb := fmt.Sprintf("%.1f MB", float64(read)/1e6)
	if size <= 0 {
		return mb
	}
	share := min(1, float64(read)/float64(size))
	full := int(share * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), share*100, mb)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
