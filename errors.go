package tracelayer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tracelayer/tracelayer/internal/chrometrace"
)

// Sentinels to branch on with errors.Is. Each is returned wrapped, with the
// counts that let a reader mend the input or the options.
var (
	// ErrNoKernels (Segment): the trace holds no GPU kernel, none with a usable
	// time, or none that the options select.
	ErrNoKernels = errors.New("no GPU kernels")
	// ErrNoDecode (DetectDecodeBS): no label of the trace is a decode step.
	ErrNoDecode = errors.New("no decode steps")
	// ErrNoAnchor (Segment): fewer than two kernels match the anchor.
	ErrNoAnchor = errors.New("anchor not found often enough")
	// ErrMixed (Segment): the kernels belong to more than one process or device.
	ErrMixed = errors.New("kernels of several processes or devices")
	// ErrRemainder (Segment): the anchors do not divide into passes of the given number of layers.
	ErrRemainder = errors.New("anchors do not divide into layers")
	// ErrNoLayers (Segment): no two anchors follow each other in one pass, or the
	// passes that the filter chooses have no layer.
	ErrNoLayers = errors.New("no layers")
	// ErrInterleaved (Segment): two micro-batches or models run interleaved and cannot be told apart.
	ErrInterleaved = errors.New("interleaved micro-batches")
	// ErrTruncated (Load): the input ends inside an event, or before its closing bracket.
	ErrTruncated = chrometrace.ErrTruncated
	// ErrTooLarge (Load): a value that must be held is longer than LoadOptions.MaxValue.
	ErrTooLarge = chrometrace.ErrTooLarge
)

// A SyntaxError says where a trace is damaged.
type SyntaxError struct {
	Name   string // the file, as given to Load or Read
	Offset int64  // byte offset in the uncompressed input
	Event  int64  // index of the event in the list, from 0; -1 outside the list
	Err    error  // what is wrong there
}

// Error names the file, the place and what is wrong there. The wording may change.
func (e *SyntaxError) Error() string {
	at := "outside the event list"
	if e.Event >= 0 {
		at = fmt.Sprintf("event %d", e.Event)
	}
	return fmt.Sprintf("%s: byte %d (%s): %v", e.Name, e.Offset, at, e.Err)
}

// Unwrap returns Err.
func (e *SyntaxError) Unwrap() error { return e.Err }

// A ProfileError says which field of which profile file is wrong.
type ProfileError struct {
	File  string
	Field string // a path such as rules[3].group
	Err   error
}

// Error names the file and the field. The wording may change.
func (e *ProfileError) Error() string {
	return fmt.Sprintf("profile %s: %s: %v", e.File, e.Field, e.Err)
}

// Unwrap returns Err.
func (e *ProfileError) Unwrap() error { return e.Err }

// A ConfigError says which field of a model's config is wrong or missing.
type ConfigError struct {
	File  string
	Field string // such as layer_types[3]; empty for the file as a whole
	Err   error
}

// Error names the file and the field. The wording may change.
func (e *ConfigError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("config %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("config %s: %s: %v", e.File, e.Field, e.Err)
}

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// A SegmentError says why a trace could not be cut, with the numbers.
type SegmentError struct {
	Trace      string      // the file, as given to Load or Read
	Profile    string      // the profile's name, empty for a bare anchor
	Anchor     string      // the anchor pattern
	Anchors    int         // kernels that match it
	Layers     int         // layers per pass that were asked for, 0 when none were
	Detail     string      // the numbers and what to do, in words
	Candidates []Candidate // better anchors of this trace, best first; may be empty
	Err        error       // one of the sentinels
}

// Error states the file, the sentinel and the detail on one line. It leaves out the
// candidates, which a command prints as a table.
func (e *SegmentError) Error() string {
	var b strings.Builder
	if e.Trace != "" {
		b.WriteString(e.Trace + ": ")
	}
	b.WriteString(e.Err.Error())
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *SegmentError) Unwrap() error { return e.Err }
