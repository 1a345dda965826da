package chrometrace

import "encoding/binary"

// The functions here read what lies whole in the window and holds nothing
// unusual: no escape, no control byte, no byte beyond ASCII in a string. They
// return a negative index as soon as they meet anything else, also the window's
// end, and the caller then reads the same bytes the general way. That makes
// them three times as fast, and they decide nothing: every event that they
// read, the general way reads to the same result (TestFastAgrees).

// no is the index for "not here".
const no = -1

// fastEvent reads the event that begins at buf[i] into d.spans and returns the
// index behind it.
func (d *Reader) fastEvent(buf []byte, i int) (end, keys int) {
	clear(d.spans)
	d.ev.ArgsKind = 0
	skipped := false
	i++
	for {
		var f int
		f, i = fastField(buf, i, keys, &d.gaps, fieldOf)
		switch {
		case i < 0:
			return no, 0
		case f == fEnd:
			if d.ev.ArgsKind == '{' && d.readsArgs() == skipped {
				return no, 0 // a category behind the args changed what is wanted
			}
			return i, keys
		case f == fArgs && buf[i] == '{' && d.readsArgs():
			d.ev.ArgsKind = '{'
			i = d.fastArgs(buf, i)
		default:
			var sp span
			sp, i = fastValue(buf, i)
			sp.off += d.s.base
			if f == fArgs {
				d.ev.ArgsKind = sp.kind
				clear(d.spans[fArg:])
				skipped = sp.kind == '{'
			} else if f >= 0 {
				d.spans[f] = sp
			}
		}
		if i < 0 {
			return no, 0
		}
		keys++
	}
}

// fastArgs reads wanted args from their opening brace.
func (d *Reader) fastArgs(buf []byte, i int) int {
	clear(d.spans[fArg:])
	i++
	for n := 0; ; n++ {
		var f int
		f, i = fastField(buf, i, n, &d.argGaps, d.argOf)
		if i < 0 || f == fEnd {
			return i
		}
		var sp span
		if sp, i = fastValue(buf, i); i < 0 {
			return no
		}
		if f >= 0 {
			sp.off += d.s.base
			d.spans[f] = sp
		}
	}
}

// Gaps remembers, for each of the first keys of an object, what stood between
// the value before it and its own value when it was last read: a comma, white
// space, the key and its colon. A writer repeats itself, so most of the time
// comparing those bytes is all the reading that a key takes.
type gaps [16][2]gap

type gap struct {
	text  []byte
	field int
}

// fastField reads up to the value of the n-th key of an object and returns the
// field that the key names, or fEnd and the index behind the closing brace.
func fastField(buf []byte, i, n int, known *gaps, fieldOf func([]byte) int) (field, value int) {
	if n < len(known) {
		for w := range known[n] {
			g := &known[n][w]
			if value := i + len(g.text); value > i && value < len(buf) && string(buf[i:value]) == string(g.text) {
				return g.field, value
			}
		}
	}
	from, to, value := fastKey(buf, i, n)
	switch {
	case value < 0:
		return fNone, no
	case from == 0:
		field = fEnd
	default:
		field = fieldOf(buf[from:to])
	}
	if n < len(known) && value-i <= 64 {
		known[n][0], known[n][1] = known[n][1], known[n][0]
		known[n][0] = gap{append(known[n][0].text[:0], buf[i:value]...), field}
	}
	return field, value
}

// fastKey reads a comma, if one is due, a key and its colon, and returns the
// key's inside and the index of its value. At the closing brace it returns 0, 0
// and the index behind the brace.
func fastKey(buf []byte, i, n int) (from, to, value int) {
	if i = fastSpace(buf, i); i < 0 {
		return 0, 0, no
	}
	c := buf[i]
	if c == '}' {
		return 0, 0, i + 1
	}
	if n > 0 {
		if c != ',' {
			return 0, 0, no
		}
		if i = fastSpace(buf, i+1); i < 0 {
			return 0, 0, no
		}
		c = buf[i]
	}
	if c != '"' {
		return 0, 0, no
	}
	from = i + 1
	if to = fastString(buf, from); to < 0 {
		return 0, 0, no
	}
	i = to + 1
	if i >= len(buf) || buf[i] != ':' {
		return 0, 0, no
	}
	return from, to, fastSpace(buf, i+1)
}

// fastSpace returns the index of the next byte that is not white space.
func fastSpace(buf []byte, i int) int {
	for ; i < len(buf); i++ {
		if c := buf[i]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return i
		}
	}
	return no
}

// fastString returns the index of the quote that ends the string whose inside
// begins at buf[i].
func fastString(buf []byte, i int) int {
	for len(buf)-i >= 8 {
		if m := special(binary.LittleEndian.Uint64(buf[i:])); m != 0 {
			if i += trailingBytes(m); buf[i] == '"' {
				return i
			}
			return no
		}
		i += 8
	}
	return no
}

// fastValue reads the value at buf[i] and returns it with its offset in buf
// and the index behind it.
func fastValue(buf []byte, i int) (span, int) {
	start := i
	kind := buf[i]
	switch kind {
	case '"':
		if i = fastString(buf, i+1); i < 0 {
			return span{}, no
		}
		i++
	case '{', '[':
		if i = fastComposite(buf, i); i < 0 {
			return span{}, no
		}
	default:
		if kind, i = fastScalar(buf, i); i < 0 {
			return span{}, no
		}
	}
	return span{kind: kind, off: int64(start), n: int32(i - start)}, i
}

// fastScalar reads a number, true, false or null.
func fastScalar(buf []byte, start int) (kind byte, i int) {
	dots := 0
	for i = start; i < len(buf); i++ {
		switch c := buf[i]; {
		case c-'0' <= 9:
		case c == '.':
			dots++
		case (c == ',' || c == '}' || c == '\n') && i-start > dots && dots < 2:
			return '0', i
		default:
			return fastWord(buf, start)
		}
	}
	return 0, no
}

func fastWord(buf []byte, start int) (kind byte, i int) {
	for i = start; i < len(buf); i++ {
		switch buf[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t', ':', '"', '{', '[':
			switch {
			case !scalarOK(buf[start:i]):
				return 0, no
			case string(buf[start:i]) == "null":
				return 'n', i
			}
			return '0', i
		}
	}
	return 0, no
}

// fastComposite returns the index behind the object or list that begins at buf[i].
func fastComposite(buf []byte, i int) int {
	depth := 0
	open := uint64(0) // a bit for each level: 1 where a brace is open
	for i < len(buf) {
		c := buf[i]
		i++
		switch c {
		case '"':
			if i = fastString(buf, i) + 1; i == 0 {
				return no
			}
		case '{', '[':
			if depth++; depth > 64 {
				return no
			}
			open = open<<1 | uint64(c>>5&1) // '{' is 0x7b, '[' 0x5b
		case '}', ']':
			if open&1 != uint64(c>>5&1) { // '}' is 0x7d, ']' 0x5d
				return no
			}
			open >>= 1
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return no
}
