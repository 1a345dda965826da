package report

import (
	"time"

	"github.com/tracelayer/tracelayer"
)

// passesDoc is what only whole layers have: with merged streams, or one
// stream, all of it is null but cut.
type passesDoc struct {
	Cut             string          `json:"cut"`
	Phase           *string         `json:"phase"`
	PhaseByDefault  *bool           `json:"phase_by_default"`
	PassTimes       *passTimesDoc   `json:"pass_times"` // of the kept passes together
	Prologue        *partDoc        `json:"prologue"`
	Epilogue        *partDoc        `json:"epilogue"`
	PassList        []passDoc       `json:"pass_list"`
	Attribution     *attributionDoc `json:"attribution"`
	Strays          []strayDoc      `json:"strays"`
	NoAnchorKernels *int            `json:"no_anchor_kernels"`
	ReorderedLayers *int            `json:"reordered_layers"` // see Segments.Reordered
	StreamBusy      []streamDoc     `json:"stream_busy"`      // in the kept passes
	Clipped         *clippedDoc     `json:"clipped"`          // in the kept passes
}

// timesDoc is how a layer uses time, on average.
type timesDoc struct {
	WallUS        float64     `json:"wall_us"`
	BusyUS        float64     `json:"busy_us"`
	IdleUS        float64     `json:"idle_us"`
	CommUS        float64     `json:"comm_us"`
	ExposedCommUS float64     `json:"exposed_comm_us"`
	Streams       []streamDoc `json:"streams"` // busy
}

// passTimesDoc adds up to the nanosecond: the parts and idle are the span.
type passTimesDoc struct {
	SpanUS     float64 `json:"span_us"`
	PrologueUS float64 `json:"prologue_us"`
	LayersUS   float64 `json:"layers_us"`
	EpilogueUS float64 `json:"epilogue_us"`
	IdleUS     float64 `json:"idle_us"`
}

type partDoc struct {
	Kernels     int           `json:"kernels"`
	Passes      int           `json:"passes"`
	OtherPasses int           `json:"other_passes"` // with other kernels, not in the numbers
	TotalUS     float64       `json:"total_us"`
	Times       timesDoc      `json:"times"`
	Positions   []positionDoc `json:"positions"`
}

type passDoc struct {
	Index    int     `json:"index"`
	Step     *string `json:"step"` // the label's name
	Phase    *string `json:"phase"`
	Requests *int    `json:"requests"`
	GraphBS  *int    `json:"graph_bs"`
	Tokens   *int    `json:"tokens"`
	By       string  `json:"by"`
	Layers   int     `json:"layers"`
	Cut      *string `json:"cut"` // null for a whole pass
	Out      *string `json:"out"` // null for a kept one
	passTimesDoc
}

type attributionDoc struct {
	Kernels  int `json:"kernels"` // of the trace, selected or not
	ByLabel  int `json:"by_label"`
	ByLaunch int `json:"by_launch"`
	Unplaced int `json:"unplaced"`
}

type laneDoc struct {
	PID    string `json:"pid"`
	Device string `json:"device"`
	Stream string `json:"stream"`
}

type strayDoc struct {
	laneDoc
	Kernels int     `json:"kernels"`
	BusyUS  float64 `json:"busy_us"` // in no other time; idle time has them running
}

type streamDoc struct {
	laneDoc
	BusyUS float64 `json:"busy_us"`
}

type clippedDoc struct {
	Kernels int     `json:"kernels"`
	US      float64 `json:"us"`
}

func (l *Layers) passesDoc() passesDoc {
	if !l.whole() {
		return passesDoc{Cut: "anchors"}
	}
	s := l.segments()
	a := s.Attribution
	d := passesDoc{
		Cut: "layers", Phase: new(l.phase()), PhaseByDefault: new(l.phaseByDefault()),
		PassTimes: new(passTimes(l.Summary.Passes)), PassList: l.passList(),
		Attribution: &attributionDoc{len(a.Step), a.ByLabel, a.ByLaunch, a.Unplaced},
		Strays:      []strayDoc{}, NoAnchorKernels: new(s.NoAnchor), ReorderedLayers: new(s.Reordered), StreamBusy: []streamDoc{},
	}
	for _, p := range l.parts() {
		doc := l.partDoc(p)
		if p.Part == l.Summary.Prologue {
			d.Prologue = &doc
		} else {
			d.Epilogue = &doc
		}
	}
	for _, st := range l.strays() {
		d.Strays = append(d.Strays, strayDoc{lane(st.lane), st.kernels, micros(st.busy)})
	}
	for _, st := range l.streamTotals() {
		d.StreamBusy = append(d.StreamBusy, streamDoc{lane(l.trace().Lanes[st.Lane]), micros(st.Busy)})
	}
	d.Clipped = &clippedDoc{l.Summary.Passes.Clipped, micros(l.Summary.Passes.ClippedBy)}
	return d
}

func (l *Layers) passList() []passDoc {
	s := l.segments()
	m := tracelayer.NewMeter(s.Trace, s.Profile)
	docs := []passDoc{}
	for i, p := range s.Passes {
		d := passDoc{Index: i, By: p.By.String(), Layers: p.N, Cut: textDoc(p.Cut), Out: textDoc(p.Out), passTimesDoc: passTimes(m.PassTimes(s, p))}
		if st := l.step(p); st != nil {
			d.Step, d.Phase = textDoc(st.Name), textDoc(st.Phase.String())
			d.Requests, d.GraphBS, d.Tokens = numberDoc(st.Requests), numberDoc(st.GraphBS), numberDoc(st.Tokens)
		}
		docs = append(docs, d)
	}
	return docs
}

func (l *Layers) partDoc(p part) partDoc {
	d := partDoc{
		Kernels: len(p.Positions), Passes: p.Layers, OtherPasses: p.Others,
		TotalUS: round(p.TotalUS, 3), Times: l.groupTimes(p.Group), Positions: []positionDoc{},
	}
	for _, pos := range p.Positions {
		doc, at := l.positionDoc(pos, p.TotalUS, p.in)
		doc.MaxPass = at
		d.Positions = append(d.Positions, doc)
	}
	return d
}

func (l *Layers) groupTimes(g tracelayer.Group) timesDoc {
	d := timesDoc{round(g.WallUS, 3), round(g.BusyUS, 3), round(g.IdleUS(), 3), round(g.CommUS, 3), round(g.ExposedCommUS, 3), []streamDoc{}}
	for _, st := range g.Streams {
		d.Streams = append(d.Streams, streamDoc{lane(l.trace().Lanes[st.Lane]), round(st.BusyUS, 3)})
	}
	return d
}

func passTimes(p tracelayer.PassTimes) passTimesDoc {
	return passTimesDoc{micros(p.Span), micros(p.Prologue), micros(p.Layers), micros(p.Epilogue), micros(p.Idle)}
}

// micros is a time in microseconds: three decimals hold the nanoseconds.
func micros(d time.Duration) float64 { return round(float64(d)/1e3, 3) }

func lane(l tracelayer.Lane) laneDoc { return laneDoc{valid(l.PID), valid(l.Device), valid(l.Stream)} }

// textDoc is nil for the empty text, which stands for nothing to say.
func textDoc(s string) *string {
	if s == "" {
		return nil
	}
	return new(valid(s))
}

// numberDoc is nil for 0, which a label does not state.
func numberDoc(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
