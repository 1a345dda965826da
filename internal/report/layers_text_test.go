package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/golden"
)

func render(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func text(t *testing.T, l *Layers) string {
	t.Helper()
	return string(render(t, l.WriteText))
}

func TestTextGolden(t *testing.T) {
	wide := small()
	wide.Wide = true
	noDecode := small()
	noDecode.Decode = nil
	for name, l := range map[string]*Layers{
		"small.txt": small(), "wide.txt": wide, "grouped.txt": grouped(), "no_decode.txt": noDecode, "spec.txt": spec(),
	} {
		t.Run(name, func(t *testing.T) { golden.Check(t, name, render(t, l.WriteText)) })
	}
}

// The lines of the spec's example, to the space. Additions stand to the right.
func TestTextIsLaidOutAsTheSpec(t *testing.T) {
	lines := strings.Split(text(t, spec()), "\n")
	for _, want := range []string{
		"Pos  Kernel                           Avg(us)     Std     Min       Max      %      N",
		"-------------------------------------------------------------------------------------",
		"  0  PA (paged_attn)                     14.6     0.8    10.9      18.2   3.5%   2501",
		"  2  GEMM_FP8 (CK dense)                 16.1     0.5    14.9      18.8   3.9%   2501",
		" 10  MoE_GEMM (CK)                      180.4    16.3   117.8     231.2  43.9%   2501",
		" 12  MoE_GEMM (CK)                       88.5     8.4     5.3     112.8  21.5%   2501",
	} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("no line starts with\n%q in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	for _, want := range []string{
		"     TOTAL per layer                    411.0 us",
		"     x62 layers                         25.48 ms",
		"Total GPU kernels: 12", "Kernels per layer: 3", "Sampled layers: 2501",
		"Decode batch sizes: {32: 41, 8: 3}", "Dominant decode bs: 32",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line is %q in\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

func TestPassLineNeedsProof(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Layers)
		line   bool
		note   string
	}{
		{"proven", func(l *Layers) {}, true, ""},
		{"unknown number", func(l *Layers) { l.segments().LayersPerPass, l.segments().Evidence = 0, "strays split the runs" }, false, "strays split the runs"},
		{"unknown, and no word why", func(l *Layers) { l.segments().LayersPerPass, l.segments().Evidence = 0, "" }, false, "not known"},
		{"layers not alike", func(l *Layers) { l.segments().Alike = false }, false, "not every layer"},
		{"several groups", func(l *Layers) { l.Summary.Groups = append(l.Summary.Groups, l.Summary.Groups[0]) }, false, "2 kinds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := spec()
			tt.change(l)
			if got := strings.Contains(text(t, l), "x62 layers"); got != tt.line {
				t.Errorf("x62 layers printed: %v, want %v", got, tt.line)
			}
			if got := l.noPassLine(); !strings.Contains(got, tt.note) || (tt.note == "") != (got == "") {
				t.Errorf("reason is %q, want %q in it", got, tt.note)
			}
		})
	}
}

func TestPurityColumnOnlyWhereNeeded(t *testing.T) {
	if got := text(t, spec()); strings.Contains(got, "Purity") {
		t.Errorf("all positions are pure, but the table has the column:\n%s", got)
	}
	l := spec()
	l.Summary.Groups[0].Positions[1].Purity = 0.99999
	if got := text(t, l); !strings.Contains(got, " 99.9%\n") {
		t.Errorf("a purity just below one must not show as 100.0%%:\n%s", got)
	}
	l.Summary.Groups[0].Positions[1].Purity = 2.0 / 3
	if got := text(t, l); !strings.Contains(got, " 66.7%\n") {
		t.Errorf("a purity of two thirds is not rounded to 66.7%%:\n%s", got)
	}
}

func TestLeftOutAndMixed(t *testing.T) {
	l := small()
	l.segments().LeftOut = nil
	for i := range maxReasons + 3 {
		l.segments().LeftOut = append(l.segments().LeftOut, tracelayer.LeftOut{Layers: i + 1, Why: fmt.Sprintf("%d kernels", 90+i)})
	}
	got := text(t, l)
	for _, want := range []string{
		"Layers left out: 66 of 7\n     11  100 kernels\n", // most layers first
		"      4  93 kernels\n      6  for 3 other reasons",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	l.segments().LeftOut = nil
	l.Summary.Groups[0].Positions[1].Variants = 1
	if got := text(t, l); strings.Contains(got, "left out") || strings.Contains(got, "Mixed") {
		t.Errorf("nothing left out, nothing mixed, but:\n%s", got)
	}
}

func TestWrap(t *testing.T) {
	got := wrap([]string{"1 (2 kernels)", "4 (2 kernels)", "5 (3 kernels)"}, 29)
	want := []string{"1 (2 kernels), 4 (2 kernels),", "5 (3 kernels)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestLongLabelsKeepColumnsStraight(t *testing.T) {
	l := spec() // no other column has a % sign
	l.Summary.Groups[0].Positions[1].Class.Label = strings.Repeat("ü", 300)
	lines := strings.Split(text(t, l), "\n")
	ends := map[int]bool{}
	for _, line := range lines {
		if before, _, ok := strings.Cut(line, "%"); ok { // the column of shares, and its head
			ends[len([]rune(before))] = true
		}
	}
	if len(ends) != 1 {
		t.Errorf("the column of shares ends at %v:\n%s", ends, strings.Join(lines, "\n"))
	}
	if !strings.Contains(text(t, l), strings.Repeat("ü", labelRunes-1)+"… ") {
		t.Errorf("long label not cut at %d runes", labelRunes)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrorsAreReported(t *testing.T) {
	l := small()
	for name, write := range map[string]func(io.Writer) error{"text": l.WriteText, "csv": l.WriteCSV, "json": l.WriteJSON} {
		if err := write(failing{}); err != io.ErrClosedPipe {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
