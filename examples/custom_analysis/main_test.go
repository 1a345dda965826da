package main

import (
	"testing"

	"github.com/tracelayer/tracelayer/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, "custom_analysis", main) }

func TestScripts(t *testing.T) { clitest.Run(t, "custom_analysis") }
