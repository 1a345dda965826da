package chrometrace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstdOf(t testing.TB, s string) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll([]byte(s), nil)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	const text = `[{"ph":"X"}]`
	for name, in := range map[string][]byte{
		"plain":               []byte(text),
		"gzip":                gzipped(t, text),
		"gzip of two members": gzipped(t, text[:5], text[5:]),
		"zstd":                zstdOf(t, text),
		"zstd of two frames":  append(zstdOf(t, text[:5]), zstdOf(t, text[5:])...),
		"zstd behind a skip":  append([]byte("\x51\x2a\x4d\x18\x03\x00\x00\x00abc"), zstdOf(t, text)...),
	} {
		r, err := Open(bytes.NewReader(in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}

func TestOpenUnsupported(t *testing.T) {
	t.Parallel()
	for magic, name := range map[string]string{"PK\x03\x04....": "zip", "BZh9....": "bzip2", "\xfd7zXZ\x00...": "xz", "\x04\x22\x4d\x18....": "lz4"} {
		if _, err := Open(strings.NewReader(magic)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: error %v, want one that names %s", magic, err, name)
		}
	}
}

// TestOpenDamaged cuts and damages compressed input at every byte: an error
// each time, ErrTruncated for every cut.
func TestOpenDamaged(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`{"ph":"X","name":"k"},`, 200)
	for name, whole := range map[string][]byte{"gzip": gzipped(t, text), "zstd": zstdOf(t, text)} {
		for n := 6; n < len(whole); n++ {
			if err := drain(whole[:n]); !errors.Is(err, ErrTruncated) {
				t.Errorf("%s cut at byte %d: error %v, want %v", name, n, err, ErrTruncated)
			}
		}
	}
	whole := gzipped(t, text)
	for n := 10; n < len(whole); n++ {
		bad := bytes.Clone(whole)
		bad[n] ^= 0x55
		if err := drain(bad); err == nil {
			t.Errorf("gzip with a wrong byte %d: no error", n)
		}
	}
}

func drain(in []byte) error {
	r, err := Open(bytes.NewReader(in))
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// TestCloseEndsGoroutines closes readers that were not read to their end.
func TestCloseEndsGoroutines(t *testing.T) {
	big := strings.Repeat("0123456789", 1<<20)
	before := runtime.NumGoroutine()
	for range 20 {
		for _, in := range [][]byte{gzipped(t, big), zstdOf(t, big)} {
			r, err := Open(bytes.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before+2 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
