package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tracelayer/tracelayer"
)

// quiet is a result that calls for no note.
func quiet() *Layers {
	l := spec()
	l.segments().Evidence = ""
	l.Decode = &tracelayer.DecodeBS{Dominant: 32, Counts: []tracelayer.BSCount{{BS: 32, Steps: 41}}, Steps: 41}
	g := &l.Summary.Groups[0]
	g.Positions = g.Positions[:l.segments().KernelsPerLayer]
	return l
}

func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Layers)
		want   []string
	}{
		{"nothing to say", func(*Layers) {}, nil},
		{"no decode step, and why", func(l *Layers) { l.Decode, l.NoDecode = nil, "looks like a graph-capture trace" },
			[]string{"looks like a graph-capture trace"}},
		{"several batch sizes", func(l *Layers) { l.Decode = spec().Decode },
			[]string{"3 of 44 decode steps are not of batch size 32; their layers are in the averages too, if they have as many kernels"}},
		{"kernels of other streams", func(l *Layers) { l.segments().Order = l.segments().Order[:9] },
			[]string{"3 of 12 kernels in the trace were not selected and are not counted above"}},
		{"a late first kernel", func(l *Layers) { l.trace().Origin -= 2_000_000_000 },
			[]string{"the first kernel starts 2.0 s after the trace: the profiler was still warming up before it, which is normal"}},
		{"a zero that nothing happened at", func(l *Layers) {
			l.trace().Origin -= 2_000_000_000
			l.trace().Warnings = []tracelayer.Warning{{Kind: "no_timing", Count: 1}}
		}, nil},
		{"just below a second", func(l *Layers) { l.trace().Origin -= 998_000_000 }, nil},
		{"a tie", func(l *Layers) { l.segments().Tie, l.segments().Gaps[1].Count = true, 4 },
			[]string{"a layer of 3 kernels is a guess: 5 kernels from anchor to anchor is as frequent (4 times each)"}},
		{"too few layers", func(l *Layers) { l.Summary.Groups[0].Layers = 4 },
			[]string{"only 4 layers sampled: record for longer (send more prompts) before relying on the numbers"}},
		{"no proof of a pass", func(l *Layers) { l.segments().LayersPerPass, l.segments().Evidence = 0, "no launches" },
			[]string{"no xN layers line: no launches"}},
		{"proof of a pass", func(l *Layers) { l.segments().Evidence = "41 launches of 62" },
			[]string{"x62 layers: 41 launches of 62"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := quiet()
			tt.change(l)
			if d := cmp.Diff(tt.want, l.Notes()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			// What is noted for people is a warning for programs.
			out := string(render(t, l.WriteJSON))
			for _, w := range tt.want {
				if !strings.Contains(out, w) {
					t.Errorf("JSON has no %q", w)
				}
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	l := quiet()
	if got := Warnings(l.trace()); len(got) != 0 {
		t.Errorf("a sound file has warnings %q", got)
	}
	l.trace().Warnings = []tracelayer.Warning{
		{Text: "missing closing bracket", Count: 1, Event: -1},
		{Text: "raw \x1b in strings", Count: 2, Event: 7},
	}
	want := []string{"missing closing bracket (1)", `raw \x1b in strings (2, first at event 7)`}
	if d := cmp.Diff(want, Warnings(l.trace())); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if out := string(render(t, l.WriteJSON)); !strings.Contains(out, want[0]) {
		t.Errorf("JSON has no %q", want[0])
	}
}

func TestCandidates(t *testing.T) {
	var b bytes.Buffer
	err := WriteCandidates(&b, []tracelayer.Candidate{
		{Name: "paged_attention", Count: 36, Evenness: 0.9714, Between: 15},
		{Name: "evil\x1b[2J" + strings.Repeat("x", 200), Count: 12345678, Evenness: 1, Between: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "   Count    Even  Kernels between  Name\n" +
		"      36     97%               15  paged_attention\n" +
		"12345678    100%                9  evil\\x1b[2J" + strings.Repeat("x", 88) + "…\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
