// Command shunt is a gateway that serves Claude Code from a pool of accounts; `shunt help` tells more.
package main

import (
	"os"

	"shunt/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.System{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
}
