package main

import (
	"testing"

	"github.com/tracelayer/tracelayer/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, "trace_layer", main) }

func TestScripts(t *testing.T) { clitest.Run(t, "trace_layer") }
