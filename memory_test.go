package tracelayer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestReservedRoom holds a plain file to the room its kernels take: a whole
// directory of them is loaded one after another.
func TestReservedRoom(t *testing.T) {
	var buf bytes.Buffer
	buf.WriteString(`{"traceEvents":[` + "\n")
	const kernels = 40_000
	for i := range kernels {
		if i > 0 {
			buf.WriteString(",\n")
		}
		fmt.Fprintf(&buf, `{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d.5,"dur":5.25,"args":{"device":0,"context":1,"stream":7,"correlation":%d,"registers per thread":32,"shared memory":0,"blocks per SM":1.5,"warps per SM":12.5,"grid":[128,1,1],"block":[256,1,1],"est. achieved occupancy %%":50,"External id":%d}}`, i%32, 10*i, i, i)
	}
	buf.WriteString("\n]}\n")
	size := uint64(buf.Len())
	var before, after runtime.MemStats
	name := filepath.Join(t.TempDir(), "plain.json")
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&before)
	trace, err := Load(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := len(trace.Kernels); n != kernels {
		t.Fatalf("%d kernels, want %d", n, kernels)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > size/2 {
		t.Errorf("a plain file of %d bytes took %d bytes to load, want at most half", size, got)
	}
}
