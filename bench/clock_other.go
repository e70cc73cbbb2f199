//go:build !linux

package main

import (
	"errors"
	"time"
)

func cpuTime(int) (time.Duration, error) {
	return 0, errors.New("processor time is read only on Linux")
}
