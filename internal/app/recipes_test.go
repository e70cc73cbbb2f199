package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shunt/internal/app"
	"shunt/internal/config"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// recipes are the configurations that the guide offers, and what it promises of each.
var recipes = map[string]func(t *testing.T, toml string){
	"pin-a-model.toml":        pinAModel,
	"reserve-an-account.toml": reserveAnAccount,
	"fall-back-to-a-key.toml": fallBackToAKey,
	"another-vendor.toml":     anotherVendor,
}

var recipeKeys = []string{"ANTHROPIC_API_KEY=paid-key", "MOONSHOT_API_KEY=paid-key-kimi", "IN_HOUSE_KEY=paid-key-house"}

// Each recipe loads without a warning, does what it says, and is linked from the guide, which shows the first in full.
func TestRecipes(t *testing.T) {
	files, err := filepath.Glob("../../docs/recipes/*.toml")
	if err != nil || len(files) != len(recipes) {
		t.Fatalf("%v, %v", files, err)
	}
	guide, err := os.ReadFile("../../docs/guide/models-and-chains.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			toml, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(guide), "](../recipes/"+name+")") {
				t.Error("the guide does not link it")
			}
			if name == "pin-a-model.toml" && !strings.Contains(string(guide), "```toml\n"+string(toml)+"```\n") {
				t.Error("the guide shows another text")
			}
			if _, warnings, err := config.Load(config.Options{Path: file, Env: append(recipeKeys, "HOME="+t.TempDir()), Families: app.Families()}); err != nil || len(warnings) > 0 {
				t.Fatal(warnings, err)
			}
			recipes[name](t, string(toml))
		})
	}
}

// inRecipe runs a test in a recipe whose upstreams are all led to the simulated provider (CFG-3), each by an address of
// its own.
func inRecipe(t *testing.T, toml string, test func(w *world)) {
	t.Helper()
	provider := sim.Config{
		Accounts: []sim.Account{
			{Name: "work"},
			{Name: "home"},
			{Name: "spare"},
			{Name: "paid", APIKey: "paid-key"},
			{Name: "kimi", APIKey: "paid-key-kimi"},
			{Name: "house", APIKey: "paid-key-house"},
		},
		Models: []string{"kimi-k2-turbo-preview", "qwen3-coder-480b"},
	}
	inWorld(t, provider, toml, test, func(w *world) {
		for _, key := range []string{"paid", "kimi", "house"} {
			w.remove(key)
		}
		w.env = append(w.env, recipeKeys...)
		for i, m := range regexp.MustCompile(`(?m)^\[\[upstreams\]\]\nname = "(.*)"$`).FindAllStringSubmatch(toml, -1) {
			variable := strings.ToUpper(strings.ReplaceAll(m[1], "-", "_"))
			w.env = append(w.env, fmt.Sprintf("SHUNT_UPSTREAMS__%s__BASE_URL=http://127.0.0.1:%d", variable, 8201+i))
		}
	})
}

// turn asks for a model and returns who answered, "upstream/account"; a model that is not served is an error.
func (w *world) turn(session, model string) string {
	w.Helper()
	r := w.ask(session, model, true)
	if r.status != http.StatusOK || r.err != nil {
		w.Errorf("%s: %d, %v: %s", model, r.status, r.err, r.body)
	}
	requests := w.provider.Requests()
	last := requests[len(requests)-1]
	if strings.Contains(fmt.Sprint(last.Header), "the-clients-own") {
		w.Errorf("%s is shown the client's credential", last.Host)
	}
	return r.header.Get("X-Gateway-Upstream") + "/" + last.Account
}

// refused is the status of a request that is not served, and the accounts that were asked.
func (w *world) refused(session, model string) string {
	w.Helper()
	before := w.seen()
	return fmt.Sprint(w.ask(session, model, true).status, " ", strings.Join(w.calls(before), " "))
}

