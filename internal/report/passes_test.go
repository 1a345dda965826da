package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	stdjson "encoding/json"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/golden"
)

// A traceText writes a trace with one kernel after the other.
type traceText struct {
	b    strings.Builder
	at   int // us
	next int // correlation id
}

func (w *traceText) event(format string, args ...any) {
	if w.b.Len() > 0 {
		w.b.WriteString(",\n")
	}
	fmt.Fprintf(&w.b, format, args...)
}

// step writes a labelled step of some kernels, one of which runs beside the one
// before it if its name ends in "@N", on stream N.
func (w *traceText) step(label string, kernels ...string) {
	start := w.at
	for _, k := range kernels {
		name, stream, side := strings.Cut(k, "@")
		if !side {
			stream = "7"
		}
		w.next++
		w.event(`{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 100, "tid": 100, "ts": %d, "dur": 1, "args": {"correlation": %d}}`, w.at, w.next)
		w.event(`{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": %s, "ts": %d.125, "dur": %d.25, "args": {"device": 0, "stream": %s, "correlation": %d}}`,
			name, stream, w.at+5000, len(name), stream, w.next)
		w.at += len(name) + 1
	}
	w.event(`{"ph": "X", "cat": "user_annotation", "name": "%s", "pid": 100, "tid": 100, "ts": %d, "dur": %d}`, label, start, w.at-start)
	w.at += 10
}

// served is two decode steps of three layers, the first of another kind, and a
// prefill step; the collectives are on a stream of their own, and there is a stray.
func served(t *testing.T, opts *tracelayer.SegmentOptions) *Layers {
	t.Helper()
	dense := []string{"rmsnorm_kernel", "pa_bf16_demo", "Cijk_dense", "ncclDevKernel_AllReduce@9"}
	moe := []string{"rmsnorm_kernel", "pa_bf16_demo", "kernel_moe_gemm", "moe_sorting", "ncclDevKernel_AllReduce@9"}
	var w traceText
	for _, label := range []string{"decode[bs=32 tok=32 d=32]", "decode[bs=8 tok=8 d=8]", "prefill[bs=1 tok=99 p=1]"} {
		kernels := []string{"embedding"}
		kernels = append(kernels, dense...)
		kernels = append(kernels, moe...)
		if label[0] == 'p' {
			kernels = append(kernels, "stray_copy@3")
		}
		kernels = append(kernels, moe...)
		w.step(label, append(kernels, "rmsnorm_kernel", "mix_sample_kernel")...)
	}
	trace, err := tracelayer.Read(strings.NewReader("["+w.b.String()+"]"), "host-TP-3.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tracelayer.Segment(trace, tracelayer.AnchorProfile("pa_bf16"), opts)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := tracelayer.Summarize(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &Layers{Summary: sum, Streams: Auto}
	if opts != nil {
		l.Filter = opts.Passes
	}
	if bs, err := tracelayer.DetectDecodeBS(trace); err == nil {
		l.Decode = &bs
	}
	return l
}

func TestWholeGolden(t *testing.T) {
	l := served(t, nil)
	golden.Check(t, "whole.txt", render(t, l.WriteText))
	golden.Check(t, "whole.csv", render(t, l.WriteCSV))
	golden.Check(t, "whole.json", render(t, l.WriteJSON))
	l.Wide = true
	golden.Check(t, "whole_wide.txt", render(t, l.WriteText))
}

func TestPhaseLine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter tracelayer.PassFilter
		want   string
		note   string
	}{
		{"default", tracelayer.PassFilter{}, "Phase: decode (2 of 3 passes; the default: labels place 100.0% of the kernels)\n" +
			"Steps: decode of 32 requests (1 pass), decode of 8 requests (1 pass)\n", "passes of 2 kinds are averaged together"},
		{"one size", tracelayer.PassFilter{Requests: 8}, "Phase: decode (1 of 3 passes; the default: labels place 100.0% of the kernels)\nSteps: decode of 8 requests (1 pass)\n", ""},
		{"prefill", tracelayer.PassFilter{Phase: tracelayer.PhasePrefill}, "Phase: prefill (1 of 3 passes; as asked)\nSteps: prefill of 1 request (1 pass)\n", ""},
		{"all", tracelayer.PassFilter{AllPhases: true}, "Phase: all (3 of 3 passes; as asked)\nSteps: decode of 32 requests (1 pass), decode of 8 requests (1 pass), prefill of 1 request (1 pass)\n",
			"passes of 3 kinds are averaged together"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := served(t, &tracelayer.SegmentOptions{Passes: tt.filter})
			if got := text(t, l); !strings.Contains(got, "\n"+tt.want) {
				t.Errorf("no %q in\n%s", tt.want, got)
			}
			if got := strings.Join(l.averagedNotes(), "\n"); !strings.Contains(got, tt.note) || (got == "") != (tt.note == "") {
				t.Errorf("note %q, want %q in it", got, tt.note)
			}
		})
	}
}

