// Package texttab lays out text tables of fixed-width columns.
//
// A column is as wide as its widest cell, and at least as wide as it says.
// Width is counted in runes: letters beyond ASCII keep the columns straight,
// runes that a terminal draws two cells wide (CJK, emoji) are counted as one
// and push the rest of their row to the right. Cells must not hold line ends.
package texttab

import (
	"io"
	"strings"
	"unicode/utf8"
)

// A Column says how one column is laid out.
type Column struct {
	Head  string
	Width int  // least width in runes
	Gap   int  // spaces before the column
	Left  bool // pad on the right; numbers are padded on the left
}

// A Table is columns and rows. Its zero value is an empty table.
type Table struct {
	cols []Column
	rows [][]string
}

// New returns a table without rows.
func New(cols ...Column) *Table {
	return &Table{cols: append([]Column(nil), cols...)}
}

// Row adds a row. It panics when the number of cells is not that of the columns.
func (t *Table) Row(cells ...string) {
	if len(cells) != len(t.cols) {
		panic("texttab: row and columns differ in number")
	}
	for i, c := range cells {
		t.cols[i].Width = max(t.cols[i].Width, utf8.RuneCountInString(c))
	}
	t.rows = append(t.rows, cells)
}

// End is the number of runes from the start of a line to the end of column i.
// It may grow with every Row.
func (t *Table) End(i int) int {
	end := 0
	for _, c := range t.cols[:i+1] {
		end += c.Gap + c.width()
	}
	return end
}

// Width is the number of runes of a full line.
func (t *Table) Width() int { return t.End(len(t.cols) - 1) }

// Rule is a line of dashes as wide as the table.
func (t *Table) Rule() string { return strings.Repeat("-", t.Width()) }

// Head is the line of column heads.
func (t *Table) Head() string {
	heads := make([]string, len(t.cols))
	for i, c := range t.cols {
		heads[i] = c.Head
	}
	return t.line(heads)
}

// Lines are the rows, laid out, without line ends.
func (t *Table) Lines() []string {
	lines := make([]string, len(t.rows))
	for i, r := range t.rows {
		lines[i] = t.line(r)
	}
	return lines
}

// WriteTo writes the head and the rows.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, strings.Join(append([]string{t.Head()}, t.Lines()...), "\n")+"\n")
	return int64(n), err
}

// line pads the cells of one line and trims the spaces at its end.
func (t *Table) line(cells []string) string {
	var b strings.Builder
	for i, c := range t.cols {
		pad := c.width() - utf8.RuneCountInString(cells[i])
		b.WriteString(strings.Repeat(" ", c.Gap))
		if !c.Left {
			b.WriteString(strings.Repeat(" ", pad))
		}
		b.WriteString(cells[i])
		if c.Left {
			b.WriteString(strings.Repeat(" ", pad))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func (c Column) width() int { return max(c.Width, utf8.RuneCountInString(c.Head)) }

// PadLeft puts spaces before s until it is width runes wide.
func PadLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + s
}
