package chrometrace

import (
	"bytes"
	"errors"
	"io"
)

// DefaultMaxValue is the limit on a value that must be held whole.
const DefaultMaxValue = 16 << 20

// Options says what a Reader keeps. The zero value keeps no args.
type Options struct {
	// MaxValue is the longest value, in bytes, that can be held: a wanted
	// string or a wanted header value. What is not wanted may have any length.
	// 0 means DefaultMaxValue; the least is twice 256 KiB.
	MaxValue int
	// ArgKeys are the keys of args whose values are wanted.
	ArgKeys []string
	// WantArgs reports whether the args of events of a category are wanted.
	// Nil means of none.
	WantArgs func(category []byte) bool
	// WantHeader reports whether the value of a key beside the event list is
	// wanted. Nil means of none.
	WantHeader func(key []byte) bool
}

// A Value is a field of an event. Text is what a string says, or the letters
// of a number, true, false or null; it is nil for objects and lists. It is
// valid until the next call of Next.
type Value struct {
	Kind byte // '"', '0' (number, true, false), 'n' (null), '{', '[', or 0 when absent
	Text []byte
}

// An Event is one entry of the event list. It is valid until the next call of
// Next. Fields that only some events are asked for are methods, since making a
// value costs as much as reading it.
type Event struct {
	Index  int64 // position in the list, from 0
	Offset int64 // of its opening brace, in the uncompressed input

	Phase, Category, TS, Dur Value
	// ArgsKind is the kind of the args value.
	ArgsKind byte

	d *Reader
}

// Name is the value of "name".
func (e *Event) Name() Value { return e.d.value(fName) }

// PID is the value of "pid".
func (e *Event) PID() Value { return e.d.value(fPID) }

// TID is the value of "tid".
func (e *Event) TID() Value { return e.d.value(fTID) }

// Arg is the value of Options.ArgKeys[i] in args, absent if the category's args
// were not wanted.
func (e *Event) Arg(i int) Value { return e.d.value(fArg + i) }

// Stats is what a Reader has met so far.
type Stats struct {
	Bytes   int64 // uncompressed
	Events  int64 // entries of the event list
	Ignored int64 // those that are empty objects or not objects

	// Unterminated: a top-level list without its closing bracket.
	Unterminated bool
	// RawControl counts control bytes in strings, InvalidUTF8 strings with bytes
	// that are not UTF-8, UnknownEscape escapes that JSON does not know.
	RawControl, InvalidUTF8, UnknownEscape Oddity
}

// The fields of an event, as indices into Reader.spans. Args follow.
const (
	fPhase = iota
	fCategory
	fName
	fPID
	fTID
	fTS
	fDur
	fArg // the first of the args

	fArgs = -1
	fNone = -2
	fEnd  = -3 // the closing brace
)

type state int

const (
	atStart   state = iota
	inList          // between the brackets of the event list
	afterList       // in the top-level object, behind the list
	atEnd           // behind the top-level value
)

// A Reader reads a trace's events in the file's order.
type Reader struct {
	s                    scanner
	opts                 Options
	state                state
	list                 bool // the top level is a list
	seen                 bool // the event list has been opened
	comma                bool // an element has been read and no comma after it
	spans                []span
	saved                [][]byte // the bytes of spans that left the window
	detached             bool     // saved is of the present event
	text                 []byte   // decoded strings of the present event
	eventForms, argForms forms    // what the fast way remembers of events and of their args
	ev                   Event
	header               map[string][]byte
	stats                Stats
	err                  error
}

// NewReader reads from r, which must be uncompressed (see Open).
func NewReader(r io.Reader, opts Options) *Reader {
	return newReader(r, opts, firstBuffer)
}

// newReader begins with a buffer of size bytes.
func newReader(r io.Reader, opts Options, size int) *Reader {
	if opts.MaxValue <= 0 {
		opts.MaxValue = DefaultMaxValue
	}
	d := &Reader{opts: opts, header: map[string][]byte{}}
	d.spans = make([]span, fArg+len(opts.ArgKeys))
	d.saved = make([][]byte, len(d.spans))
	d.ev.d = d
	d.s = scanner{
		src: r, buf: make([]byte, size), max: max(opts.MaxValue, 2*size),
		hold: -1, event: -1, index: -1, detach: d.detach,
	}
	return d
}

// Next returns the next event, or io.EOF when the input was read to its end
// and was sound. Errors are final; Offset and Index say where it was found.
func (d *Reader) Next() (*Event, error) {
	for d.err == nil {
		var ok bool
		if ok, d.err = d.step(); ok && d.err == nil {
			return &d.ev, nil
		}
	}
	return nil, d.err
}

// Offset is the place in the uncompressed input that has been reached.
func (d *Reader) Offset() int64 { return d.s.offset() }

// Index is the index of the event that is being read, or -1 outside the list.
func (d *Reader) Index() int64 { return d.s.index }

// Header returns the raw JSON of the wanted keys beside the event list. It is
// complete once Next returned io.EOF, since keys may follow the list. The last
// of equal keys wins.
func (d *Reader) Header() map[string][]byte { return d.header }