// The closing line adds up as it is printed, and so do the passes of the JSON.
func TestClosingLineAddsUp(t *testing.T) {
	l := served(t, nil)
	_, line, ok := strings.Cut(text(t, l), "\n2 passes: ")
	var layers, prologue, epilogue, idle, span float64
	if _, err := fmt.Sscanf(line, "layers %f + prologue %f + epilogue %f + idle %f = span %f us", &layers, &prologue, &epilogue, &idle, &span); !ok || err != nil {
		t.Fatalf("no closing line: %v in\n%s", err, text(t, l))
	}
	if math.Abs(layers+prologue+epilogue+idle-span) > 1e-4 || span == 0 {
		t.Errorf("%s does not add up", line)
	}
	var d struct {
		Passes []passTimesDoc `json:"pass_list"`
	}
	if err := stdjson.Unmarshal(render(t, l.WriteJSON), &d); err != nil || len(d.Passes) != 3 {
		t.Fatalf("%d passes, %v", len(d.Passes), err)
	}
	for i, p := range d.Passes {
		if math.Abs(p.LayersUS+p.PrologueUS+p.EpilogueUS+p.IdleUS-p.SpanUS) > 1e-4 || p.SpanUS == 0 {
			t.Errorf("pass %d does not add up: %+v", i, p)
		}
	}
}

func TestSharedAnchorNote(t *testing.T) {
	for label, want := range map[string]string{
		"step[TARGET_VERIFY bs=16]":           "the labels show 1 verify step: ",
		"decode[bs=32 tok=32 d=32]":           "",
		"decode[bs=32 tok=32 d=32 tbo=1]":     "the labels show 1 step of two micro-batches (tbo)",
		"capture_64_FULL":                     "",
		"somebody's label that is not a step": "",
	} {
		l := small()
		l.trace().Annotations = []tracelayer.Annotation{{Name: label, Dur: 5, ExternalID: -1}}
		if got := strings.Join(l.averagedNotes(), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: note %q, want %q in it", label, got, want)
		}
	}
}

func TestRankInName(t *testing.T) {
	for name, want := range map[string]int{
		"1700000000-TP-0.trace.json.gz":           0,
		"dp0_pp0_tp2_dcp0_ep0_rank5.123.pt.trace": 5,
		"out/tp1.json":     1,
		"rank-12.json":     12,
		"http2.json":       -1,
		"rank0/trace.json": -1,
		"frank3.json":      -1,
		"trace.json":       -1,
		"rank007.json":     7,
		"worker_RANK7":     7,
	} {
		if got := rankInName(name); got != want {
			t.Errorf("%s: rank %d, want %d", name, got, want)
		}
	}
}

func TestListGolden(t *testing.T) {
	s := &List{JSON: true}
	s.Add(served(t, nil))
	s.Add(small())
	s.Fail("bad\x1b-rank2.json", fmt.Errorf("cut off"))
	golden.Check(t, "list.txt", render(t, s.WriteText))
	var d struct {
		Schema string
		Traces []struct {
			Schema string
			Rank   *int
		}
		Failed []failedDoc
	}
	if err := stdjson.Unmarshal(render(t, s.WriteJSON), &d); err != nil {
		t.Fatal(err)
	}
	if d.Schema != listSchema || len(d.Traces) != 2 || d.Traces[0].Schema != layersSchema || *d.Traces[0].Rank != 3 || d.Traces[1].Rank != nil ||
		len(d.Failed) != 1 || d.Failed[0].Error != "cut off" {
		t.Errorf("%+v", d)
	}
	if failed, all := s.Failed(); failed != 1 || all != 3 {
		t.Errorf("%d of %d failed", failed, all)
	}
}

// A hundred kinds are no table for people; CSV and JSON have them all.
func TestManyKinds(t *testing.T) {
	l := served(t, nil)
	g := l.Summary.Groups[0]
	for i := range maxKinds {
		g.Key = fmt.Sprintf("kind%d", i+3)
		l.Summary.Groups = append(l.Summary.Groups, g)
	}
	got := text(t, l)
	if want := "\n2 kinds more, of 8 layers, are not shown: the CSV and --json have them, "; !strings.Contains(got, want) || strings.Contains(got, "kind13") {
		t.Errorf("no %q, or kind13, in\n%s", want, got)
	}
	if csv := string(render(t, l.WriteCSV)); !strings.Contains(csv, ",kind14,4\n") {
		t.Errorf("no kind14 in\n%s", csv)
	}
	l.BySignature = true
	if got := text(t, l); !strings.Contains(got, "\nkind14: ") {
		t.Errorf("by signature, no kind14 in\n%s", got)
	}
}

// A kind that is not in every pass is no part of one.
func TestKindsThatDifferFromPassToPass(t *testing.T) {
	l := served(t, nil)
	l.Summary.Groups[0].Layers, l.Summary.Groups[1].Layers = 3, 3
	got := text(t, l)
	if strings.Contains(got, " of 3 layers") || !strings.Contains(got, "     x3 layers ") {
		t.Errorf("1.5 layers of a pass, but\n%s", got)
	}
}
