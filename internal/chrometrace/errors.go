package chrometrace

import "errors"

var (
	// ErrTruncated: the input ends before the value that it is in does.
	ErrTruncated = errors.New("truncated input")
	// ErrTooLarge: a value that must be held whole is longer than the limit.
	ErrTooLarge = errors.New("value too large")
)
