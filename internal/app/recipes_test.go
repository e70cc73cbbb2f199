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
	"shunt/internal/sim/simtest"
)

// recipes are the configurations that the guide offers, and what it promises of each.
var recipes = map[string]func(t *testing.T, toml string){
	"pin-a-model.toml":        pinAModel,
	"reserve-an-account.toml": reserveAnAccount,
	"fall-back-to-a-key.toml": fallBackToAKey,
	"another-vendor.toml":     anotherVendor,

	"codex-pool.toml":            codexPool,
	"claude-then-chatgpt.toml":   claudeThenChatGPT,
	"keys-of-other-vendors.toml": keysOfOtherVendors,
}

var recipeKeys = []string{"OPENAI_API_KEY=paid-key-openai", "ANTHROPIC_API_KEY=paid-key", "MOONSHOT_API_KEY=paid-key-kimi", "IN_HOUSE_KEY=paid-key-house"}

// Each recipe loads without a warning, does what its text describes, and is linked from the guide, which shows the first in full.
func TestRecipes(t *testing.T) {
	files, err := filepath.Glob("../../docs/recipes/*.toml")
	if err != nil || len(files) != len(recipes) {
		t.Fatalf("%v, %v", files, err)
	}
	var guide []byte
	for _, page := range []string{"models-and-chains.md", "providers.md"} {
		text, err := os.ReadFile("../../docs/guide/" + page)
		if err != nil {
			t.Fatal(err)
		}
		guide = append(guide, text...)
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
			w.Remove(key)
		}
		w.Env = append(w.Env, recipeKeys...)
		for i, m := range regexp.MustCompile(`(?m)^\[\[upstreams\]\]\nname = "(.*)"$`).FindAllStringSubmatch(toml, -1) {
			variable := strings.ToUpper(strings.ReplaceAll(m[1], "-", "_"))
			w.Env = append(w.Env, fmt.Sprintf("SHUNT_UPSTREAMS__%s__BASE_URL=http://127.0.0.1:%d", variable, 8201+i))
		}
	})
}

// turn requests a model and returns the "upstream/account" that served it; a model that is not served is an error.
func (w *world) turn(session, model string) string {
	w.Helper()
	r := w.Request(session, model, true)
	if r.Status != http.StatusOK || r.Err != nil {
		w.Errorf("%s: %d, %v: %s", model, r.Status, r.Err, r.Body)
	}
	requests := w.Provider.Requests()
	last := requests[len(requests)-1]
	if strings.Contains(fmt.Sprint(last.Header), "the-clients-own") {
		w.Errorf("%s is shown the client's credential", last.Host)
	}
	return r.Header.Get("X-Gateway-Upstream") + "/" + last.Account
}

// refused returns the status of a request that is not served, and the accounts that received it.
func (w *world) refused(session, model string) string {
	w.Helper()
	before := w.Seen()
	return fmt.Sprint(w.Request(session, model, true).Status, " ", strings.Join(w.Calls(before), " "))
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
				w.Want("served by", w.turn(session, model+"[1m]"), "sonnet/work")
				others[w.turn(session, simtest.PlainModel)] = true
			}
			w.Want("accounts of other models", len(others), 3)

			w.Provider.Inject("work", sim.Rejected(messages.FiveHour))
			if withFallback {
				by := w.turn("s1", model)
				w.Want("served by "+by, by == "pool/home" || by == "pool/spare", true)
				w.Want("again", w.turn("s1", model), by)
			} else {
				w.Want("strictly", w.refused("s1", model), "429 work") // CHN-5
			}
			w.Provider.Clear("work")
			w.Want("comes home", w.turn("s1", model), "sonnet/work")
		})
	}
}

func reserveAnAccount(t *testing.T, toml string) {
	inRecipe(t, toml, func(w *world) {
		pool := map[string]bool{}
		for i := range 12 {
			pool[w.turn(fmt.Sprint("s", i), simtest.PlainModel)] = true
		}
		w.Want("the pool", pool["pool/work"] && pool["pool/home"] && len(pool) == 2, true)
		w.Want("the reserved one", w.turn("s1", "nightly"), "reserved/spare")
		w.Want("requested model", w.Received().Model, "claude-opus-4-5")
		for _, account := range []string{"work", "home"} {
			w.Provider.Inject(account, sim.Rejected(messages.SevenDay))
		}
		got := w.refused("", simtest.PlainModel)
		w.Want("stays reserved: "+got, got == "429 work home" || got == "429 home work", true)
		w.Want("serves on", w.turn("s1", "nightly"), "reserved/spare")
	})
}

func fallBackToAKey(t *testing.T, toml string) {
	inRecipe(t, toml, func(w *world) {
		for _, model := range []string{"claude-opus-4-5", simtest.PlainModel, "claude-haiku-4-5"} {
			w.Want("upstream", strings.HasPrefix(w.turn("s", model), "pool/"), true)
		}
		for _, account := range []string{"work", "home", "spare"} {
			w.Provider.Inject(account, sim.Rejected(messages.FiveHour))
		}
		w.Want("served by", w.turn("s", "claude-opus-4-5"), "paid/paid")
		w.Want("requested model", w.Received().Model, "claude-opus-4-5")
		w.Want("served by", w.turn("s", simtest.PlainModel), "paid/paid")
		w.Want("requested model", w.Received().Model, "claude-haiku-4-5")
		w.Want("what is not mapped", strings.Fields(w.refused("s", "claude-haiku-4-5"))[0], "429")
		for _, account := range []string{"work", "home", "spare"} {
			w.Provider.Clear(account)
		}
		w.Want("upstream", strings.HasPrefix(w.turn("s", simtest.PlainModel), "pool/"), true)
	})
}

func anotherVendor(t *testing.T, toml string) {
	inRecipe(t, toml, func(w *world) {
		w.Want("upstream", strings.HasPrefix(w.turn("s", simtest.PlainModel), "pool/"), true)
		w.Want("by prefix", w.turn("s", "kimi-k2-turbo-preview"), "kimi/kimi")
		w.Want("by name", w.turn("s", "house"), "in-house/house")
		w.Want("requested model", w.Received().Model, "qwen3-coder-480b")
		w.Want("key", w.Received().Header.Get("X-Api-Key"), "paid-key-house")
		w.Provider.Inject("house", sim.ResetConnection())
		w.Want("when that is down", w.turn("s", "house"), "kimi/kimi")
		w.Want("requested model", w.Received().Model, "kimi-k2-turbo-preview")
		w.Want("hosts", len(hosts(w.Provider.Requests())), 3)
	})
}

func hosts(requests []sim.Request) map[string]bool {
	found := map[string]bool{}
	for _, r := range requests {
		found[r.Host] = true
	}
	return found
}
