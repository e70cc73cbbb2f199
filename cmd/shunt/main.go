// Command shunt is a gateway that serves Claude Code from a pool of accounts; `shunt help` lists its commands.
package main

import (
	"os"

	"shunt/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.System{Args: os.Args[1:], Env: environment(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
}
