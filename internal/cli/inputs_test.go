package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.pt.trace.json.gz", "a.json", "c.json.zst", "notes.txt", ".json", "x.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub.json"), 0o777); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	got, err := Inputs([]string{"first.txt", dir, "-"}, &stderr)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"first.txt", filepath.Join(dir, "a.json"), filepath.Join(dir, "b.pt.trace.json.gz"), filepath.Join(dir, "c.json.zst"), "-"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff("Traces in "+dir+": 3\n  a.json\n  b.pt.trace.json.gz\n  c.json.zst\n", stderr.String()); d != "" {
		t.Errorf("stderr -want +got:\n%s", d)
	}
	if _, err := Inputs([]string{filepath.Join(dir, "sub.json")}, &stderr); err == nil || !strings.Contains(err.Error(), "no trace in this directory") {
		t.Errorf("a directory without traces: error %v", err)
	}
}

func TestLayerCSVs(t *testing.T) {
	var c LayerCSVs
	for _, tt := range []struct {
		trace string
		bs    int
		want  string
	}{
		{"in/rank0.pt.trace.json.gz", 32, "conc32_rank0_layer.csv"},
		{"other/rank0.json", 32, "conc32_rank0_layer_2.csv"},
		{"rank0.json", 8, "conc8_rank0_layer.csv"},
		{"rank1.bin", 32, "conc32_rank1.bin_layer.csv"},
		{"rank2.json", 0, ""},
	} {
		if got := c.Next(tt.trace, tt.bs); got != tt.want {
			t.Errorf("%s, %d: %q, want %q", tt.trace, tt.bs, got, tt.want)
		}
	}
}
