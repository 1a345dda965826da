package chrometrace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"
)

// Inflating runs ahead of the scanner by this many blocks of this many bytes.
const (
	aheadBlock  = 256 << 10
	aheadBlocks = 8
)

// maxZstdWindow bounds what a zstd frame may ask for; zstd -19 --long=27 asks for 128 MiB.
const maxZstdWindow = 128 << 20

// unsupported names the compressions that are recognised only to say so.
var unsupported = []struct{ magic, name, advice string }{
	{"PK\x03\x04", "zip", "unzip it first"},
	{"BZh", "bzip2", "bunzip2 it first"},
	{"\xfd7zXZ\x00", "xz", "unxz it first"},
	{"\x04\x22\x4d\x18", "lz4", "decompress it with lz4 -d first"},
}

// Open undoes the compression of r: gzip with any number of members, zstd, or
// none, told apart by their first bytes and never by a name. The caller closes
// the result, which ends the goroutines that inflate ahead; r stays open.
// Input that ends early gives ErrTruncated.
func Open(r io.Reader) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	magic, err := in.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		z, err := pgzip.NewReaderN(in, aheadBlock, aheadBlocks)
		if err != nil {
			return nil, inflateError("gzip", err)
		}
		return &inflater{z, z.Close, "gzip"}, nil
	case isZstd(magic):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, inflateError("zstd", err)
		}
		return &inflater{z, func() error { z.Close(); return nil }, "zstd"}, nil
	}
	for _, u := range unsupported {
		if bytes.HasPrefix(magic, []byte(u.magic)) {
			return nil, fmt.Errorf("found %s compression, expected plain JSON, gzip or zstd: %s", u.name, u.advice)
		}
	}
	return io.NopCloser(in), nil
}

// Packed reports whether the input that Open made in of was compressed.
func Packed(in io.ReadCloser) bool {
	_, ok := in.(*inflater)
	return ok
}

// isZstd knows the magic number of a frame and that of a skippable one (RFC 8878, 3.1).
func isZstd(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	return bytes.Equal(b[:4], []byte("\x28\xb5\x2f\xfd")) || b[0]&0xf0 == 0x50 && bytes.Equal(b[1:4], []byte("\x2a\x4d\x18"))
}

// An inflater names its compression in its errors.
type inflater struct {
	r     io.Reader
	close func() error
	kind  string
}

func (f *inflater) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	return n, inflateError(f.kind, err)
}

func (f *inflater) Close() error { return f.close() }

func inflateError(kind string, err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: unexpected end of the %s stream", ErrTruncated, kind)
	}
	return fmt.Errorf("damaged %s stream: %w", kind, err)
}
