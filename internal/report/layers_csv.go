package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/tracelayer/tracelayer"
)

// csvHead: the first nine columns are the script's; additions come after them.
var csvHead = []string{
	"pos", "short_name", "kernel", "avg_us", "std_us", "min_us", "max_us", "pct", "count",
	"p50_us", "p90_us", "p99_us", "max_p50", "purity", "variants", "group",
}

// WriteCSV writes one line for each position, of all groups one after the
// other, then those of the prologue and the epilogue. Lines end in LF. Times
// have one decimal; a cell is empty where nothing is known, because no kernel
// there has a usable duration. Names are whole, with control characters as
// visible escapes (a TAB as \t), so that every record is one line.
func (l *Layers) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := csvHead
	keys := l.whole() || l.BySignature
	if keys {
		head = append(head[:len(head):len(head)], "group_key", "layers")
	}
	_ = out.Write(head) // Error below returns the first one
	write := func(key string, g tracelayer.Group) {
		for _, p := range g.Positions {
			rec := csvRecord(p)
			if keys {
				rec = append(rec, cell(key), strconv.Itoa(g.Layers))
			}
			_ = out.Write(rec)
		}
	}
	for _, g := range l.Summary.Groups {
		write(g.Key, g)
	}
	for _, p := range l.parts() {
		write(p.key, p.Group)
	}
	out.Flush()
	return out.Error()
}

func csvRecord(p tracelayer.Position) []string {
	num := func(x float64, decimals int) string {
		if p.N == 0 {
			return ""
		}
		return fixed(x, decimals)
	}
	maxP50 := ""
	if p.MaxP50 != 0 {
		maxP50 = fixed(p.MaxP50, 2)
	}
	return []string{
		strconv.Itoa(p.Pos), cell(p.Class.Label), cell(p.Name),
		num(p.AvgUS, 1), num(p.StdUS, 1), num(p.MinUS, 1), num(p.MaxUS, 1), num(p.Pct, 1), strconv.Itoa(p.N),
		num(p.P50US, 1), num(p.P90US, 1), num(p.P99US, 1), maxP50,
		fixed(share(p.Purity, 1, 4), 4), strconv.Itoa(p.Variants), cell(p.Class.Group),
	}
}
