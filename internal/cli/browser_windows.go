package cli

import (
	"os/exec"
	"syscall"
)

// browserCommand returns the command that opens an address, in a process group of its own: Ctrl-C in this console does not
// end the browser.
func browserCommand(address string) *exec.Cmd {
	command := exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	command.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	return command
}
