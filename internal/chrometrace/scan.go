package chrometrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// firstBuffer is the size of a Reader's buffer until a value needs more.
const firstBuffer = 256 << 10

// maxDepth bounds nesting, as encoding/json does.
const maxDepth = 10000

// A scanner is a window on the input with the primitives of JSON on top. Every
// primitive crosses the window's end by calling more, so where the window ends
// never shows in a result.
type scanner struct {
	src      io.Reader
	srcErr   error // what src ended with; no byte follows buf[:end]
	buf      []byte
	pos, end int
	base     int64  // offset in the input of buf[0]
	max      int    // longest the buffer may become
	hold     int    // index in buf from which bytes must stay, or -1
	reading  bool   // inside an event
	event    int    // index in buf where that begins, or -1 once it has left the window
	detach   func() // called before bytes of the event leave the window
	stack    []byte // brackets that are open inside a composite being skipped
	odd      oddities
	index    int64 // of the present event, for oddities; -1 outside the list
}

// An Oddity is something in the bytes that JSON forbids and that was read all the same.
type Oddity struct {
	Count int64
	Event int64 // index of the first event concerned, -1 outside the list
}

func (o *Oddity) add(event int64) {
	if o.Count == 0 {
		o.Event = event
	}
	o.Count++
}

type oddities struct{ control, utf8, escape Oddity }

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// more reads further input behind buf[pos:end], moving what must stay to the
// front of the buffer. It reports false at the end of the input and when a
// held value would outgrow the limit; fail tells which.
func (s *scanner) more() bool {
	if s.srcErr != nil {
		return false
	}
	s.slide()
	if s.end == len(s.buf) {
		if len(s.buf) >= s.max {
			s.srcErr = fmt.Errorf("%w: over the limit of %d bytes", ErrTooLarge, s.max)
			return false
		}
		grown := make([]byte, min(2*len(s.buf), s.max))
		copy(grown, s.buf[:s.end])
		s.buf = grown
	}
	for range 100 {
		n, err := s.src.Read(s.buf[s.end:])
		s.end += n
		s.srcErr = err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	s.srcErr = io.ErrNoProgress
	return false
}

// slide moves the bytes that must stay to the front. A whole event stays while
// it is small; of a larger one only its held value does.
func (s *scanner) slide() {
	keep := s.pos
	if s.hold >= 0 {
		keep = s.hold
	}
	if s.event >= 0 && s.end-s.event <= len(s.buf)/2 {
		keep = s.event
	} else if s.reading {
		s.detach()
		s.event = -1
	}
	copy(s.buf, s.buf[keep:s.end])
	s.base += int64(keep)
	s.pos -= keep
	s.end -= keep
	if s.hold >= 0 {
		s.hold -= keep
	}
	if s.event >= 0 {
		s.event -= keep
	}
}

// fail is the error for an input that ended where more was wanted.
func (s *scanner) fail(want string) error {
	switch {
	case s.srcErr == io.EOF, s.srcErr == io.ErrUnexpectedEOF:
		return fmt.Errorf("%w: unexpected end of file, expected %s", ErrTruncated, want)
	case errors.Is(s.srcErr, ErrTruncated):
		return fmt.Errorf("%w, expected %s", s.srcErr, want)
	case s.srcErr != nil:
		return s.srcErr
	}
	return s.unexpected(want)
}

// unexpected is the error for a byte that does not belong where it stands.
func (s *scanner) unexpected(want string) error {
	return fmt.Errorf("found %q, expected %s", s.buf[s.pos], want)
}

// space skips white space and returns the next byte without consuming it, or 0
// at the end of the input.
func (s *scanner) space() byte {
	for {
		for i := s.pos; i < s.end; i++ {
			if c := s.buf[i]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				s.pos = i
				return c
			}
		}
		s.pos = s.end
		if !s.more() {
			return 0
		}
	}
}

// failAt is fail at the end of the input and unexpected elsewhere.
func (s *scanner) failAt(want string) error {
	if s.pos < s.end {
		return s.unexpected(want)
	}
	return s.fail(want)
}

