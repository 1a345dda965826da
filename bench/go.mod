module github.com/tracelayer/tracelayer/bench

go 1.26.0

replace github.com/tracelayer/tracelayer => ../

require (
	github.com/google/go-cmp v0.7.0
	github.com/tracelayer/tracelayer v0.0.0-00010101000000-000000000000
)

require (
	github.com/goccy/go-json v0.12.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/klauspost/pgzip v1.3.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)
