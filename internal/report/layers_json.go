package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/goccy/go-json"
	"github.com/tracelayer/tracelayer"
)

// layersSchema changes when a field changes its meaning, not when one is added.
const layersSchema = "tracelayer/trace_layer/1"

type layersDoc struct {
	Schema        string     `json:"schema"`
	Trace         string     `json:"trace"`
	Rank          *int       `json:"rank"`
	Streams       string     `json:"streams"`
	Detected      bool       `json:"detected"` // the anchor was found, not given
	Kernels       int        `json:"kernels"`
	Anchor        string     `json:"anchor"`
	Anchors       int        `json:"anchors"`
	DecodeBS      *decodeDoc `json:"decode_bs"`
	Passes        *int       `json:"passes"`
	LayersPerPass *int       `json:"layers_per_pass"`
	Groups        []groupDoc `json:"groups"`
	LeftOut       leftOutDoc `json:"left_out"`
	passesDoc
	Warnings []string `json:"warnings"`
}

type decodeDoc struct {
	Dominant int     `json:"dominant"`
	Counts   bsTable `json:"counts"`
}

type groupDoc struct {
	Key             string        `json:"key"`
	KernelsPerLayer int           `json:"kernels_per_layer"`
	Layers          int           `json:"layers"`
	TotalUS         float64       `json:"total_us"`
	Times           *timesDoc     `json:"times"` // null without whole layers
	Positions       []positionDoc `json:"positions"`
}

type positionDoc struct {
	Pos       int      `json:"pos"`
	ShortName string   `json:"short_name"`
	Kernel    string   `json:"kernel"`
	Group     string   `json:"group"`
	AvgUS     *float64 `json:"avg_us"`
	StdUS     *float64 `json:"std_us"`
	MinUS     *float64 `json:"min_us"`
	P50US     *float64 `json:"p50_us"`
	P90US     *float64 `json:"p90_us"`
	P99US     *float64 `json:"p99_us"`
	MaxUS     *float64 `json:"max_us"`
	MaxP50    *float64 `json:"max_p50"`
	Pct       *float64 `json:"pct"`
	Count     int      `json:"count"`
	Purity    float64  `json:"purity"`
	Variants  int      `json:"variants"`
	MaxLayer  *int     `json:"max_layer"` // null in a prologue or epilogue
	MaxPass   *int     `json:"max_pass"`  // null in a layer
	MaxAtS    *float64 `json:"max_at_s"`
}

type leftOutDoc struct {
	Layers  int         `json:"layers"`
	Reasons []reasonDoc `json:"reasons"`
}

type reasonDoc struct {
	Layers int    `json:"layers"`
	Why    string `json:"why"`
}

// bsTable is an object from batch size to steps, most frequent first.
type bsTable []tracelayer.BSCount

// MarshalJSON keeps the order, which a map would not.
func (t bsTable) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, c := range t {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%d":%d`, c.BS, c.Steps)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// WriteJSON writes one JSON document (schema tracelayer/trace_layer/1) and a
// line end. Times and ratios have three decimals, percentages one and
// purities four (1 means pure, nothing is rounded up to it); what is not known is
// null. The layers of all groups and the left-out ones add up to anchors.
func (l *Layers) WriteJSON(w io.Writer) error { return writeJSON(w, l.doc()) }

func writeJSON(w io.Writer, doc any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // template names are full of < and >
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(b.Bytes()))
	return err
}

func (l *Layers) doc() layersDoc {
	s := l.segments()
	d := layersDoc{
		Schema:   layersSchema,
		Trace:    valid(s.Trace.Name),
		Streams:  valid(l.Streams),
		Kernels:  l.kernels(),
		Anchor:   valid(s.Anchor),
		Anchors:  s.Anchors,
		Groups:   []groupDoc{},
		LeftOut:  leftOutDoc{Layers: l.leftOut(), Reasons: []reasonDoc{}},
		Warnings: []string{},
	}
	if rank := rankOf(s.Trace); rank >= 0 {
		d.Rank = &rank
	}
	if l.Decode != nil {
		d.DecodeBS = &decodeDoc{Dominant: l.Decode.Dominant, Counts: byFrequency(l.Decode.Counts)}
	}
	if s.LayersPerPass > 0 {
		d.LayersPerPass = new(s.LayersPerPass)
		d.Passes = new(s.NumPasses)
	}
	for _, g := range l.Summary.Groups {
		d.Groups = append(d.Groups, l.groupDoc(g))
	}
	for _, o := range s.LeftOut {
		d.LeftOut.Reasons = append(d.LeftOut.Reasons, reasonDoc{o.Layers, valid(o.Why)})
	}
	d.passesDoc = l.passesDoc()
	d.Warnings = append(append(d.Warnings, Warnings(s.Trace)...), l.Notes()...)
	return d
}

func (l *Layers) groupDoc(g tracelayer.Group) groupDoc {
	d := groupDoc{
		Key:             valid(g.Key),
		KernelsPerLayer: len(g.Positions),
		Layers:          g.Layers,
		TotalUS:         round(g.TotalUS, 3),
		Positions:       []positionDoc{},
	}
	if l.whole() {
		d.Times = new(l.groupTimes(g))
	}
	for _, p := range g.Positions {
		doc, at := l.positionDoc(p, g.TotalUS, l.inLayers)
		doc.MaxLayer = at
		d.Positions = append(d.Positions, doc)
	}
	return d
}

// positionDoc also returns the number of the layer or pass with the maximum.
func (l *Layers) positionDoc(p tracelayer.Position, totalUS float64, in place) (d positionDoc, at *int) {
	us := func(x float64) *float64 { return rounded(x, 3, p.N > 0) }
	d = positionDoc{
		Pos: p.Pos, ShortName: valid(p.Class.Label), Kernel: valid(p.Name), Group: valid(p.Class.Group),
		AvgUS: us(p.AvgUS), StdUS: us(p.StdUS), MinUS: us(p.MinUS),
		P50US: us(p.P50US), P90US: us(p.P90US), P99US: us(p.P99US), MaxUS: us(p.MaxUS),
		MaxP50: rounded(p.MaxP50, 3, p.MaxP50 != 0),
		Pct:    rounded(p.Pct, 1, p.N > 0 && totalUS > 0),
		Count:  p.N, Purity: share(p.Purity, 1, 4), Variants: p.Variants,
	}
	if number, seconds, ok := l.maxAt(p, in); ok {
		at = &number
		d.MaxAtS = new(round(seconds, 9)) // whole nanoseconds, as the trace has them
	}
	return d, at
}

// rounded is nil for what is not known.
func rounded(x float64, decimals int, known bool) *float64 {
	if !known {
		return nil
	}
	return new(round(x, decimals))
}

func round(x float64, decimals int) float64 {
	m := math.Pow10(decimals)
	return math.Round(x*m) / m
}

// valid makes s UTF-8. Names in a Trace are; file names and flags may not be.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
