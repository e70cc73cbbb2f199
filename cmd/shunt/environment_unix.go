//go:build unix

package main

import "os"

func environment() []string { return os.Environ() }