// Stats returns what was met so far.
func (d *Reader) Stats() Stats {
	st := d.stats
	st.Bytes = d.s.offset()
	st.RawControl, st.InvalidUTF8, st.UnknownEscape = d.s.odd.control, d.s.odd.utf8, d.s.odd.escape
	return st
}

// step reads one thing and reports whether it was an event to return.
func (d *Reader) step() (bool, error) {
	switch d.state {
	case atStart:
		return false, d.open()
	case inList:
		return d.element()
	case afterList:
		return false, d.members(1)
	}
	return false, d.finish()
}

var bom = []byte("\xef\xbb\xbf")

// open reads up to the first element of the event list.
func (d *Reader) open() error {
	s := &d.s
	for s.end < len(bom) && s.more() {
	}
	if bytes.HasPrefix(s.buf[:s.end], bom) {
		s.pos = len(bom)
	}
	switch c := s.space(); c {
	case '[':
		s.pos++
		d.list, d.seen = true, true
		d.state = inList
		return nil
	case '{':
		s.pos++
		return d.members(0)
	}
	return s.failAt("{ or [, the beginning of a trace")
}

// members reads keys beside the event list until the list opens or the
// top-level object ends; n keys or lists came before.
func (d *Reader) members(n int) error {
	for ; ; n++ {
		key, done, err := d.nextKey(n)
		switch {
		case err != nil:
			return err
		case done && !d.seen:
			return errors.New("found an object without traceEvents, expected a trace")
		case done:
			d.state = atEnd
			return nil
		case string(key) == "traceEvents":
			return d.openList()
		}
		if err := d.headerValue(key); err != nil {
			return err
		}
	}
}

// openList enters the event list.
func (d *Reader) openList() error {
	if d.seen {
		return errors.New("found a second traceEvents, expected one")
	}
	if d.s.space() != '[' {
		return d.s.failAt("[, the list of events")
	}
	d.s.pos++
	d.seen = true
	d.state = inList
	return nil
}

// nextKey consumes the next key of an object with its colon, or the closing
// brace. n keys came before. The key is valid until more input is read.
func (d *Reader) nextKey(n int) (key []byte, done bool, err error) {
	s := &d.s
	c := s.space()
	if c == '}' {
		s.pos++
		return nil, true, nil
	}
	if n > 0 {
		if c != ',' {
			return nil, false, s.failAt(", or }")
		}
		s.pos++
		c = s.space()
	}
	if c != '"' {
		return nil, false, s.failAt("a key")
	}
	sp, err := s.skipValue(true)
	if err != nil {
		return nil, false, err
	}
	key = s.buf[sp.off-s.base+1 : s.pos-1]
	if sp.marks != 0 {
		key = appendText(nil, key)
	}
	if s.pos < s.end && s.buf[s.pos] == ':' {
		s.pos++
		return key, false, nil
	}
	key = bytes.Clone(key) // the window may move
	if s.space() != ':' {
		return nil, false, s.failAt(":")
	}
	s.pos++
	return key, false, nil
}

// headerValue consumes the value of a key beside the event list.
func (d *Reader) headerValue(key []byte) error {
	if d.opts.WantHeader == nil || !d.opts.WantHeader(key) {
		_, err := d.s.skipValue(false)
		return err
	}
	name := string(key)
	sp, err := d.s.skipValue(true)
	if err == nil {
		d.header[name] = bytes.Clone(d.s.buf[sp.off-d.s.base : d.s.pos])
	}
	return err
}

// element reads one element of the event list, or the list's end. A comma
// before the closing bracket passes: writers that append events leave one. A
// list that is the whole file may lack its bracket, as the format allows.
func (d *Reader) element() (bool, error) {
	s := &d.s
	s.index = d.stats.Events
	c := s.space()
	if d.comma && c == ',' {
		s.pos++
		d.comma = false
		c = s.space()
	}
	switch {
	case s.pos == s.end && d.list && s.srcErr == io.EOF:
		d.stats.Unterminated = true
		d.leaveList()
		return false, nil
	case c == ']':
		s.pos++
		d.leaveList()
		return false, nil
	case s.pos == s.end || d.comma:
		return false, s.failAt(", or ]")
	}
	ok, err := d.entry(c)
	d.comma = true
	if err == nil {
		d.stats.Events++
		if !ok {
			d.stats.Ignored++
		}
	}
	return ok, err
}

func (d *Reader) leaveList() {
	d.s.index = -1
	d.state = afterList
	if d.list {
		d.state = atEnd
	}
}

// entry reads one entry of the list and reports whether it is an event with keys.
func (d *Reader) entry(c byte) (bool, error) {
	s := &d.s
	if c != '{' {
		_, err := s.skipValue(false)
		return false, err
	}
	d.ev.Index, d.ev.Offset = s.index, s.offset()
	s.event, s.reading = s.pos, true
	keys, err := d.read()
	if err == nil && keys > 0 {
		d.resolve()
	}
	s.event, s.reading = -1, false
	return keys > 0, err
}

