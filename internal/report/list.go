package report

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/texttab"
)

const listSchema = "tracelayer/trace_layer_list/1"

// A List is what is kept of the results of several traces, one after the other:
// a line each, and for JSON the document. It holds no trace.
type List struct {
	JSON   bool
	lines  []listLine
	docs   []layersDoc
	failed []failedDoc
}

type listLine struct {
	name                       string
	rank                       int // -1 when not known
	layers                     int
	total, wall, comm, exposed float64 // means over the layers
	timed, failed              bool    // timed: all of the means are known, not only total
}

type listDoc struct {
	Schema string      `json:"schema"`
	Traces []layersDoc `json:"traces"`
	Failed []failedDoc `json:"failed"`
}

type failedDoc struct {
	Trace string `json:"trace"`
	Error string `json:"error"`
}

// Add adds a result.
func (s *List) Add(l *Layers) {
	line := listLine{name: l.trace().Name, rank: rankOf(l.trace()), layers: l.sampled(), timed: l.whole()}
	for _, g := range l.Summary.Groups {
		w := float64(g.Layers) / float64(line.layers)
		line.total += w * g.TotalUS
		line.wall += w * g.WallUS
		line.comm += w * g.CommUS
		line.exposed += w * g.ExposedCommUS
	}
	s.lines = append(s.lines, line)
	if s.JSON {
		s.docs = append(s.docs, l.doc())
	}
}

// Fail adds a trace without a result.
func (s *List) Fail(name string, err error) {
	s.lines = append(s.lines, listLine{name: name, rank: rankInName(name), failed: true})
	s.failed = append(s.failed, failedDoc{valid(name), valid(err.Error())})
}

// Failed is the number of traces without a result, of all traces.
func (s *List) Failed() (failed, all int) { return len(s.failed), len(s.lines) }

// WriteText writes the summary: one line for each trace.
func (s *List) WriteText(w io.Writer) error {
	cols := []texttab.Column{{Head: "Rank"}}
	for _, h := range []string{"Layers", "Total(us)", "Wall(us)", "Comm(us)", "Exposed comm"} {
		cols = append(cols, texttab.Column{Head: h, Width: 9, Gap: 2})
	}
	tab := texttab.New(append(cols, texttab.Column{Head: "Trace", Gap: 2, Left: true})...)
	for _, l := range s.lines {
		rank := "-"
		if l.rank >= 0 {
			rank = strconv.Itoa(l.rank)
		}
		switch {
		case l.failed:
			tab.Row(rank, "-", "-", "-", "-", "-", Printable(l.name)+" (failed)")
		case !l.timed:
			tab.Row(rank, strconv.Itoa(l.layers), fixed(l.total, 1), "-", "-", "-", Printable(l.name))
		default:
			tab.Row(rank, strconv.Itoa(l.layers), fixed(l.total, 1), fixed(l.wall, 1),
				fixed(l.comm, 1), fixed(l.exposed, 1), Printable(l.name))
		}
	}
	if _, err := fmt.Fprintf(w, "== Summary of %s, means per layer\n", count(len(s.lines), "trace")); err != nil {
		return err
	}
	_, err := tab.WriteTo(w)
	return err
}

// WriteJSON writes one document (schema tracelayer/trace_layer_list/1) with
// those of the traces in it.
func (s *List) WriteJSON(w io.Writer) error {
	return writeJSON(w, listDoc{listSchema, append([]layersDoc{}, s.docs...), append([]failedDoc{}, s.failed...)})
}

// rankOf is the rank that the trace states, else that of its file's name, else -1.
func rankOf(t *tracelayer.Trace) int {
	if t.Metadata.Rank >= 0 {
		return t.Metadata.Rank
	}
	return rankInName(t.Name)
}

// rankNames find a rank in a file's name, as vLLM (rank0), SGLang (TP-0) and
// others (tp1) write it; a rank among all comes before one of a group.
var rankNames = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_]?([0-9]{1,6})`),
	regexp.MustCompile(`(?i)(?:^|[^a-z])tp[-_]?([0-9]{1,6})`),
}

func rankInName(name string) int {
	for _, re := range rankNames {
		if m := re.FindStringSubmatch(filepath.Base(name)); m != nil {
			n, _ := strconv.Atoi(m[1]) // digits, few enough
			return n
		}
	}
	return -1
}
