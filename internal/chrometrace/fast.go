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
	asked := int64(-1) // offset of the category that said whether the args are wanted
	skipped := false
	i++
	for {
		g, value := d.eventForms.next(buf, i, keys, fieldOf)
		switch {
		case value < 0:
			return no, 0
		case g.field == fEnd:
			if asked >= 0 && asked != d.spans[fCategory].off && d.readsArgs() == skipped {
				return no, 0 // a category behind the args changed what is wanted
			}
			return value, keys
		case g.field == fArgs:
			asked, skipped = d.spans[fCategory].off, buf[value] == '{' && !d.readsArgs()
			i = d.fastArgs(buf, value, skipped)
		default:
			var sp span
			sp, i = g.read(buf, value)
			if g.field >= 0 {
				sp.off += d.s.base
				d.spans[g.field] = sp
			}
		}
		if i < 0 {
			return no, 0
		}
		keys++
	}
}

// fastArgs reads the value of args.
func (d *Reader) fastArgs(buf []byte, i int, skip bool) int {
	clear(d.spans[fArg:])
	if skip || buf[i] != '{' {
		sp, end := fastValue(buf, i)
		d.ev.ArgsKind = sp.kind
		return end
	}
	d.ev.ArgsKind = '{'
	i++
	for n := 0; ; n++ {
		g, value := d.argForms.next(buf, i, n, d.argOf)
		if value < 0 || g.field == fEnd {
			return value
		}
		var sp span
		if sp, i = g.read(buf, value); i < 0 {
			return no
		}
		if g.field >= 0 {
			sp.off += d.s.base
			d.spans[g.field] = sp
		}
	}
}

// Forms remembers how the first members of an object read when they were last
// met, two forms of each. A writer repeats itself, so that most of the time
// comparing bytes is all the reading that a key takes, and often its value too.
type forms struct {
	known [16][2]member
	other member // for those that are not remembered
}

type member struct {
	field int
	gap   []byte // from behind the value before: comma, white space, key, colon
	value []byte // a short string or number that came last, nil while none is remembered
	kind  byte   // of value
	fails int8   // times in a row that value was another one
}

// maxFails is how often a value may differ from the last before it is no
// longer compared.
const maxFails = 16

// next returns the n-th member of the object at buf[i] and the index of its
// value, or behind the closing brace if the field is fEnd.
func (m *forms) next(buf []byte, i, n int, fieldOf func([]byte) int) (*member, int) {
	if n < len(m.known) {
		for w := range m.known[n] {
			g := &m.known[n][w]
			if value := i + len(g.gap); value > i && value < len(buf) && string(buf[i:value]) == string(g.gap) {
				return g, value
			}
		}
	}
	from, to, value := fastKey(buf, i, n)
	field := fEnd
	switch {
	case value < 0:
		return nil, no
	case from > 0:
		field = fieldOf(buf[from:to])
	}
	g := &m.other
	if n < len(m.known) && value-i <= 64 {
		m.known[n][0], m.known[n][1] = m.known[n][1], m.known[n][0]
		g = &m.known[n][0]
	}
	*g = member{field: field, gap: append(g.gap[:0], buf[i:value]...)}
	return g, value
}

// read reads the member's value at buf[i] and returns it with its offset in buf
// and the index behind it.
func (g *member) read(buf []byte, i int) (span, int) {
	if n := len(g.value); n > 0 && i+n < len(buf) && string(buf[i:i+n]) == string(g.value) && (g.kind == '"' || endsScalar(buf[i+n])) {
		g.fails = 0
		return span{kind: g.kind, off: int64(i), n: int32(n)}, i + n
	}
	sp, end := fastValue(buf, i)
	if g.fails < maxFails && end > 0 {
		g.fails++
		g.value = g.value[:0]
		if end-i <= 32 && sp.kind != '{' && sp.kind != '[' && g.fails < maxFails {
			g.value, g.kind = append(g.value, buf[i:end]...), sp.kind
		}
	}
	return sp, end
}

func endsScalar(c byte) bool { return c == ',' || c == '}' || c == '\n' || c == ' ' }

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
