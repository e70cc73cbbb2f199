// Package cli is the command line: one file a subcommand. It reads flags, prints answers for people or for programs, and
// turns what happened into an exit code (CLI-1). Answers go to stdout, logs and errors to stderr.
package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"shunt/internal/userfile"
)

// The exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// System is what a command sees of the world.
type System struct {
	Args   []string // without the program's name
	Env    []string // as [os.Environ] gives it
	Stdin  *os.File
	Stdout *os.File
	Stderr *os.File
}

// Getenv is the value of a variable, empty if it is not set.
func (s *System) Getenv(name string) string { return userfile.Getenv(s.Env)(name) }

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// errReported says that the command has failed and has already said why.
var errReported = errors.New("reported")

type commands struct {
	Config   string `short:"c" placeholder:"PATH" help:"The configuration file. Without it: ./shunt.toml, ~/.config/shunt/shunt.toml or /etc/shunt/shunt.toml."`
	LogLevel string `placeholder:"LEVEL" enum:"debug,info,warn,error," default:"" help:"What is logged: debug, info, warn or error. It outranks log.level of the configuration."`

	Run      runCommand      `cmd:"" help:"Run the gateway until SIGTERM or Ctrl-C; open answers may finish. SIGHUP reloads the configuration."`
	Check    checkCommand    `cmd:"" help:"Check the configuration and list every problem it has."`
	Login    loginCommand    `cmd:"" help:"Log in to an account and put it into the store."`
	Accounts accountsCommand `cmd:"" help:"List, pause, resume and remove accounts."`
	Status   statusCommand   `cmd:"" help:"Show how full the accounts of a running shunt are, and in what state."`
	Init     initCommand     `cmd:"" help:"Write a commented configuration to start from."`
	Demo     demoCommand     `cmd:"" help:"Watch simulated accounts serve simulated coding sessions; needs no account and no network."`
	Simulate simulateCommand `cmd:"" help:"Compare scheduling policies in virtual time: what each serves, wastes, refuses and moves."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
	Help     helpCommand     `cmd:"" help:"Explain a command."`
}

// Main runs the command that the arguments name and returns the process's exit code.
func Main(s System) int {
	var c commands
	exit, exited := 0, false
	parser, err := kong.New(&c,
		kong.Name("shunt"),
		kong.Description("A gateway that serves Claude Code from a pool of accounts."),
		kong.Writers(s.Stdout, s.Stderr),
		kong.Exit(func(code int) { exit, exited = code, true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Bind(&c, &s),
	)
	if err != nil {
		panic(err) // the declarations above are wrong
	}
	args := s.Args
	if len(args) == 0 {
		args = []string{"--help"}
	}
	context, err := parser.Parse(args)
	switch {
	case exited:
		return exit
	case err != nil:
		fmt.Fprintf(s.Stderr, "shunt: %v\nRun `shunt help` to see the commands.\n", err)
		return exitUsage
	}
	err = context.Run()
	if err != nil && !errors.Is(err, errReported) {
		fmt.Fprintf(s.Stderr, "shunt: %v\n", err)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		return exitUsage
	}
	return exitFailed
}

// errUsage says that a command was called with arguments that it cannot take.
var errUsage = errors.New("see `shunt help`")

// level is the log level that the flag names; not ok if it names none.
func (c *commands) level() (level slog.Level, ok bool) {
	return level, c.LogLevel != "" && level.UnmarshalText([]byte(c.LogLevel)) == nil
}

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command to explain."`
}

func (h *helpCommand) Run(k *kong.Kong, s *System) error {
	context, err := kong.Trace(k, h.Command)
	if err == nil {
		err = context.Error
	}
	if err != nil {
		return fmt.Errorf("%w: %w", err, errUsage)
	}
	return context.PrintUsage(false)
}

func printLines(w io.Writer, lines ...string) {
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}