func pinAModel(t *testing.T, toml string) {
	const model = "claude-sonnet-5-5"
	const fallback = "\n#pool = "
	if !strings.Contains(toml, fallback) {
		t.Fatal("no fallback line")
	}
	for _, withFallback := range []bool{false, true} {
		if withFallback {
			toml = strings.Replace(toml, fallback, "\npool = ", 1)
		}
		inRecipe(t, toml, func(w *world) {
			others := map[string]bool{}
			for i := range 12 {
				session := fmt.Sprint("s", i)
				w.wants("served by", w.turn(session, model+"[1m]"), "sonnet/work")
				others[w.turn(session, plainModel)] = true
			}
			w.wants("accounts of other models", len(others), 3)

			w.provider.Inject("work", sim.Rejected(messages.FiveHour))
			if withFallback {
				by := w.turn("s1", model)
				w.wants("served by "+by, by == "pool/home" || by == "pool/spare", true)
				w.wants("again", w.turn("s1", model), by)
			} else {
				w.wants("strictly", w.refused("s1", model), "429 work") // CHN-5
			}
			w.provider.Clear("work")
			w.wants("comes home", w.turn("s1", model), "sonnet/work")
		})
	}
}

func reserveAnAccount(t *testing.T, toml string) {
	inRecipe(t, toml, func(w *world) {
		pool := map[string]bool{}
		for i := range 12 {
			pool[w.turn(fmt.Sprint("s", i), plainModel)] = true
		}
		w.wants("the pool", pool["pool/work"] && pool["pool/home"] && len(pool) == 2, true)
		w.wants("the reserved one", w.turn("s1", "nightly"), "reserved/spare")
		w.wants("asked for", w.received().Model, "claude-opus-4-5")
		for _, account := range []string{"work", "home"} {
			w.provider.Inject(account, sim.Rejected(messages.SevenDay))
		}
		got := w.refused("", plainModel)
		w.wants("stays reserved: "+got, got == "429 work home" || got == "429 home work", true)
		w.wants("serves on", w.turn("s1", "nightly"), "reserved/spare")
	})
}

func fallBackToAKey(t *testing.T, toml string) {
	inRecipe(t, toml, func(w *world) {
		for _, model := range []string{"claude-opus-4-5", plainModel, "claude-haiku-4-5"} {
			w.wants("upstream", strings.HasPrefix(w.turn("s", model), "pool/"), true)
		}
		for _, account := range []string{"work", "home", "spare"} {
			w.provider.Inject(account, sim.Rejected(messages.FiveHour))
		}
		w.wants("served by", w.turn("s", "claude-opus-4-5"), "paid/paid")
		w.wants("asked for", w.received().Model, "claude-opus-4-5")
		w.wants("served by", w.turn("s", plainModel), "paid/paid")
		w.wants("asked for", w.received().Model, "claude-haiku-4-5")
		w.wants("what is not mapped", strings.Fields(w.refused("s", "claude-haiku-4-5"))[0], "429")
		for _, account := range []string{"work", "home", "spare"} {
			w.provider.Clear(account)
		}
		w.wants("upstream", strings.HasPrefix(w.turn("s", plainModel), "pool/"), true)
	})
}

func anotherVendor(t *testing.T, toml string) {
	inRecipe(t, toml, func(w *world) {
		w.wants("upstream", strings.HasPrefix(w.turn("s", plainModel), "pool/"), true)
		w.wants("by prefix", w.turn("s", "kimi-k2-turbo-preview"), "kimi/kimi")
		w.wants("by name", w.turn("s", "house"), "in-house/house")
		w.wants("asked for", w.received().Model, "qwen3-coder-480b")
		w.wants("key", w.received().Header.Get("X-Api-Key"), "paid-key-house")
		w.provider.Inject("house", sim.ResetConnection())
		w.wants("when that is down", w.turn("s", "house"), "kimi/kimi")
		w.wants("asked for", w.received().Model, "kimi-k2-turbo-preview")
		w.wants("hosts", len(hosts(w.provider.Requests())), 3)
	})
}

func hosts(requests []sim.Request) map[string]bool {
	found := map[string]bool{}
	for _, r := range requests {
		found[r.Host] = true
	}
	return found
}
