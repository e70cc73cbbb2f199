//go:build unix

package cli

import (
	"os/exec"
	"runtime"
	"syscall"
)

// browserCommand returns the command that opens an address, in a session of its own: Ctrl-C in this terminal does not end
// the browser.
func browserCommand(address string) *exec.Cmd {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	command := exec.Command(name, address)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return command
}
