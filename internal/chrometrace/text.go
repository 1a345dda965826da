package chrometrace

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// appendText appends the text of a string's inside to dst: escapes resolved,
// bytes that are not UTF-8 and lone surrogates as U+FFFD (one for each, as
// encoding/json does), an escape that JSON does not know as it is written.
func appendText(dst, raw []byte) []byte {
	for len(raw) > 0 {
		switch c := raw[0]; {
		case c == '\\':
			var n int
			dst, n = appendEscape(dst, raw)
			raw = raw[n:]
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			raw = raw[1:]
		default:
			r, n := utf8.DecodeRune(raw)
			dst = utf8.AppendRune(dst, r)
			raw = raw[n:]
		}
	}
	return dst
}

// unescaped maps the byte behind a backslash to what it stands for.
var unescaped = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// appendEscape appends what the escape at the front of raw stands for and
// returns its length.
func appendEscape(dst, raw []byte) ([]byte, int) {
	if len(raw) < 2 {
		return append(dst, '\\'), 1
	}
	if c, ok := unescaped[raw[1]]; ok {
		return append(dst, c), 2
	}
	r, ok := hex4(raw)
	if !ok {
		return append(dst, '\\'), 1
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(raw[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return utf8.AppendRune(dst, pair), 12
			}
		}
	}
	return utf8.AppendRune(dst, r), 6 // a lone surrogate becomes U+FFFD
}

// hex4 reads \uXXXX at the front of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || !bytes.HasPrefix(b, []byte(`\u`)) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return rune(v), err == nil
}