// Marks of a string that cannot be taken as it stands.
const (
	hasEscape = 1 << iota
	hasControl
	hasInvalid
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has the high bit of the first byte in x that ends the plain part of
// a string: a quote, a backslash, a control byte or a byte of a multi-byte
// rune. Flipping bit 1 puts the quote, 0x22, right above the control bytes, so
// that one subtraction finds both. Bits above the lowest one set mean nothing
// (a borrow may set them).
func special(x uint64) uint64 {
	quoteOrControl := (x ^ ones*0x02) - ones*0x21
	backslash := (x ^ ones*'\\') - ones
	return (quoteOrControl | backslash | x) & highs
}

// skipString consumes a string from its opening quote to behind its closing
// one and returns its marks.
func (s *scanner) skipString() (marks byte, err error) {
	s.pos++
	for {
		c, ok := s.plain()
		if !ok {
			return marks, s.fail("the end of a string")
		}
		switch {
		case c == '"':
			s.pos++
			if marks&hasInvalid != 0 {
				s.odd.utf8.add(s.index)
			}
			return marks, nil
		case c == '\\':
			marks |= hasEscape
			if err := s.escape(); err != nil {
				return marks, err
			}
		case c < ' ':
			marks |= hasControl
			s.odd.control.add(s.index)
			s.pos++
		default:
			if !s.rune() {
				marks |= hasInvalid
			}
		}
	}
}

// plain moves to the next byte of a string that is not plain ASCII text and
// returns it, or false at the end of the input.
func (s *scanner) plain() (byte, bool) {
	for {
		buf, i := s.buf[:s.end], s.pos
		for ; i+8 <= len(buf); i += 8 {
			if m := special(binary.LittleEndian.Uint64(buf[i:])); m != 0 {
				i += trailingBytes(m)
				s.pos = i
				return buf[i], true
			}
		}
		for ; i < len(buf); i++ {
			if c := buf[i]; c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
				s.pos = i
				return c, true
			}
		}
		s.pos = i
		if !s.more() {
			return 0, false
		}
	}
}

// escape consumes an escape, or only the backslash of one that JSON does not know.
func (s *scanner) escape() error {
	for s.pos+1 == s.end {
		if !s.more() {
			return s.fail("the end of an escape")
		}
	}
	switch s.buf[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
		for s.end-s.pos < 6 && s.more() {
		}
		if _, ok := hex4(s.buf[s.pos:s.end]); ok {
			s.pos += 6
			return nil
		}
	}
	s.odd.escape.add(s.index)
	s.pos++ // read as a backslash; what follows is looked at as any other byte
	return nil
}

// rune consumes a rune of several bytes, or one byte that is none, and reports
// whether it was a rune.
func (s *scanner) rune() bool {
	for !utf8.FullRune(s.buf[s.pos:s.end]) && s.more() {
	}
	r, n := utf8.DecodeRune(s.buf[s.pos:s.end])
	s.pos += n
	return r != utf8.RuneError || n > 1
}

// skipComposite consumes an object or a list from its opening bracket.
func (s *scanner) skipComposite() error {
	s.stack = s.stack[:0]
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case '"':
				if _, err := s.skipString(); err != nil {
					return err
				}
				continue
			case '{', '[':
				if len(s.stack) == maxDepth {
					return fmt.Errorf("nested deeper than %d", maxDepth)
				}
				s.stack = append(s.stack, c+2) // the closing bracket, in ASCII
			case '}', ']':
				last := len(s.stack) - 1
				if s.stack[last] != c {
					return s.unexpected(fmt.Sprintf("%q", s.stack[last]))
				}
				s.stack = s.stack[:last]
				if last == 0 {
					s.pos++
					return nil
				}
			}
			s.pos++
		}
		if !s.more() {
			return s.fail(fmt.Sprintf("%q", s.stack[len(s.stack)-1]))
		}
	}
}

// skipScalar consumes a number or a word, which the caller holds.
func (s *scanner) skipScalar() error {
	start := s.offset()
	for {
		for s.pos < s.end {
			switch s.buf[s.pos] {
			case ',', '}', ']', ' ', '\n', '\r', '\t', ':', '"', '{', '[':
				return s.checkScalar(start)
			}
			s.pos++
		}
		if !s.more() {
			if s.srcErr != io.EOF {
				return s.fail("the end of a value")
			}
			return s.checkScalar(start)
		}
	}
}

// checkScalar refuses what is neither a JSON literal nor a spelling of a
// number that is not finite. The scalar is held, so it is in the window.
func (s *scanner) checkScalar(start int64) error {
	b := s.buf[start-s.base : s.pos]
	if scalarOK(b) {
		return nil
	}
	if s.pos == s.end && s.srcErr != nil {
		return s.fail("the end of a value")
	}
	if len(b) == 0 {
		return s.unexpected("a value")
	}
	return fmt.Errorf("found %.40q, expected a value", b)
}

// skipValue consumes any value and returns the kind of what it was: '"', '{',
// '[', 'n' for null or '0' for any other scalar. start is the offset of its
// first byte. If held, a scalar or string is in the window from start to pos.
func (s *scanner) skipValue(hold bool) (v span, err error) {
	c := s.space()
	v = span{kind: c, off: s.offset()}
	if hold || c != '"' && c != '{' && c != '[' {
		s.hold = s.pos
	}
	switch c {
	case '"':
		v.marks, err = s.skipString()
	case '{', '[':
		err = s.skipComposite()
	default:
		v.kind = '0'
		if err = s.skipScalar(); err == nil && s.buf[s.hold] == 'n' && s.pos-s.hold == 4 {
			v.kind = 'n'
		}
	}
	v.n = int32(s.offset() - v.off)
	s.hold = -1
	return v, err
}

// A span is a value that lies in the input. kind is '"', '{', '[', '0', 'n',
// or 0 where there is none. It is small, since one is cleared for each field of
// each event. n means nothing for what was not held.
type span struct {
	off   int64
	n     int32
	kind  byte
	marks byte
}
