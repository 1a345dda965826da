package chrometrace

import (
	"bytes"
	"math"
	"math/bits"
)

func trailingBytes(m uint64) int { return bits.TrailingZeros64(m) / 8 }

// scalarOK reports whether b is true, false, null, a number, or a word that
// printf writes for a number that is not finite.
func scalarOK(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	return isNumber(b) || NonFinite(b)
}

// NonFinite reports whether b is a word that printf writes for a number that is
// not finite: nan, inf or infinity in any case, with or without sign.
func NonFinite(b []byte) bool {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	return bytes.EqualFold(b, []byte("nan")) || bytes.EqualFold(b, []byte("inf")) || bytes.EqualFold(b, []byte("infinity"))
}

// isNumber reports whether b is a number as JSON spells it. Leading zeros and
// a leading plus are let through: they cannot be misread.
func isNumber(b []byte) bool {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	b, whole := digits(b)
	frac := 0
	if len(b) > 0 && b[0] == '.' {
		b, frac = digits(b[1:])
	}
	if whole+frac == 0 {
		return false
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
			b = b[1:]
		}
		var exp int
		if b, exp = digits(b); exp == 0 {
			return false
		}
	}
	return len(b) == 0
}

// digits cuts the digits off the front of b and says how many there were.
func digits(b []byte) (rest []byte, n int) {
	for n < len(b) && b[n]-'0' <= 9 {
		n++
	}
	return b[n:], n
}

// Micros reads a decimal number of microseconds as nanoseconds, exactly: no
// float is involved. Digits beyond the third decimal round to the nearest, half
// away from zero. It reports false for text that is not a finite number or
// does not fit.
func Micros(b []byte) (ns int64, ok bool) {
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		b = b[1:]
	}
	whole, n := uint64(0), 0
	for n < len(b) && n < 15 && b[n]-'0' <= 9 {
		whole = whole*10 + uint64(b[n]-'0')
		n++
	}
	switch {
	case n == 0:
	case n == len(b):
		ns = int64(whole) * 1000
		ok = true
	case n+4 == len(b) && b[n] == '.' && b[n+1]-'0' <= 9 && b[n+2]-'0' <= 9 && b[n+3]-'0' <= 9:
		ns = int64(whole)*1000 + int64(b[n+1]-'0')*100 + int64(b[n+2]-'0')*10 + int64(b[n+3]-'0')
		ok = true
	}
	if !ok {
		ns, ok = scaled(b, 3)
	}
	if neg {
		ns = -ns
	}
	return ns, ok
}

// Integer reads a whole number. It reports false for anything else.
func Integer(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	v := uint64(0)
	for _, c := range b {
		if c-'0' > 9 || v > (math.MaxInt64-9)/10 {
			return integerEdge(b, neg)
		}
		v = v*10 + uint64(c-'0')
	}
	if neg {
		return -int64(v), true
	}
	return int64(v), true
}

// integerEdge is Integer for what is no number or nearly too large.
func integerEdge(b []byte, neg bool) (int64, bool) {
	if rest, _ := digits(b); len(rest) > 0 {
		return 0, false
	}
	v, ok := scaled(b, 0)
	if neg {
		v = -v
	}
	return v, ok
}

// scaled reads an unsigned decimal, with or without exponent, times 10^power,
// rounded to the nearest integer.
func scaled(b []byte, power int) (int64, bool) {
	if len(b) == 0 || b[0] == '-' || b[0] == '+' || !isNumber(b) {
		return 0, false
	}
	mantissa, exp := b, 0
	if i := bytes.IndexAny(b, "eE"); i >= 0 {
		mantissa, exp = b[:i], exponent(b[i+1:])
	}
	whole, frac, _ := bytes.Cut(mantissa, []byte("."))
	point := len(whole) + exp + power // digits before the decimal point
	at := func(i int) uint64 {
		switch {
		case i < len(whole):
			return uint64(whole[i] - '0')
		case i < len(whole)+len(frac):
			return uint64(frac[i-len(whole)] - '0')
		}
		return 0
	}
	v, last := uint64(0), len(whole)+len(frac)
	for i := range max(point, 0) {
		if i >= last && v == 0 {
			break // only zeros follow
		}
		hi, lo := bits.Mul64(v, 10)
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		v = lo + at(i)
	}
	if point >= 0 && at(point) >= 5 {
		v++
	}
	return int64(v), v <= math.MaxInt64
}

// exponent reads a checked exponent. What no time can have is cut to a value
// that is as far out of range.
func exponent(b []byte) int {
	neg := b[0] == '-'
	if neg || b[0] == '+' {
		b = b[1:]
	}
	e := 0
	for _, c := range b {
		e = min(e*10+int(c-'0'), 1<<20)
	}
	if neg {
		return -e
	}
	return e
}
