package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"shunt/internal/account"
	"shunt/internal/family"
)

// loginCommand has a subcommand for each family of accounts.
type loginCommand struct{ kong.Plugins }

// newLoginCommand returns the command for the families that a person can log in to. Kong reads the name and the help of a
// subcommand from the tag of a field, so the fields are made here.
func newLoginCommand(families []*family.Family) loginCommand {
	var all loginCommand
	for _, f := range families {
		modes := modesOf(f)
		if len(modes) == 0 {
			continue
		}
		command := reflect.New(reflect.StructOf([]reflect.StructField{{
			Name: "Family",
			Type: reflect.TypeFor[familyLoginCommand](),
			Tag:  reflect.StructTag(fmt.Sprintf(`cmd:"" name:%q help:%q set:%q`, f.StoreName(), commandHelp(f), "modes_help="+modesHelp(modes))),
		}}))
		command.Elem().Field(0).Addr().Interface().(*familyLoginCommand).family = f
		all.Plugins = append(all.Plugins, command.Interface())
	}
	return all
}

type familyLoginCommand struct {
	Name      string `required:"" placeholder:"NAME" help:"The name of the account in shunt: a-z, 0-9 and -. An account of that name is replaced."`
	Mode      string `placeholder:"MODE" help:"${modes_help}"`
	Manual    bool   `help:"With --mode oauth: paste the code by hand, for a browser on another machine."`
	LongLived bool   `hidden:"" help:"Deprecated: --mode setup-token."`

	family *family.Family
}

// Validate is called by kong (LOG-1).
func (k *familyLoginCommand) Validate() error {
	offered := namesOf(modesOf(k.family))
	if err := checkWord("--mode", k.Mode, offered); err != nil {
		return err
	}
	switch {
	case k.LongLived && k.Mode != "":
		return errors.New("--long-lived is the old name of --mode setup-token: use one of them")
	case k.Manual && (k.LongLived || k.Mode != "" && k.Mode != modeOAuth):
		return errors.New("--manual requires --mode oauth")
	case k.LongLived && !slices.Contains(offered, modeSetupToken):
		return fmt.Errorf("%s has no setup tokens", k.family.Title)
	case k.Manual && !slices.Contains(offered, modeOAuth):
		return fmt.Errorf("%s has no login in the browser", k.family.Title)
	case k.Manual && k.family.Vendor.ManualRedirect == "":
		return fmt.Errorf("%s shows no code to paste: use --mode %s, which works with a browser on any machine", k.family.Title, modeDevice)
	}
	return account.CheckName(k.Name)
}

// The values of --mode.
const (
	modeOAuth      = "oauth"
	modeDevice     = "device"
	modeImport     = "import"
	modeSetupToken = "setup-token"
)

// loginMode is a value of --mode.
type loginMode struct{ name, help string }

// modesOf returns the modes that a family offers. The first is preselected (LOG-1).
func modesOf(f *family.Family) (modes []loginMode) {
	browser := f.Vendor.AuthorizeURL != ""
	if browser {
		modes = append(modes, loginMode{modeOAuth, "log in in the browser"})
	}
	if f.Vendor.Device != nil {
		modes = append(modes, loginMode{modeDevice, "type a code on a page of " + f.Title + "'s, in a browser on any machine"})
	}
	if f.Program != nil {
		modes = append(modes, loginMode{modeImport, "copy the login that " + f.Program.Name + " has on this machine"})
	}
	if browser && f.Vendor.SetupLifetime > 0 {
		modes = append(modes, loginMode{modeSetupToken, "log in in the browser for a long-lived token that allows inference only"})
	}
	return modes
}

func namesOf(modes []loginMode) (names []string) {
	for _, m := range modes {
		names = append(names, m.name)
	}
	return names
}

// commandHelp returns the help of a family's subcommand.
func commandHelp(f *family.Family) string {
	var ways []string
	if f.Vendor.AuthorizeURL != "" {
		ways = append(ways, "log in to "+f.Title+" in the browser")
	}
	if f.Vendor.Device != nil {
		ways = append(ways, "log in to "+f.Title+" with a code that you type on its page")
	}
	if f.Program != nil {
		ways = append(ways, "copy a login of "+f.Program.Name)
	}
	return "Add an account: " + strings.Join(ways, ", or ") + "."
}

// modesHelp returns the help of --mode.
func modesHelp(modes []loginMode) string {
	var help strings.Builder
	for _, m := range modes {
		fmt.Fprintf(&help, "%s: %s. ", m.name, m.help)
	}
	switch {
	case len(modes) == 1:
		help.WriteString("Default: " + modes[0].name + ".")
	case slices.Contains(namesOf(modes), modeImport):
		help.WriteString("Without it, shunt prompts on a terminal and otherwise imports.")
	default:
		help.WriteString("Without it, shunt prompts on a terminal.")
	}
	return help.String()
}
