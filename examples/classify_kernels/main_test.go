package main

import (
	"testing"

	"github.com/tracelayer/tracelayer/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, "classify_kernels", main) }

func TestScripts(t *testing.T) { clitest.Run(t, "classify_kernels") }
