package tracegen

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/pgzip"
)

// Bytes is Write into memory.
func Bytes(s Spec) ([]byte, Truth, error) {
	var b bytes.Buffer
	t, err := Write(&b, s)
	return b.Bytes(), t, err
}

// WriteFile writes the trace that s describes to a file, packed as gzip -6
// packs when its name ends in .gz. The bytes depend on s only.
func WriteFile(name string, s Spec) (t Truth, err error) {
	f, err := os.Create(name)
	if err != nil {
		return Truth{}, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	if !strings.HasSuffix(name, ".gz") {
		return Write(f, s)
	}
	z, err := pgzip.NewWriterLevel(f, 6)
	if err != nil {
		return Truth{}, err
	}
	t, err = Write(z, s)
	if e := z.Close(); err == nil {
		err = e
	}
	return t, err
}

// WriteTestdata writes the traces of all shapes that have a file into dir.
func WriteTestdata(dir string) error {
	for _, s := range shapes {
		if s.File == "" {
			continue
		}
		b, _, err := s.bytes()
		if err != nil {
			return fmt.Errorf("shape %s: %w", s.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, s.File), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bytes gives the shape's file as testdata holds it. It is packed by the
// standard library as tightly as that can, without name and time.
func (s Shape) bytes() ([]byte, Truth, error) {
	if !strings.HasSuffix(s.File, ".gz") {
		return Bytes(s.Spec())
	}
	var b bytes.Buffer
	t, err := writePacked(&b, s.Spec())
	return b.Bytes(), t, err
}

func writePacked(w io.Writer, s Spec) (Truth, error) {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return Truth{}, err
	}
	t, err := Write(z, s)
	if e := z.Close(); err == nil {
		err = e
	}
	return t, err
}
