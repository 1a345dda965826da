// Command inflate inflates a trace into nothing, with the reader and the
// settings that the library uses. Its time is the least that reading a packed
// file can take.
//
//	inflate FILE
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tracelayer/tracelayer/internal/chrometrace"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: inflate FILE")
		os.Exit(2)
	}
	n, err := inflate(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "inflate:", err)
		os.Exit(1)
	}
	fmt.Println(n)
}

// inflate reads a file to its end and returns its size without compression.
func inflate(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in, err := chrometrace.Open(f)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return io.Copy(io.Discard, in)
}
