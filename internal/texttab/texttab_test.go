package texttab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	for _, tt := range []struct {
		name string
		cols []Column
		rows [][]string
		want string
	}{
		{
			name: "numbers to the right, words to the left",
			cols: []Column{{Head: "Pos", Width: 3}, {Head: "Kernel", Gap: 2, Left: true, Width: 8}, {Head: "us", Gap: 1, Width: 6}},
			rows: [][]string{{"0", "norm", "1.5"}, {"10", "gemm", "180.4"}},
			want: "Pos  Kernel       us\n  0  norm        1.5\n 10  gemm      180.4\n",
		},
		{
			name: "a long cell widens its column on every line",
			cols: []Column{{Head: "A", Left: true}, {Head: "B", Gap: 1}},
			rows: [][]string{{"long one", "1"}, {"x", "22"}},
			want: "A         B\nlong one  1\nx        22\n",
		},
		{
			name: "width is counted in runes, not bytes",
			cols: []Column{{Head: "name", Left: true}, {Head: "n", Gap: 1}},
			rows: [][]string{{"größe", "1"}, {"a\ufffdb", "2"}},
			want: "name  n\ngröße 1\na\ufffdb   2\n",
		},
		{
			name: "no row",
			cols: []Column{{Head: "name", Left: true, Width: 10}, {Head: "n", Gap: 1}},
			want: "name       n\n",
		},
		{
			name: "no space at the end of a line",
			cols: []Column{{Head: "n"}, {Head: "name", Gap: 1, Left: true, Width: 10}},
			rows: [][]string{{"1", "x"}, {"2", ""}},
			want: "n name\n1 x\n2\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := New(tt.cols...)
			for _, r := range tt.rows {
				tab.Row(r...)
			}
			var b strings.Builder
			if _, err := tab.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, b.String()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	tab := New(Column{Head: "Pos", Width: 3}, Column{Head: "Kernel", Gap: 2, Width: 10, Left: true}, Column{Head: "N", Gap: 1})
	tab.Row("0", "größer als zehn", "1")
	if got, want := tab.End(0), 3; got != want {
		t.Errorf("End(0) = %d, want %d", got, want)
	}
	if got, want := tab.End(1), 3+2+15; got != want {
		t.Errorf("End(1) = %d, want %d", got, want)
	}
	if got, want := tab.Rule(), strings.Repeat("-", 3+2+15+1+1); got != want {
		t.Errorf("Rule() = %q, want %q", got, want)
	}
}

func TestRowPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a row of two cells in a table of one column did not panic")
		}
	}()
	New(Column{Head: "A"}).Row("1", "2")
}

func TestPadLeft(t *testing.T) {
	for _, tt := range []struct {
		s     string
		width int
		want  string
	}{{"µ", 3, "  µ"}, {"long", 2, "long"}, {"", 1, " "}} {
		if got := PadLeft(tt.s, tt.width); got != tt.want {
			t.Errorf("PadLeft(%q, %d) = %q, want %q", tt.s, tt.width, got, tt.want)
		}
	}
}
