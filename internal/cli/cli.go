// Package cli is the command line, with one file per subcommand. It reads flags, prints results for people or for programs, and
// converts errors to exit codes (CLI-1). Results go to stdout, logs and errors to stderr.
package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"shunt/internal/app"
	"shunt/internal/family"
	"shunt/internal/userfile"
)

// The exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// System is what a command uses of its process.
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

// errReported means that the command has failed and has already printed why.
var errReported = errors.New("reported")

type commands struct {
	families []*family.Family // of accounts

	Config   string `short:"c" placeholder:"PATH" help:"The configuration file. Without it: ./shunt.toml, ~/.config/shunt/shunt.toml or /etc/shunt/shunt.toml."`
	LogLevel string `placeholder:"LEVEL" help:"The lowest level that is logged: debug, info, warn or error. It takes precedence over log.level of the configuration."`

	Run      runCommand      `cmd:"" help:"Run the gateway until SIGTERM or Ctrl-C; open responses may finish. SIGHUP reloads the configuration."`
	Check    checkCommand    `cmd:"" help:"Check the configuration and list every problem it has."`
	Login    loginCommand    `cmd:"" help:"Log in to an account and add it to the store."`
	Accounts accountsCommand `cmd:"" help:"List, pause, resume and remove accounts."`
	Status   statusCommand   `cmd:"" help:"Show the state and the quota usage of the accounts of a running shunt."`
	Init     initCommand     `cmd:"" help:"Write a commented configuration to start from."`
	Demo     demoCommand     `cmd:"" help:"Watch simulated accounts serve simulated coding sessions; needs no account and no network."`
	Simulate simulateCommand `cmd:"" help:"Compare scheduling policies in virtual time: how much each serves, wastes, refuses and moves."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
	Help     helpCommand     `cmd:"" help:"Explain a command."`
}

// Validate is called by kong.
func (c *commands) Validate() error {
	return checkWord("--log-level", c.LogLevel, []string{"debug", "info", "warn", "error"})
}

// checkWord returns an error if the value of an optional flag is not one of the words. Kong's own check would list the empty
// word of a flag that is not set.
func checkWord(flag, value string, words []string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%s must be one of %s but got %q", flag, `"`+strings.Join(words, `","`)+`"`, value)
}

// Main runs the command that the arguments name and returns the process's exit code.
func Main(s System) int { return run(s, app.Registry()) }

func run(s System, families []*family.Family) int {
	c := commands{families: families, Login: newLoginCommand(families)}
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

// errUsage means that the arguments of a command are wrong.
var errUsage = errors.New("see `shunt help`")

// level returns the log level of the flag, and false if the flag is not set.
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
