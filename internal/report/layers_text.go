package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/texttab"
)

const (
	// labelRunes is how much of a short name the text table shows. The rule
	// that names every kernel falls back on the kernel's own name, which may
	// have a thousand letters; CSV and JSON have it whole.
	labelRunes = 50
	// indent is where the kernel column starts; the closing lines start there too.
	indent = "     "
	// maxReasons is how many reasons for left-out layers are listed. A trace
	// with prefill may have hundreds; JSON has all.
	maxReasons = 8
	// maxKinds is how many kinds of layers the text shows. A model has a handful;
	// a trace of 25 batch sizes, whose kernels differ with the size, has a hundred.
	maxKinds = 12
	// lineRunes is where a list under the table is broken.
	lineRunes = 100
)

// WriteText writes the lines and tables for people.
func (l *Layers) WriteText(w io.Writer) error {
	var b bytes.Buffer
	l.writeHead(&b)
	l.writeGroups(&b)
	if l.whole() {
		l.writeParts(&b)
		l.writeTimes(&b)
	}
	l.writeLeftOut(&b)
	l.writeMixed(&b)
	if l.whole() {
		l.writeStrays(&b)
	}
	if l.whole() && l.Wide {
		l.writeEvidence(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeHead writes the lines before the table, as the script of spec 000 does,
// and which passes were chosen.
func (l *Layers) writeHead(b *bytes.Buffer) {
	if l.Decode == nil {
		b.WriteString("No decode annotations found in trace\n")
	} else {
		var sizes []string
		for _, c := range byFrequency(l.Decode.Counts) {
			sizes = append(sizes, fmt.Sprintf("%d: %d", c.BS, c.Steps))
		}
		fmt.Fprintf(b, "Decode batch sizes: {%s}\n", strings.Join(sizes, ", "))
		fmt.Fprintf(b, "Dominant decode bs: %d\n", l.Decode.Dominant)
	}
	fmt.Fprintf(b, "Total GPU kernels: %d\n", l.kernels())
	fmt.Fprintf(b, "Kernels per layer: %d\n", l.segments().KernelsPerLayer)
	fmt.Fprintf(b, "Sampled layers: %d\n", l.sampled())
	if !l.whole() {
		return
	}
	fmt.Fprintf(b, "Phase: %s (%d of %s; %s)\n", l.phase(), len(l.keptPasses()), passes(len(l.segments().Passes)), l.phaseRule())
	if kinds := l.stepKinds(); len(kinds) > 1 || kinds[0].text != kindText(nil) {
		fmt.Fprintf(b, "Steps: %s\n", listKinds(kinds))
	}
}

// byFrequency sorts most frequent first and keeps the order of equal ones.
func byFrequency(counts []tracelayer.BSCount) []tracelayer.BSCount {
	return slices.SortedStableFunc(slices.Values(counts), func(a, b tracelayer.BSCount) int {
		return cmp.Compare(b.Steps, a.Steps)
	})
}

// writeGroups writes a table for each group, and the time of a whole pass.
func (l *Layers) writeGroups(b *bytes.Buffer) {
	groups := l.Summary.Groups
	end := 0
	for _, g := range groups[:l.shownGroups()] {
		b.WriteByte('\n')
		if l.BySignature || len(groups) > 1 {
			fmt.Fprintf(b, "%s: %s of %s, the first %s\n", Printable(g.Key),
				count(g.Layers, "layer"), count(len(g.Positions), "kernel"), l.firstOf(g))
		}
		end = l.writeTable(b, g)
	}
	if rest := groups[l.shownGroups():]; len(rest) > 0 {
		layers := 0
		for _, g := range rest {
			layers += g.Layers
		}
		fmt.Fprintf(b, "\n%s more, of %s, are not shown: the CSV and --json have them, and --bs, --phase or --passes choose\n",
			count(len(rest), "kind"), count(layers, "layer"))
	}
	if ms, ok := l.passMS(); ok && len(groups) > 1 {
		b.WriteByte('\n')
		writeClosing(b, end, fmt.Sprintf("x%d layers", l.segments().LayersPerPass), fixed(ms, 2), "ms")
	}
}

// shownGroups is the number of groups that the text shows. Kinds beyond
// maxKinds are left to the CSV and JSON; who asks for signatures gets them.
func (l *Layers) shownGroups() int {
	if l.BySignature {
		return len(l.Summary.Groups)
	}
	return min(len(l.Summary.Groups), maxKinds)
}

// firstOf says where the first layer of a group is.
func (l *Layers) firstOf(g tracelayer.Group) string {
	if l.whole() {
		for _, layer := range l.segments().Layers {
			if layer.Ordinal == g.First {
				return fmt.Sprintf("is layer %d of pass %d", layer.Index, layer.Pass)
			}
		}
	}
	return fmt.Sprintf("at anchor %d", g.First)
}

// writeTable returns where the column of means ends.
func (l *Layers) writeTable(b *bytes.Buffer, g tracelayer.Group) (end int) {
	tab := l.table(g, "Max layer", l.inLayers)
	fmt.Fprintln(b, tab.Head())
	fmt.Fprintln(b, tab.Rule())
	for _, line := range tab.Lines() {
		fmt.Fprintln(b, line)
	}
	fmt.Fprintln(b, tab.Rule())
	end = tab.End(2)
	writeClosing(b, end, "TOTAL per layer", fixed(g.TotalUS, 1), "us")
	layers, ms, ok := l.perPass(g)
	switch {
	case !ok:
	case len(l.Summary.Groups) == 1:
		writeClosing(b, end, fmt.Sprintf("x%d layers", l.segments().LayersPerPass), fixed(ms, 2), "ms")
	case layers == math.Trunc(layers): // else the kinds differ from pass to pass, and there is no such part of one
		writeClosing(b, end, fmt.Sprintf("%.0f of %d layers", layers, l.segments().LayersPerPass), fixed(ms, 2), "ms")
	}
	return end
}

// writeClosing writes a line under a table, its value ending at end.
func writeClosing(b *bytes.Buffer, end int, what, value, unit string) {
	fmt.Fprintf(b, "%s%s%s %s\n", indent, what, texttab.PadLeft(value, end-len(indent)-len(what)), unit)
}

// table lays out the positions of a group.
func (l *Layers) table(g tracelayer.Group, number string, in place) *texttab.Table {
	purity := slices.ContainsFunc(g.Positions, func(p tracelayer.Position) bool { return p.Purity < 1 })
	tab := texttab.New(l.columns(purity, number)...)
	for _, p := range g.Positions {
		tab.Row(l.row(p, purity, in)...)
	}
	return tab
}

// columns are the spec's eight, in its order and widths, then the additions.
func (l *Layers) columns(purity bool, number string) []texttab.Column {
	cols := []texttab.Column{
		{Head: "Pos", Width: 3},
		{Head: "Kernel", Width: 30, Gap: 2, Left: true},
		{Head: "Avg(us)", Width: 9, Gap: 1},
		{Head: "Std", Width: 7, Gap: 1},
		{Head: "Min", Width: 7, Gap: 1},
		{Head: "Max", Width: 9, Gap: 1},
		{Head: "%", Width: 6, Gap: 1},
		{Head: "N", Width: 6, Gap: 1},
		{Head: "Max/p50", Width: 7, Gap: 2},
	}
	if purity {
		cols = append(cols, texttab.Column{Head: "Purity", Width: 6, Gap: 2})
	}
	if l.Wide {
		for _, h := range []string{"p50", "p90", "p99"} {
			cols = append(cols, texttab.Column{Head: h, Width: 8, Gap: 1})
		}
		cols = append(cols, texttab.Column{Head: number, Gap: 2}, texttab.Column{Head: "Max at(s)", Gap: 2})
	}
	return cols
}

func (l *Layers) row(p tracelayer.Position, purity bool, in place) []string {
	us := func(x float64) string { return known(p, x, 1) }
	cells := []string{
		fmt.Sprint(p.Pos), clip(Printable(p.Class.Label), labelRunes),
		us(p.AvgUS), us(p.StdUS), us(p.MinUS), us(p.MaxUS),
		percent(p), fmt.Sprint(p.N), ratio(p),
	}
	if purity {
		cells = append(cells, fixed(share(p.Purity, 100, 1), 1)+"%")
	}
	if l.Wide {
		layer, at := "-", "-"
		if n, s, ok := l.maxAt(p, in); ok {
			layer, at = fmt.Sprint(n), fixed(s, 6)
		}
		cells = append(cells, us(p.P50US), us(p.P90US), us(p.P99US), layer, at)
	}
	return cells
}

// known is x, or a dash when no kernel at the position has a usable duration.
func known(p tracelayer.Position, x float64, decimals int) string {
	if p.N == 0 {
		return "-"
	}
	return fixed(x, decimals)
}

func percent(p tracelayer.Position) string {
	if p.N == 0 {
		return "-"
	}
	return fixed(p.Pct, 1) + "%"
}

func ratio(p tracelayer.Position) string {
	if p.MaxP50 == 0 {
		return "-"
	}
	return fixed(p.MaxP50, 2)
}

func fixed(x float64, decimals int) string { return fmt.Sprintf("%.*f", decimals, x) }

// share rounds a share of whole, but never up to it: only what is pure shows
// as pure.
func share(x, whole float64, decimals int) float64 {
	r := round(x*whole, decimals)
	if x < 1 && r >= whole {
		return whole - math.Pow10(-decimals)
	}
	return r
}

// writeLeftOut says how many layers are not in the tables, and why.
func (l *Layers) writeLeftOut(b *bytes.Buffer) {
	s := l.segments()
	if l.leftOut() == 0 {
		return
	}
	fmt.Fprintf(b, "\nLayers left out: %d of %d\n", l.leftOut(), s.Anchors)
	shown := slices.SortedStableFunc(slices.Values(s.LeftOut), func(a, b tracelayer.LeftOut) int {
		return cmp.Compare(b.Layers, a.Layers)
	})
	rest := 0
	if len(shown) > maxReasons {
		for _, o := range shown[maxReasons:] {
			rest += o.Layers
		}
		shown = shown[:maxReasons]
	}
	for _, o := range shown {
		fmt.Fprintf(b, "%7d  %s\n", o.Layers, Printable(o.Why))
	}
	if rest > 0 {
		fmt.Fprintf(b, "%7d  for %d other reasons (--json lists them)\n", rest, len(s.LeftOut)-maxReasons)
	}
}

// writeMixed names the positions where layers disagree on the kernel.
func (l *Layers) writeMixed(b *bytes.Buffer) {
	var items []string
	for _, g := range l.Summary.Groups[:l.shownGroups()] {
		prefix := ""
		if len(l.Summary.Groups) > 1 {
			prefix = Printable(g.Key) + " "
		}
		for _, p := range g.Positions {
			if p.Mixed() {
				items = append(items, fmt.Sprintf("%s%d (%d kernels)", prefix, p.Pos, p.Variants))
			}
		}
	}
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\nMixed positions, where layers disagree on the kernel (--by-signature separates them):\n")
	for _, line := range wrap(items, lineRunes-2) {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// wrap joins items with commas into lines of at most width runes where it can.
func wrap(items []string, width int) []string {
	var lines []string
	line := ""
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		}
		if line != "" && len(line)+1+len(item) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += item
	}
	return append(lines, line)
}

// count is "1 layer", "2 layers".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
