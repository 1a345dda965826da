package report

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable returns s with every character that is not printable replaced by
// its Go escape: an escape byte becomes \x1b, a TAB \t, a byte that is not
// UTF-8 \xNN, a text direction mark \u202e. A backslash stays as it is, since
// names are read by people and not parsed back.
func Printable(s string) string {
	if strings.IndexFunc(s, isUnprintable) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case isUnprintable(r):
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// clip shortens s to n runes, the last of them an ellipsis.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// formulaStart is what a spreadsheet takes for a formula at the start of a
// cell: OWASP's list, with the full-width forms that some locales accept. TAB
// and CR are on that list too; they never get here, being escaped before.
const formulaStart = "=+-@＝＋－＠"

// cell is s as a CSV cell: printable, and with a leading apostrophe where a
// spreadsheet could run it as a formula. Quotes and spaces before the sign do
// not count, since spreadsheets skip them.
func cell(s string) string {
	s = Printable(s)
	rest := strings.TrimLeft(s, ` "'`)
	if r, _ := utf8.DecodeRuneInString(rest); rest != "" && strings.ContainsRune(formulaStart, r) {
		return "'" + s
	}
	return s
}

// escapeJSON replaces the characters that JSON allows as they are but that a
// terminal may obey (DEL, C1 controls, direction marks) by JSON escapes. Such
// characters occur in strings only, so the document keeps its meaning.
func escapeJSON(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	for len(doc) > 0 {
		r, n := utf8.DecodeRune(doc)
		if r < 0x7f || unicode.IsPrint(r) {
			out = append(out, doc[:n]...)
		} else {
			for _, u := range utf16.AppendRune(nil, r) {
				out = append(out, '\\', 'u')
				out = append(out, strconv.FormatUint(uint64(u)|0x10000, 16)[1:]...)
			}
		}
		doc = doc[n:]
	}
	return out
}