// read reads the event at the present byte, the fast way if that is possible,
// and returns its number of keys.
func (d *Reader) read() (keys int, err error) {
	s := &d.s
	d.text, d.detached = d.text[:0], false
	end, keys := d.fastEvent(s.buf[:s.end], s.pos)
	if end < 0 {
		return d.event()
	}
	s.pos = end
	return keys, nil
}

// finish sees to it that nothing follows the top-level value.
func (d *Reader) finish() error {
	s := &d.s
	if s.space(); s.pos < s.end {
		return s.unexpected("the end of the file")
	}
	if s.srcErr != io.EOF {
		return s.fail("the end of the file")
	}
	return io.EOF
}

// event reads an event from its opening brace and returns its number of keys.
func (d *Reader) event() (keys int, err error) {
	clear(d.spans)
	d.ev.ArgsKind = 0
	d.s.pos++
	skipped := false
	for {
		key, done, err := d.nextKey(keys)
		if err != nil {
			return keys, err
		}
		if done {
			return keys, d.settleArgs(skipped)
		}
		keys++
		switch f := fieldOf(key); f {
		case fArgs:
			skipped, err = d.args()
		case fNone:
			_, err = d.s.skipValue(false)
		default:
			d.spans[f], err = d.s.skipValue(true)
		}
		if err != nil {
			return keys, err
		}
	}
}

// settleArgs looks at the args again once the whole event has been read: the
// category may have come, or come a second time, behind them.
func (d *Reader) settleArgs(skipped bool) error {
	want := d.readsArgs()
	switch {
	case want && skipped:
		return errors.New(`found a second "cat" behind the args, which the first gave no reason to read`)
	case !want:
		clear(d.spans[fArg:])
	}
	return nil
}

// fieldOf is the field that a key of an event names.
func fieldOf(key []byte) int {
	switch string(key) {
	case "ph":
		return fPhase
	case "cat":
		return fCategory
	case "name":
		return fName
	case "pid":
		return fPID
	case "tid":
		return fTID
	case "ts":
		return fTS
	case "dur":
		return fDur
	case "args":
		return fArgs
	}
	return fNone
}

// args reads the value of args and reports whether it was an object and was
// stepped over, since the category is known and does not want it.
func (d *Reader) args() (skipped bool, err error) {
	s := &d.s
	clear(d.spans[fArg:])
	open := s.space() == '{'
	if !open || !d.readsArgs() {
		sp, err := s.skipValue(false)
		d.ev.ArgsKind = sp.kind
		return open, err
	}
	d.ev.ArgsKind = '{'
	s.pos++
	for n := 0; ; n++ {
		key, done, err := d.nextKey(n)
		if done || err != nil {
			return false, err
		}
		if f := d.argOf(key); f >= 0 {
			d.spans[f], err = s.skipValue(true)
		} else {
			_, err = s.skipValue(false)
		}
		if err != nil {
			return false, err
		}
	}
}

// readsArgs reports whether args that come now are read: also while the
// category is not known.
func (d *Reader) readsArgs() bool { return d.spans[fCategory].kind == 0 || d.wantArgs() }

// argOf is the field that a key of args names.
func (d *Reader) argOf(key []byte) int {
	for i, k := range d.opts.ArgKeys {
		if k == string(key) {
			return fArg + i
		}
	}
	return fNone
}

// wantArgs reports whether the category read so far wants args.
func (d *Reader) wantArgs() bool {
	return d.opts.WantArgs != nil && d.opts.WantArgs(d.value(fCategory).Text)
}

// detach saves what has been read of the present event before its bytes leave
// the window.
func (d *Reader) detach() {
	if !d.detached {
		clear(d.saved)
		d.detached = true
	}
	for i, sp := range d.spans {
		if sp.kind == '"' || sp.kind == '0' || sp.kind == 'n' {
			d.saved[i] = bytes.Clone(d.bytes(i))
		}
	}
}

// bytes are the letters of a span, quotes included.
func (d *Reader) bytes(i int) []byte {
	sp := d.spans[i]
	if sp.off >= d.s.base {
		return d.s.buf[sp.off-d.s.base:][:sp.n]
	}
	return d.saved[i]
}

// resolve makes the values that every event is asked for.
func (d *Reader) resolve() {
	d.ev.Phase = d.value(fPhase)
	d.ev.Category = d.value(fCategory)
	d.ev.TS = d.value(fTS)
	d.ev.Dur = d.value(fDur)
}

// value is what a span says.
func (d *Reader) value(i int) Value {
	sp := d.spans[i]
	v := Value{Kind: sp.kind}
	switch sp.kind {
	case '"':
		raw := d.bytes(i)
		v.Text = raw[1 : len(raw)-1]
		if sp.marks&(hasEscape|hasInvalid) != 0 {
			from := len(d.text)
			d.text = appendText(d.text, v.Text)
			v.Text = d.text[from:]
		}
	case '0', 'n':
		v.Text = d.bytes(i)
	}
	return v
}
