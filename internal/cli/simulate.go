package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"shunt/internal/simulate"
)

type simulateCommand struct {
	Seed   uint64    `default:"1" placeholder:"N" help:"The seed; the same seed gives the same output. Default: ${default}."`
	Days   int       `default:"14" placeholder:"N" help:"Simulate N days, 1 to 365. Default: ${default}."`
	Plans  []float64 `placeholder:"SIZES" help:"The accounts, each by the size of its plan. Default: 20,20,5,5,5; with --trace, equal ones for the accounts of the log."`
	Demand float64   `default:"0.95" placeholder:"F" help:"The demand, as a fraction of what the weekly windows of the accounts can serve. Default: ${default}."`
	Others float64   `default:"0.08" placeholder:"F" help:"The usage of the same accounts by other clients, which shunt does not see, as a fraction of the windows. Default: ${default}."`
	Fable  float64   `default:"0.2" placeholder:"F" help:"The fraction of the sessions that use a Fable model. Default: ${default}."`
	Trace  string    `placeholder:"FILE" type:"existingfile" help:"Replay a request log of shunt run ([log] requests) instead of a synthetic workload; --demand then scales the windows."`

	UsageRefresh      int     `default:"300" placeholder:"SECONDS" help:"usage_refresh_seconds of shunt with [server.pool]; 0 is off. Default: ${default}."`
	BurnRateAvoidance bool    `help:"burn_rate_avoidance of shunt with [server.pool]."`
	ReturnHome        string  `default:"always" enum:"always,when_cold" placeholder:"WHEN" help:"return_home of shunt with [server.pool]: always or when_cold. Default: ${default}."`
	Threshold         float64 `placeholder:"F" help:"The soft threshold of every account of shunt. Default: the hard one."`
	CacheSeconds      int     `default:"300" placeholder:"SECONDS" help:"How long the provider caches a prompt after its last use. Default: ${default}."`

	JSON bool   `help:"Print JSON."`
	HTML string `placeholder:"FILE" type:"path" help:"Also write a page with plots, in one file."`
}

func (k *simulateCommand) options() simulate.Options {
	o := simulate.Options{
		Seed: k.Seed, Days: k.Days, Plans: k.Plans, Demand: k.Demand, Others: k.Others, Fable: k.Fable,
		Cache: simulate.Seconds(k.CacheSeconds), Poll: simulate.Seconds(k.UsageRefresh), BurnRate: k.BurnRateAvoidance,
		WhenCold: k.ReturnHome == "when_cold", Threshold: k.Threshold,
	}
	if k.Trace != "" {
		o.Trace = filepath.Base(k.Trace)
	} else if len(o.Plans) == 0 {
		o.Plans = simulate.Defaults().Plans
	}
	return o
}

// Validate is called by kong.
func (k *simulateCommand) Validate() error {
	o := k.options()
	return o.Check()
}

// Run compares scheduling policies in virtual time (CLI-4).
func (k *simulateCommand) Run(s *System) error {
	c, err := k.compare()
	if err != nil {
		return err
	}
	if k.HTML != "" {
		if err := writePage(k.HTML, &c); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(s.Stdout)
	if k.JSON {
		err = writeJSON(out, &c)
	} else {
		writeTable(out, &c)
	}
	return errors.Join(err, out.Flush())
}

func (k *simulateCommand) compare() (simulate.Comparison, error) {
	if k.Trace == "" {
		return simulate.Compare(k.options()), nil
	}
	log, err := os.Open(k.Trace)
	if err != nil {
		return simulate.Comparison{}, fmt.Errorf("replay: %w", err)
	}
	defer log.Close()
	return simulate.Replay(log, k.options())
}

func writeJSON(w io.Writer, c *simulate.Comparison) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c)
}

func writePage(path string, c *simulate.Comparison) error {
	var page bytes.Buffer
	if err := simulate.WritePage(&page, c); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := replaceFile(path, page.Bytes()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
