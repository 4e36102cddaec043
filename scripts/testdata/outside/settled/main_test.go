package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgram(t *testing.T) { require.NotPanics(t, main) }
